"""The rules that are in force: those of a project's rule file, or without one every shipped pack."""

# os.path, not pathlib: this runs at the start of every recorded program, and pathlib costs 3 ms there.

from __future__ import annotations

import msgspec

from autochron._runtime.unpatched import os
from autochron.model import Rules
from autochron.rules.digest import digest
from autochron.rules.packs import pack_digests, pack_index


def load_rules(path: str | os.PathLike[str] | None, *, root: str | os.PathLike[str] | None = None) -> Rules:
    """Read and validate a rule file; without one every shipped pack waits for its library.

    `root` is the folder that relative paths start from: by default the one that the file names, that of the file, or the
    working folder. RuleError says file, line, what is wrong and the nearest valid spelling.
    """
    if path is None:
        rules = Rules(root=os.path.abspath(root if root is not None else os.curdir))
        return _sealed(rules, relative=())
    from autochron.rules.rulefile import read_rules  # lazy: many projects have no rule file

    return _sealed(*read_rules(os.path.abspath(path), None if root is None else os.path.abspath(root)))


def _sealed(rules: Rules, relative: tuple[str, ...]) -> Rules:
    """Add the digest, in which the project's paths are as they were written."""
    names = pack_index() if rules.auto else [pack.name for pack in rules.packs]
    said = msgspec.structs.replace(rules, project=relative)
    return msgspec.structs.replace(rules, digest=digest(said, pack_digests(names)))
