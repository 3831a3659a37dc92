"""The folder of an incident. `incident new` replaces only files that it wrote itself and that nobody has changed since."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable

import msgspec

from autochron.errors import StoreError, UsageError
from autochron.reproduction.baseline import FILE, Baseline, encode_baseline, read_baseline

_BYPRODUCTS = frozenset({"__pycache__", ".pytest_cache", FILE})


def refuse_occupied(folder: str, shown: str, *, force: bool) -> None:
    """Raise unless `incident new` may write into a folder.

    It may if the folder doesn't exist or is empty, if it holds the remains of a failed attempt, or, with `force`, if it holds
    an unchanged incident.

    Args:
        folder: the path of the folder.
        shown: the path as the user wrote it, for messages.
        force: whether an incident may be replaced.

    Raises:
        UsageError: it may not.
    """
    if os.path.isfile(folder):
        raise UsageError(f"{shown} is a file; name a folder that is not there yet")
    if not os.path.isdir(folder):
        return
    names = [name for name in sorted(os.listdir(folder)) if name not in _BYPRODUCTS]
    existing = _existing_baseline(folder)
    if existing is None:
        if names:
            raise UsageError(
                f"{shown} is there already and holds {_listed(names)}; name a folder that is not there yet"
            )
        return
    changed = [
        name
        for name, digest in existing.files.items()
        if _digest(os.path.join(folder, name)) not in {digest, ""}
    ]
    if changed:
        raise UsageError(
            f"{shown} has {_listed(changed)}, changed since the incident was made; move that away, or name another folder"
        )
    if existing.settled and not force:
        raise UsageError(
            f"{shown} is there already and holds an incident; name another folder, or replace it with --force"
        )


def move_in(staging: str, folder: str) -> None:
    """Move the files from a staging folder into an incident's folder, in place of the old ones. Other files stay."""
    if not os.path.isdir(folder):
        os.rename(staging, folder)
        return
    existing = _existing_baseline(folder)
    for name in existing.files if existing is not None else ():
        if os.path.isfile(os.path.join(folder, name)):
            os.unlink(os.path.join(folder, name))
    for name in os.listdir(staging):
        target = os.path.join(folder, name)
        if os.path.isdir(target):
            shutil.rmtree(target)
        os.replace(os.path.join(staging, name), target)
    os.rmdir(staging)


def write_baseline(folder: str, baseline: Baseline, files: Iterable[str], *, settled: bool) -> None:
    """Write the baseline into an incident's folder.

    Args:
        folder: the incident's folder.
        baseline: the baseline.
        files: names of the files that `incident new` wrote; the digests of the others are added to the baseline.
        settled: whether the incident is complete; see `Baseline.settled`.
    """
    digests = {name: _digest(os.path.join(folder, name)) for name in files if name != FILE}
    complete = msgspec.structs.replace(baseline, files=digests, settled=settled)
    with open(os.path.join(folder, FILE), "w", encoding="utf-8") as file:
        file.write(encode_baseline(complete))


def _existing_baseline(folder: str) -> Baseline | None:
    try:
        return read_baseline(os.path.join(folder, "trace.jsonl"))
    except StoreError:  # damaged: it is not known which files `incident new` wrote
        return None


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown
