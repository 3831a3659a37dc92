"""The folder of snapshots: each content once, as a file that is named by its digest, readable by its owner alone."""

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

_CHUNK = 1 << 20

_YOUNG = 3_600_000_000_000
"""Nanoseconds for which a content stays that no trace has."""


_copied: dict[tuple[str, str], tuple[Mark, str]] = {}
"""By folder and path: what this process copied last, and its digest. A service keeps the same file for each request."""

_MOST_COPIED = 1_000


class SnapshotFolder:
    """A folder with the contents of snapshots."""

    def __init__(self, path: str) -> None:
        self.path = path

    def keep(self, path: str, *, is_database: bool) -> str:
        """Copy a file as it is now, unless it is as this process copied it last; return the digest of the copy.

        Raises:
            OSError: it can't be read, or the disk has no room.
            StoreError: it was changed meanwhile, or another process has locked it.
        """
        mark = mark_of(path)
        known = _copied.get((self.path, path))
        if known is not None and known[0] == mark and self.has(known[1]):
            os.utime(self.file_of(known[1]))  # young again, so that `drop_all_but` leaves it
            return known[1]
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
        """Return the path of a content."""
        return os.path.join(self.path, digest)

    def has(self, digest: str) -> bool:
        """Return whether a content is there."""
        return os.path.isfile(self.file_of(digest))

    def check(self, snapshot: Snapshot) -> str:
        """Return the file that holds a snapshot.

        Raises:
            StoreError: it is missing or damaged.
        """
        from autochron.effects.changes import digest_of  # lazy: that imports what compares

        file = self.file_of(snapshot.digest)
        if not os.path.isfile(file):
            raise StoreError(f"the snapshot of {snapshot.path} is not in {self.path}")
        if digest_of(file) != snapshot.digest:
            raise StoreError(
                f"the snapshot of {snapshot.path} is damaged: {file} is not what was kept; record the run again"
            )
        return file

    def bring(self, snapshots: Iterable[Snapshot], target: SnapshotFolder) -> None:
        """Copy contents to another folder."""
        for each in snapshots:
            if each.digest and not target.has(each.digest):
                os.makedirs(target.path, exist_ok=True)
                copy_content(self.check(each), target.file_of(each.digest))
                os.chmod(target.file_of(each.digest), 0o600)

    def drop_all_but(self, digests: Collection[str]) -> int:
        """Remove the contents that no trace has any more; return how many bytes that gives back.

        Young ones stay: a run that is under way has kept them, and says so when it ends.
        """
        if not os.path.isdir(self.path):
            return 0
        freed, young = 0, unpatched.time_ns() - _YOUNG
        for name in os.listdir(self.path):
            facts = os.stat(self.file_of(name))
            if name not in digests and facts.st_mtime_ns < young:
                freed += facts.st_size
                os.unlink(self.file_of(name))
        return freed


def folder_of_store(url: str | None) -> SnapshotFolder | None:
    """Return the folder that belongs to a store; None for one in memory.

    A SQLite store has `snapshots` beside it, a trace file `NAME.snapshots`.
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
    """Return what paths held before the run, by absolute path, and the snapshots whose content is missing.

    Raises:
        StoreError: a content is damaged.
    """
    places = [each for each in folders if each is not None]
    found: dict[str, Before] = {}
    missing: list[Snapshot] = []
    for each in snapshots:
        given = os.path.join(root, each.path)
        if each.kind in {"link", "absent"}:  # a link that is there now is what the run has made
            parent, name = os.path.split(given)
            path = os.path.join(os.path.realpath(parent), name)
            found[path] = Before("link", target=each.target) if each.kind == "link" else Before("absent")
            continue
        path = os.path.realpath(given)
        if each.kind == "folder":
            found[path] = Before("folder", names=frozenset(each.names))
        elif each.kind == "not-kept":
            missing.append(each)
        else:
            place = next((one for one in places if one.has(each.digest)), None)
            if place is None:
                missing.append(each)
            else:
                found[path] = Before(each.kind, place.check(each), each.mode or 0o644, modified=each.modified)
    return found, missing


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
