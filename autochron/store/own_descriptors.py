"""Descriptors of ours in the program's process: number them out of its way, and see whether SQLite's still are its own.

A program may close every descriptor it finds, as daemons do, and open files of its own under the same numbers: SQLite would
write its pages into these. Where the store is written by the program's own process, this is looked at before each commit. To
open and close a connection for each one instead was measured: 0.7 ms a commit, since the last connection tidies the WAL away.
"""

from __future__ import annotations

from typing import Final

from autochron._runtime.unpatched import os

_HIGH: Final = 100
"""Descriptors that are to be hidden are numbered from here on."""

_LISTS: Final = ("/proc/self/fd", "/dev/fd")
_SUFFIXES: Final = ("", "-wal", "-shm")


def listed() -> frozenset[int]:
    """Return the descriptors that are open; none where the system lists none."""
    for each in _LISTS:
        try:
            return frozenset(int(name) for name in os.listdir(each))
        except (OSError, ValueError):
            continue
    return frozenset()


def hidden(descriptor: int) -> int:
    """Return a copy of a descriptor that takes no number which one of the program's would have."""
    import fcntl  # lazy: there is none on Windows

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)


class OwnDescriptors:
    """The descriptors of one connection."""

    def __init__(self, file: str, before: frozenset[int]) -> None:
        """Find those that were opened since `before` and lead to a database or what SQLite keeps beside it."""
        wanted = {_identity(f"{file}{suffix}") for suffix in _SUFFIXES}
        found = ((number, _identity(number)) for number in listed() - before)
        self._known = tuple(each for each in found if each[1] is not None and each[1] in wanted)

    def are_ours(self) -> bool:
        """Return whether all of them lead where they led."""
        return all(_identity(number) == identity for number, identity in self._known)


def _identity(file: str | int) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def abandon(holder: object) -> None:
    """Never close the descriptors of a connection or a mapping, not even as the interpreter ends: others may have them."""
    import ctypes  # lazy: hardly any program closes what it has not opened

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(holder))
