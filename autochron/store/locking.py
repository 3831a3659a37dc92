"""A lock between processes that is held during a `with` block, and leaves no file behind."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from autochron._runtime.unpatched import os
from autochron.errors import StoreError


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold the lock of a file that is replaced as a whole; other processes wait for it here.

    The lock is on `PATH.lock` and not on the file itself: a process that waited for that would get the lock of a file that
    has been replaced meanwhile.

    Raises:
        StoreError: the lock file can't be made.
    """
    lock_path = f"{path}.lock"
    descriptor = _take(lock_path)
    try:
        yield
    finally:
        try:
            if _leads_to(lock_path, descriptor):
                os.unlink(lock_path)  # while it is locked, so that nobody locks it afterwards
        except OSError:  # it may stay: the next holder locks and removes it
            pass
        finally:
            try:
                # Closing alone does not unlock it if a process that was forked meanwhile has it open, too.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            finally:
                os.close(descriptor)


def _take(lock_path: str) -> int:
    while True:
        try:
            descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StoreError(
                f"{lock_path} can't be written ({error.strerror}); give another path, or make room"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _leads_to(lock_path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _leads_to(lock_path: str, descriptor: int) -> bool:
    """Return whether the lock file is still the one that is locked, and was not removed or replaced meanwhile."""
    try:
        return os.path.samestat(os.stat(lock_path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
