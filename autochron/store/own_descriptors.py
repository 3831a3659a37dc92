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


class OwnDescriptors:
    """The descriptors of one SQLite connection."""

    def __init__(self, file: str, before: frozenset[int]) -> None:
        """Find the descriptors of a database and of its WAL and index.

        Args:
            file: the path of the database.
            before: the descriptors that were open before the connection was made.
        """
        store_files = {_identity(f"{file}{suffix}") for suffix in _SUFFIXES}
        identities = ((number, _identity(number)) for number in listed() - before)
        self._known = tuple(entry for entry in identities if entry[1] is not None and entry[1] in store_files)

    def are_ours(self) -> bool:
        """Return whether all of them still lead to the same files."""
        return all(_identity(number) == identity for number, identity in self._known)


def _identity(file: str | int) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def abandon(holder: object) -> None:
    """Keep a connection or a mapping alive for ever: closing it would close descriptors that may be the program's now."""
    import ctypes  # lazy: hardly any program closes what it has not opened

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(holder))
