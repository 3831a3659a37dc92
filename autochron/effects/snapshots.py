"""Store the contents of snapshots in a folder: each once, in a file named by its digest, readable only by its owner."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from autochron._runtime import unpatched
from autochron._runtime.own_folder import keep_out_of_git
from autochron._runtime.unpatched import os
from autochron.effects.databases import Mark, copy_database, is_young, mark_of
from autochron.effects.file_copies import copy_content
from autochron.effects.lock_safe import open_to_read
from autochron.effects.scratch import Before
from autochron.errors import StoreError
from autochron.model import Snapshot

FOLDER = "snapshots"
"""Name of the folder beside a store."""

_CHUNK = 1 << 20
"""Bytes that are read at once."""

_YOUNG = 3_600_000_000_000
"""Nanoseconds for which a content is kept that no trace names: a run under way may be about to name it."""


_copied: dict[tuple[str, str], tuple[Mark, str]] = {}
"""By folder and path: the mark of the file when this process copied it last, and the content's digest.

A service keeps the same file at each request; an unchanged file is not copied again.
"""

_MOST_COPIED = 1_000
"""Most entries of `_copied`."""


class SnapshotFolder:
    """A folder with the contents of snapshots. It is created when the first content is kept."""

    def __init__(self, path: str) -> None:
        self.path = path

    def keep(self, path: str, *, is_database: bool) -> str:
        """Copy a file, unless it is unchanged since this process copied it last; return the content's SHA-256, hex.

        Raises:
            OSError: the file can't be read, or the disk is full.
            StoreError: the file was changed during the copy, or SQLite can't read it, for instance because it is
                locked.
        """
        mark = mark_of(path)
        known = _copied.get((self.path, path))
        if known is not None and known[0] == mark and self.has(known[1]):
            try:
                os.utime(self.file_of(known[1]))  # a new modification time, so that `drop_all_but` keeps it
                return known[1]
            except FileNotFoundError:  # another process has pruned it meanwhile
                pass
        digest = self._copy(path, is_database=is_database)
        _copied.pop((self.path, path), None)
        if mark and not is_young(mark) and mark_of(path) == mark and len(_copied) < _MOST_COPIED:
            _copied[self.path, path] = (mark, digest)
        return digest

    def _copy(self, path: str, *, is_database: bool) -> str:
        if not os.path.isdir(self.path):
            os.makedirs(self.path, mode=0o700, exist_ok=True)
            keep_out_of_git(self.path)
        temporary = os.path.join(self.path, f".{unpatched.getpid()}.{unpatched.get_ident():x}.tmp")
        try:
            digest = _copy_database(path, temporary) if is_database else _copy_file(path, temporary)
            os.chmod(temporary, 0o600)
            os.replace(temporary, self.file_of(digest))
        finally:
            if os.path.lexists(temporary):
                os.unlink(temporary)
        return digest

    def file_of(self, digest: str) -> str:
        """Return the path of the file that holds a content."""
        return os.path.join(self.path, digest)

    def has(self, digest: str) -> bool:
        """Return whether a content is there."""
        return os.path.isfile(self.file_of(digest))

    def check(self, snapshot: Snapshot) -> str:
        """Return the file that holds a snapshot's content.

        Raises:
            StoreError: the file is missing, or its digest is wrong.
        """
        from autochron.effects.changes import digest_of  # lazy: it imports the comparison of contents

        file = self.file_of(snapshot.digest)
        if not os.path.isfile(file):
            raise StoreError(f"the snapshot of {snapshot.path} is not in {self.path}")
        if digest_of(file) != snapshot.digest:
            raise StoreError(
                f"the snapshot of {snapshot.path} is damaged: {file} is not what was kept; record the run again"
            )
        return file

    def bring(self, snapshots: Iterable[Snapshot], target: SnapshotFolder) -> None:
        """Copy the contents that another folder does not have to it.

        Raises:
            StoreError: a content is missing or damaged.
        """
        for snapshot in snapshots:
            if snapshot.digest and not target.has(snapshot.digest):
                os.makedirs(target.path, exist_ok=True)
                copy_content(self.check(snapshot), target.file_of(snapshot.digest))
                os.chmod(target.file_of(snapshot.digest), 0o600)

    def drop_all_but(self, digests: Collection[str]) -> int:
        """Remove the contents with other digests than these; return the number of freed bytes.

        Contents of the last hour stay: a run that is under way names its snapshots only at its end.
        """
        if not os.path.isdir(self.path):
            return 0
        freed, oldest_kept = 0, unpatched.time_ns() - _YOUNG
        for name in os.listdir(self.path):
            if name in digests:
                continue
            try:
                facts = os.stat(self.file_of(name))
                if facts.st_mtime_ns < oldest_kept:
                    os.unlink(self.file_of(name))
                    freed += facts.st_size
            except FileNotFoundError:  # another process has renamed or removed it meanwhile
                continue
        return freed


def folder_of_store(url: str | None) -> SnapshotFolder | None:
    """Return the folder that belongs to a store; None for a store in memory.

    For a SQLite store it is `snapshots` in the same folder, for a trace file `NAME.jsonl` it is `NAME.snapshots`.
    """
    if url is None or url.startswith("memory:"):
        return None
    path = os.path.abspath(url.removeprefix("sqlite:///"))
    if path.endswith(".jsonl"):
        return SnapshotFolder(f"{path.removesuffix('.jsonl')}.{FOLDER}")
    return SnapshotFolder(os.path.join(os.path.dirname(path), FOLDER))


def states_of(
    snapshots: Iterable[Snapshot], root: str, folders: Iterable[SnapshotFolder | None]
) -> tuple[dict[str, Before], list[Snapshot]]:
    """Find the contents of snapshots.

    Args:
        snapshots: the trace's snapshots.
        root: the folder that their paths are relative to.
        folders: the folders that are searched, in this order.

    Returns:
        What each path held before the run, by absolute path, and the snapshots whose contents are missing.

    Raises:
        StoreError: a content is damaged.
    """
    known_folders = [folder for folder in folders if folder is not None]
    states: dict[str, Before] = {}
    missing: list[Snapshot] = []
    for snapshot in snapshots:
        snapshot_path = os.path.join(root, snapshot.path)
        if snapshot.kind in {"link", "absent"}:  # not resolved: a link that exists now was made by the run
            parent, name = os.path.split(snapshot_path)
            path = os.path.join(os.path.realpath(parent), name)
            states[path] = (
                Before("link", target=snapshot.target) if snapshot.kind == "link" else Before("absent")
            )
            continue
        path = os.path.realpath(snapshot_path)
        if snapshot.kind == "folder":
            states[path] = Before("folder", names=frozenset(snapshot.names))
        elif snapshot.kind == "not-kept":
            missing.append(snapshot)
        else:
            holder = next(
                (known_folder for known_folder in known_folders if known_folder.has(snapshot.digest)), None
            )
            if holder is None:
                missing.append(snapshot)
            else:
                states[path] = Before(
                    snapshot.kind, holder.check(snapshot), snapshot.mode or 0o644, modified=snapshot.modified
                )
    return states, missing


def _copy_database(path: str, target: str) -> str:
    import sqlite3  # lazy: most programs have no database

    from autochron.effects.changes import digest_of  # lazy: hashlib takes 3 ms

    try:
        copy_database(path, target)
    except sqlite3.Error as error:
        raise StoreError(f"it can't be copied ({error})") from error
    return digest_of(target)


def _copy_file(path: str, target: str) -> str:
    import hashlib  # lazy: as above

    before, digest = os.stat(path), hashlib.sha256()
    with open_to_read(path) as source, open(target, "xb") as copy:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            copy.write(chunk)
    after = os.stat(path)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise StoreError(
            "it was changed while it was copied; keep what writes it from running, or name another path"
        )
    return digest.hexdigest()
