"""The folder of an incident: what `incident new` made in it, so that it replaces that and nothing else."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable

import msgspec

from autochron.errors import StoreError, UsageError
from autochron.reproduction.baseline import FILE, Baseline, encode_baseline, read_baseline

_NOBODYS = frozenset({"__pycache__", ".pytest_cache", FILE})


def refuse_occupied(folder: str, shown: str, *, force: bool) -> None:
    """Refuse a folder that holds what `incident new` did not make, or an incident that is not to be replaced.

    What an attempt left behind that failed is no incident yet.

    Raises:
        UsageError: it does.
    """
    if os.path.isfile(folder):
        raise UsageError(f"{shown} is a file; name a folder that is not there yet")
    if not os.path.isdir(folder):
        return
    names = [name for name in sorted(os.listdir(folder)) if name not in _NOBODYS]
    made = _made_in(folder)
    if made is None:
        if names:
            raise UsageError(
                f"{shown} is there already and holds {_listed(names)}; name a folder that is not there yet"
            )
        return
    changed = [
        name for name, digest in made.files.items() if _digest(os.path.join(folder, name)) not in {digest, ""}
    ]
    if changed:
        raise UsageError(
            f"{shown} has {_listed(changed)}, changed since the incident was made; move that away, or name another folder"
        )
    if made.settled and not force:
        raise UsageError(
            f"{shown} is there already and holds an incident; name another folder, or replace it with --force"
        )


def move_in(made: str, folder: str) -> None:
    """Move what was made into its place; other files of the folder stay."""
    if not os.path.isdir(folder):
        os.rename(made, folder)
        return
    before = _made_in(folder)
    for name in before.files if before is not None else ():
        if os.path.isfile(os.path.join(folder, name)):
            os.unlink(os.path.join(folder, name))
    for name in os.listdir(made):
        target = os.path.join(folder, name)
        if os.path.isdir(target):
            shutil.rmtree(target)
        os.replace(os.path.join(made, name), target)
    os.rmdir(made)


def write_baseline(folder: str, baseline: Baseline, files: Iterable[str], *, settled: bool) -> None:
    """Write the baseline, with the digests of the files that were made."""
    digests = {name: _digest(os.path.join(folder, name)) for name in files}
    whole = msgspec.structs.replace(baseline, files=digests, settled=settled)
    with open(os.path.join(folder, FILE), "w", encoding="utf-8") as file:
        file.write(encode_baseline(whole))


def _made_in(folder: str) -> Baseline | None:
    try:
        return read_baseline(os.path.join(folder, "trace.jsonl"))
    except StoreError:  # damaged: nothing is known of what was made
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
