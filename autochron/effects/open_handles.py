"""Redirect files that were open before a replay began to the scratch copy, and restore them when it ends.

`dup2` makes a descriptor lead to the scratch file, so that the program's file objects stay in use. A connection to a
database can't be redirected like that. Its path is listed, and the caller refuses statements that change the database.
"""

from __future__ import annotations

import io
from collections.abc import Collection
from typing import Any

from autochron._runtime.live_objects import instances_of
from autochron._runtime.unpatched import os
from autochron.effects.databases import SIDE_FILES, is_database
from autochron.effects.scratch import Scratch
from autochron.effects.undisturbed import undisturbed

_FOLDER = "/proc/self/fd"

_ONCE = os.O_TRUNC | os.O_EXCL
"""Flags that had their effect when the program opened the file, and must not have it again."""


class OpenHandles:
    """The descriptors that are open for writing on some paths, redirected until `put_back`.

    Attributes:
        databases: the paths of databases that are open.
    """

    def __init__(self, scratch: Scratch, paths: Collection[str]) -> None:
        """Redirect the descriptors that are open for writing on these paths to the scratch folder."""
        self._scratch = scratch
        self._saved: list[tuple[int, int, tuple[int, int]]] = []
        """The descriptor, a duplicate of the original, and device and inode of the scratch file."""
        self.databases: set[str] = set()
        if paths and os.path.isdir(_FOLDER):
            try:
                with undisturbed():
                    self._find(paths)
            except BaseException:
                self.put_back()
                raise

    def put_back(self) -> None:
        """Make the descriptors lead to the original files again."""
        if not self._saved:
            return
        with undisturbed():
            _flush({descriptor for descriptor, *_ in self._saved})
            for descriptor, saved, copy in self._saved:
                # The program may have closed the descriptor, and its number may lead to another file by now.
                if _identity(descriptor) == copy:
                    os.dup2(saved, descriptor, inheritable=os.get_inheritable(descriptor))
                os.close(saved)
            self._saved.clear()

    def _find(self, paths: Collection[str]) -> None:
        import fcntl  # lazy: needed only if a path of the recorded state may be open

        to_move: list[tuple[int, str, int]] = []
        for name in os.listdir(_FOLDER):
            try:
                path = os.readlink(f"{_FOLDER}/{name}")
                flags = fcntl.fcntl(int(name), fcntl.F_GETFL)
            except (OSError, ValueError):  # the descriptor of the listing itself, which is closed
                continue
            main_path = path.rpartition("-")[0] if path.endswith(SIDE_FILES) else path
            if main_path not in paths or flags & os.O_ACCMODE == os.O_RDONLY:
                continue
            if is_database(main_path):
                self.databases.add(main_path)
            elif main_path == path:
                to_move.append((int(name), path, flags))
        self._scratch.handles.update(_flush({descriptor for descriptor, *_ in to_move}))
        for descriptor, path, flags in to_move:
            self._move(descriptor, path, flags)

    def _move(self, descriptor: int, path: str, flags: int) -> None:
        """Make a descriptor lead to the scratch copy of its file, at the same position."""
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        copy = os.open(self._scratch.to_write(path), (flags & ~_ONCE) | os.O_CREAT, 0o600)
        os.lseek(copy, position, os.SEEK_SET)
        facts = os.fstat(copy)
        self._saved.append((descriptor, os.dup(descriptor), (facts.st_dev, facts.st_ino)))
        os.dup2(copy, descriptor, inheritable=os.get_inheritable(descriptor))
        os.close(copy)


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        facts = os.fstat(descriptor)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _flush(descriptors: Collection[int]) -> list[Any]:
    """Flush the file objects of these descriptors; return the objects."""
    files: list[Any] = []
    if not descriptors:
        return files
    for candidate in instances_of(io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom):
        try:
            if not candidate.closed and candidate.fileno() in descriptors:
                candidate.flush()
                files.append(candidate)
        except (OSError, ValueError):
            continue
    return files
