"""Load the rules that are in force: those of a project's rule file, or every shipped pack if there is no such file."""

# os.path, not pathlib: this runs at the start of every recorded program, and pathlib costs 3 ms there.

from __future__ import annotations

import msgspec

from autochron._runtime.unpatched import os
from autochron.model import Rules
from autochron.rules.digest import digest
from autochron.rules.packs import pack_digests, pack_index


def load_rules(path: str | os.PathLike[str] | None, *, root: str | os.PathLike[str] | None = None) -> Rules:
    """Read and validate a rule file.

    Args:
        path: the file. If it is None, there are no rules but the shipped packs, which wait for the import of their library.
        root: the folder that relative paths start from. By default it is the `root` that the file names, else the file's
            folder, or the working folder without a file.

    Raises:
        RuleError: the file can't be read or is not valid; the message has file, line, and the nearest valid spelling.
    """
    if path is None:
        rules = Rules(root=os.path.abspath(root if root is not None else os.curdir))
        return _sealed(rules, relative=())
    from autochron.rules.rulefile import read_rules  # lazy: many projects have no rule file

    return _sealed(*read_rules(os.path.abspath(path), None if root is None else os.path.abspath(root)))


def _sealed(rules: Rules, relative: tuple[str, ...]) -> Rules:
    """Return rules with their digest, which is computed with the project's paths as they are written in the file."""
    names = pack_index() if rules.auto else [pack.name for pack in rules.packs]
    as_written = msgspec.structs.replace(rules, project=relative)
    return msgspec.structs.replace(rules, digest=digest(as_written, pack_digests(names)))
