"""Our descriptors in the program's process: give them high numbers, and check whether SQLite's still lead to the store.

A program may close every descriptor it finds, as daemons do, and open files of its own under the same numbers. SQLite would
write its pages into these. So a sink that writes in the program's process checks its descriptors before each commit.
Rejected: a new connection for each commit, which costs 0.7 ms, because the last connection to close removes the WAL.
"""

from __future__ import annotations

import errno
from typing import Final

from autochron._runtime.unpatched import os

_HIGH: Final = 100
"""Hidden descriptors have numbers from here on."""

_STANDARD: Final = frozenset({0, 1, 2})
"""All that some systems list, whatever is open."""

_LISTS: Final = ("/proc/self/fd", "/dev/fd")
_SUFFIXES: Final = ("", "-wal", "-shm")


def listed() -> frozenset[int]:
    """Return the open descriptors of this process; none if the system doesn't list them."""
    for folder in _LISTS:
        try:
            return frozenset(int(name) for name in os.listdir(folder))
        except (OSError, ValueError):
            continue
    return frozenset()


def hidden(descriptor: int) -> int:
    """Return a copy of a descriptor with a high number, which none of the program's own files would get.

    Raises:
        OSError: the descriptor is closed, there are too many, or the system has no such copies.
    """
    try:
        import fcntl  # lazy: there is none on Windows
    except ImportError:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from None
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)


class OwnDescriptor:
    """A descriptor of ours that is open for more than a moment, so that the program may have closed it meanwhile.

    Attributes:
        number: its number, which may be that of a file of the program by now.
        identity: the device and the inode that it leads to.
    """

    def __init__(self, descriptor: int) -> None:
        """Hide a descriptor: this one has a high number, and the given one is closed.

        Args:
            descriptor: of an empty file that has no name.

        Raises:
            OSError: the program has closed it (EBADF), or there are too many.
        """
        status = os.fstat(descriptor)
        if status.st_nlink or status.st_size:
            raise _closed()
        self.identity = status.st_dev, status.st_ino
        try:
            self.number = hidden(descriptor)
        finally:
            if _identity(descriptor) == self.identity:
                os.close(descriptor)
        self.check()

    def check(self) -> None:
        """Raise an error if the descriptor doesn't lead to our file any more.

        Raises:
            OSError: so it is; EBADF.
        """
        if _identity(self.number) != self.identity:
            raise _closed()

    def close(self) -> None:
        """Close it if it is still ours."""
        if _identity(self.number) == self.identity:
            os.close(self.number)


class OwnDescriptors:
    """The descriptors of one SQLite connection."""

    def __init__(self, file: str, before: frozenset[int]) -> None:
        """Find the descriptors of a database and of its WAL and index.

        Args:
            file: the path of the database.
            before: the descriptors that were open before the connection was made.
        """
        store_files = {_identity(f"{file}{suffix}") for suffix in _SUFFIXES} - {None}
        now = listed()
        open_now = {number: identity for number in now if (identity := _identity(number)) in store_files}
        self._known = tuple((number, open_now[number]) for number in open_now.keys() - before)
        # The program may have closed them before we could list them. But SQLite may also have taken some that it had opened
        # for an earlier connection, and kept for the sake of its locks; then it is not known which ones are ours.
        self._were_found = bool(open_now) or now <= _STANDARD

    def are_ours(self) -> bool:
        """Return whether all of them still lead to the same files."""
        return self._were_found and all(_identity(number) == identity for number, identity in self._known)


def _identity(file: str | int) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _closed() -> OSError:
    return OSError(errno.EBADF, os.strerror(errno.EBADF))


def abandon(holder: object) -> None:
    """Keep a connection or a mapping alive for ever: closing it would close descriptors that may be the program's now."""
    import ctypes  # lazy: hardly any program closes what it has not opened

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(holder))
