"""Threads that the program can't see: `threading.enumerate` and `active_count` don't know them, and nobody joins them.

A program may join all threads, or wait until only one is left. With a `threading.Thread` of ours it would wait for ever.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from typing import TypeVar

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os

T = TypeVar("T")

_idents: set[int] = set()
"""The idents of the hidden threads that are running."""

GONE: float = 0.1
"""Seconds to wait at most until the system's thread is gone after its work is done."""


class HiddenThread:
    """A thread that runs `work`, and doesn't keep the process alive.

    Attributes:
        ident: the result of `get_ident` in the thread; None until it runs.

    Raises:
        RuntimeError: the system can't start another thread.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self.ident: int | None = None
        self._native: int | None = None
        self._over = False
        self._running = unpatched.Lock()
        self._running.acquire()
        self._work = work
        unpatched.start_new_thread(self._run, ())

    def _run(self) -> None:
        self.ident = unpatched.get_ident()
        _idents.add(self.ident)
        self._native = unpatched.get_native_id()
        try:
            self._work()
        finally:
            _idents.discard(self.ident)
            # The flag is set first: a signal handler may call `join` between acquire and release in another `join`.
            self._over = True
            self._running.release()

    def is_alive(self) -> bool:
        """Return whether the work is not done yet."""
        return not self._over

    def join(self, timeout: float) -> None:
        """Wait until the thread has ended, also for the system: Python counts the system's threads before a fork.

        Args:
            timeout: seconds to wait for the work.
        """
        if not self._over and unpatched.acquire(self._running, timeout=timeout):
            self._running.release()
        if not self._over or self._native is None:
            return
        task = f"/proc/self/task/{self._native}"
        until = unpatched.perf_counter_ns() + int(GONE * 1e9)
        while os.path.exists(task) and unpatched.perf_counter_ns() < until:
            unpatched.sleep(0.0001)


def count_hidden() -> int:
    """Return how many hidden threads are running in this process; after a fork none is."""
    return len(_idents & sys._current_frames().keys()) if _idents else 0  # noqa: SLF001 - whose threads there are


RETRIES: int = 4
"""How many times work is retried that failed because the program closed our descriptor."""


def retry_if_closed(work: Callable[..., T], *arguments: object) -> T:
    """Call `work` on a thread of ours, and retry it if the program closed a file that it was using (EBADF).

    For example, a program that closes every descriptor also closes that of a module which is just being imported.
    """
    for _ in range(RETRIES):
        try:
            return work(*arguments)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
    return work(*arguments)
