"""What several processes of one run kept and read, joined."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from autochron.model import FileRead, Snapshot


def first_snapshots(several: Iterable[tuple[Snapshot, ...]]) -> tuple[Snapshot, ...]:
    """Join the snapshots of several processes: of each path the first one counts."""
    found: dict[str, Snapshot] = {}
    for each in sorted((each for some in several for each in some), key=lambda each: each.at):
        known = found.setdefault(each.path, each)
        if each.wrote and not known.wrote:
            found[each.path] = structs.replace(known, wrote=True)
    return tuple(found[path] for path in sorted(found))


def first_reads(several: Iterable[tuple[FileRead, ...]], kept: Iterable[Snapshot]) -> tuple[FileRead, ...]:
    """Join what several processes read, without what is kept."""
    found = {each.path: each for some in reversed(list(several)) for each in some}
    for each in kept:
        found.pop(each.path, None)
    return tuple(found[path] for path in sorted(found))
