"""A lock between processes that lasts as long as a block, and leaves no file behind."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from autochron._runtime.unpatched import os
from autochron.errors import StoreError


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold the lock of a file that is replaced as a whole: no one else who asks for it is inside meanwhile.

    Not on the file itself: who waits for that would get the lock of one that was replaced since.
    """
    place = f"{path}.lock"
    held = _take(place)
    try:
        yield
    finally:
        os.unlink(place)  # while it is held, so that nobody takes it for the lock afterwards
        fcntl.flock(
            held, fcntl.LOCK_UN
        )  # closing doesn't, where a process that was forked meanwhile has it open, too
        os.close(held)


def _take(place: str) -> int:
    while True:
        try:
            file = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StoreError(
                f"{place} can't be written ({error.strerror}); give another path, or make room"
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.stat(place).st_ino == os.fstat(file).st_ino:
                return file
        except FileNotFoundError:  # who held it took it away
            pass
        except BaseException:
            os.close(file)
            raise
        os.close(file)
