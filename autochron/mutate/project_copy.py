"""The copy of a project in which plain cosmic-ray changes files: the incident's folder, or one around all that it needs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from autochron.config import find_rule_file
from autochron.model import Rules
from autochron.rules.loading import load_rules

_MOST_FILES = 20_000
_MOST_BYTES = 200 << 20

_LEFT_OUT = frozenset({"__pycache__", "node_modules", "site-packages"})

_STATE = ".autochron"
"""The hidden folder that is copied: the tests take what files held before the recorded run from there."""


def root_of(folder: Path, files: Iterable[str]) -> Path:
    """Return the folder to copy: the smallest that holds the incident, its rules with their root, and some files.

    Args:
        folder: the incident's folder, absolute.
        files: the paths of the files from there.

    Raises:
        RuleError: the rules can't be read.
    """
    rule_file = find_rule_file(folder)
    rules = load_rules(rule_file) if rule_file is not None else Rules()
    places = [str(folder), *(os.path.realpath(folder / file) for file in files)]
    places += [os.path.dirname(rule_file)] if rule_file is not None else []
    places += [os.path.realpath(rules.root)] if rules.root else []
    return Path(os.path.commonpath(places))


def too_large(root: Path, most_files: int = _MOST_FILES, most_bytes: int = _MOST_BYTES) -> str:
    """Return why a folder is not copied: it holds too much. Empty where it may be copied."""
    size = 0
    for count, path in enumerate(_files(root), 1):
        size += path.stat().st_size if path.is_file() else 0
        if count > most_files or size > most_bytes:
            return f"{root} holds more than {most_files:,} files or {most_bytes >> 20} MB"
    return ""


@contextmanager
def copied(root: Path) -> Iterator[Path]:
    """Copy a folder without virtual environments, caches and hidden folders, and remove the copy at the end."""
    with tempfile.TemporaryDirectory(prefix="autochron-") as scratch:
        copy = Path(os.path.realpath(scratch), root.name or "project")
        shutil.copytree(root, copy, ignore=_ignored, symlinks=True)
        yield copy


def _ignored(folder: str, names: list[str]) -> set[str]:
    """Return which names of a folder are not copied, as `shutil.copytree` asks."""
    if os.path.basename(folder) == _STATE:
        return {name for name in names if name == "mutation" or ".db" in name}  # results, and traces
    return {name for name in names if _is_left_out(os.path.join(folder, name), name)}


def _is_left_out(path: str, name: str) -> bool:
    is_hidden = name.startswith(".") and name != _STATE
    if not os.path.isdir(path):
        return is_hidden
    is_environment = os.path.exists(os.path.join(path, "pyvenv.cfg"))
    return is_hidden or is_environment or name in _LEFT_OUT


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        left_out = _ignored(folder, [*folders, *files])
        folders[:] = [name for name in folders if name not in left_out]
        yield from (Path(folder, name) for name in files if name not in left_out)
