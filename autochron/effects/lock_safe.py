"""Read files without dropping the locks that the program holds on them.

When a process closes any descriptor of a file, the kernel drops all the locks of `fcntl.lockf` that the process holds on it
(fcntl(2)). SQLite's locks are such locks. So a descriptor of ours stays open for as long as the program has the same file
open. It is closed at a later read, once the program has closed its own.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from autochron._runtime.unpatched import os

_FOLDER = "/dev/fd"
"""The descriptors of this process, by number; not there on systems without such locks."""

_File: TypeAlias = tuple[int, int]
"""Device and inode."""

_kept_open: dict[int, _File] = {}
"""Our descriptors of files that the program has open, too."""


@contextmanager
def open_to_read(path: str) -> Iterator[io.BufferedReader[io.FileIO]]:
    """Open a file to read its bytes.

    Raises:
        OSError: it can't be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    try:
        with io.FileIO(descriptor, closefd=False) as raw, io.BufferedReader(raw) as file:
            yield file
    finally:
        _close(descriptor)


def read_whole(path: str, most: int = -1) -> bytes:
    """Return what a file holds, or its first `most` bytes.

    Raises:
        OSError: it can't be read.
    """
    with open_to_read(path) as file:
        return file.read(most)


def _close(descriptor: int) -> None:
    """Close a descriptor of ours, and those that were kept open, where the program doesn't have the file open."""
    file = _file_of(descriptor)
    if file is not None:
        _kept_open[descriptor] = file
    in_use = _open_files(besides=_kept_open)
    for each, its_file in list(_kept_open.items()):
        # The first to take it out closes it: another thread may be here, too.
        if its_file in in_use or _kept_open.pop(each, None) is None:
            continue
        if _file_of(each) == its_file:
            os.close(each)


def _file_of(descriptor: int) -> _File | None:
    """Return which file a descriptor is open on; None where the program has closed it, as daemons close all."""
    try:
        facts = os.fstat(descriptor)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _open_files(besides: Collection[int]) -> set[_File | None]:
    """Return the files that are open by other descriptors than these."""
    try:
        names = os.listdir(_FOLDER)
    except OSError:
        return set()
    return {_file_of(int(name)) for name in names if int(name) not in besides}
