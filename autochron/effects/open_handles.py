"""Files that were open before a replay began: written again on the scratch copy, and put back when it ends.

A descriptor is made to mean the scratch file, so that the program's own file objects go on as they are. A database's
connection can't be moved like that; it is named, and what would change it is refused.
"""

from __future__ import annotations

import gc
import io
from collections.abc import Collection
from typing import Any

from autochron._runtime.unpatched import os
from autochron.effects.databases import SIDE_FILES, is_database
from autochron.effects.scratch import Scratch
from autochron.effects.undisturbed import undisturbed

_FOLDER = "/proc/self/fd"

_ONCE = os.O_TRUNC | os.O_EXCL


class OpenHandles:
    """The open descriptors of some paths, while a replay is under way.

    Attributes:
        databases: the paths that connections have open.
    """

    def __init__(self, scratch: Scratch, paths: Collection[str]) -> None:
        self._scratch = scratch
        self._saved: list[tuple[int, int, tuple[int, int]]] = []
        """Descriptor, a copy of what it was, and which file it is now."""
        self.databases: set[str] = set()
        if paths and os.path.isdir(_FOLDER):
            try:
                with undisturbed():
                    self._find(paths)
            except BaseException:
                self.put_back()
                raise

    def put_back(self) -> None:
        """Make the descriptors mean what they meant before."""
        if not self._saved:
            return
        with undisturbed():
            _flush({descriptor for descriptor, *_ in self._saved})
            for descriptor, saved, copy in self._saved:
                # One that the program has closed meanwhile may be another file's by now.
                if _identity(descriptor) == copy:
                    os.dup2(saved, descriptor, inheritable=os.get_inheritable(descriptor))
                os.close(saved)
            self._saved.clear()

    def _find(self, paths: Collection[str]) -> None:
        import fcntl  # lazy: where a path of the state may be open

        found: list[tuple[int, str, int]] = []
        for name in os.listdir(_FOLDER):
            try:
                path = os.readlink(f"{_FOLDER}/{name}")
                flags = fcntl.fcntl(int(name), fcntl.F_GETFL)
            except (OSError, ValueError):  # that of the listing itself
                continue
            main = path.rpartition("-")[0] if path.endswith(SIDE_FILES) else path
            if main not in paths or flags & os.O_ACCMODE == os.O_RDONLY:
                continue
            if is_database(main):
                self.databases.add(main)
            elif main == path:
                found.append((int(name), path, flags))
        self._scratch.handles.update(_flush({descriptor for descriptor, *_ in found}))
        for descriptor, path, flags in found:
            self._move(descriptor, path, flags)

    def _move(self, descriptor: int, path: str, flags: int) -> None:
        """Make a descriptor mean the scratch copy of its file."""
        at = os.lseek(descriptor, 0, os.SEEK_CUR)
        copy = os.open(self._scratch.to_write(path), (flags & ~_ONCE) | os.O_CREAT, 0o600)
        os.lseek(copy, at, os.SEEK_SET)
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
    """Write what waits in the file objects of some descriptors; return these objects."""
    found: list[Any] = []
    if not descriptors:
        return found
    for each in gc.get_objects():
        if isinstance(each, (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)):
            try:
                if not each.closed and each.fileno() in descriptors:
                    each.flush()
                    found.append(each)
            except (OSError, ValueError):
                continue
    return found
