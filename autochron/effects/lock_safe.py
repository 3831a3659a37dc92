"""Read files without dropping the locks that the program holds on them.

When a process closes any descriptor of a file, the kernel drops all the locks of `fcntl.lockf` that the process holds
on it (fcntl(2)). SQLite's locks are such locks. So our descriptor stays open for as long as the program has the same
file open. A later read closes it, once the program has closed its own.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from autochron._runtime.unpatched import os

_FOLDER = "/dev/fd"
"""Folder of this process's descriptors by number. Systems without such locks do not have it."""

_File: TypeAlias = tuple[int, int]
"""Device and inode."""

_kept_open: dict[int, _File] = {}
"""Our descriptors that stay open, because the program has the same file open."""


@contextmanager
def open_to_read(path: str) -> Iterator[io.BufferedReader[io.FileIO]]:
    """Open a file to read its bytes.

    Raises:
        OSError: the file can't be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    try:
        with io.FileIO(descriptor, closefd=False) as raw, io.BufferedReader(raw) as file:
            yield file
    finally:
        _close(descriptor)


def read_whole(path: str, limit: int = -1) -> bytes:
    """Return a file's content, or its first `limit` bytes.

    Raises:
        OSError: the file can't be read.
    """
    with open_to_read(path) as file:
        return file.read(limit)


def _close(descriptor: int) -> None:
    """Close our descriptor, and those that stayed open before, unless the program has their file open."""
    this_file = _file_of(descriptor)
    if this_file is not None:
        _kept_open[descriptor] = this_file
    in_use = _open_files(besides=_kept_open)
    for kept, its_file in list(_kept_open.items()):
        # Another thread may run this loop too. The one that removes the entry closes the descriptor.
        if its_file in in_use or _kept_open.pop(kept, None) is None:
            continue
        if _file_of(kept) == its_file:
            os.close(kept)


def _file_of(descriptor: int) -> _File | None:
    """Return the file of a descriptor; None if the program has closed it, as daemons close all descriptors."""
    try:
        facts = os.fstat(descriptor)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _open_files(besides: Collection[int]) -> set[_File | None]:
    """Return the files that are open on descriptors other than `besides`."""
    try:
        names = os.listdir(_FOLDER)
    except OSError:
        return set()
    return {_file_of(int(name)) for name in names if int(name) not in besides}
