"""Join the snapshots and reads of the processes of one run."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from autochron.model import FileRead, Snapshot


def first_snapshots(groups: Iterable[tuple[Snapshot, ...]]) -> tuple[Snapshot, ...]:
    """Join the snapshots of several processes: the first of each path, with `wrote` set if any process wrote it."""
    by_path: dict[str, Snapshot] = {}
    for snapshot in sorted(
        (snapshot for group in groups for snapshot in group), key=lambda snapshot: snapshot.at
    ):
        known = by_path.setdefault(snapshot.path, snapshot)
        if snapshot.wrote and not known.wrote:
            by_path[snapshot.path] = structs.replace(known, wrote=True)
    return tuple(by_path[path] for path in sorted(by_path))


def first_reads(groups: Iterable[tuple[FileRead, ...]], kept: Iterable[Snapshot]) -> tuple[FileRead, ...]:
    """Join the reads of several processes: the first read of each path that has no snapshot."""
    by_path = {snapshot.path: snapshot for group in reversed(list(groups)) for snapshot in group}
    for read in kept:
        by_path.pop(read.path, None)
    return tuple(by_path[path] for path in sorted(by_path))
