"""A thread that the program can't see: neither `threading.enumerate` nor `active_count` knows it, and nobody joins it.

Programs join every thread there is, or wait until they are alone; with a `threading.Thread` of ours they would wait for ever.
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
"""Those of the threads that work."""

GONE: float = 0.1
"""Seconds to wait at most for the system's thread to vanish once its work is done."""


class HiddenThread:
    """A thread that runs `work`, and doesn't keep the process alive.

    Attributes:
        ident: what `get_ident` gives in it; None before it began.

    Raises:
        RuntimeError: no thread is to be had.
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
            # First the flag: a signal handler may join between a join's acquire and its release.
            self._over = True
            self._running.release()

    def is_alive(self) -> bool:
        """Return whether it works."""
        return not self._over

    def join(self, timeout: float) -> None:
        """Wait until it has ended, to the system too: Python counts the system's threads before a fork."""
        if not self._over and unpatched.acquire(self._running, timeout=timeout):
            self._running.release()
        if not self._over or self._native is None:
            return
        task = f"/proc/self/task/{self._native}"
        until = unpatched.perf_counter_ns() + int(GONE * 1e9)
        while os.path.exists(task) and unpatched.perf_counter_ns() < until:
            unpatched.sleep(0.0001)


def count_hidden() -> int:
    """Return how many of these threads work in this process: after a fork none does."""
    return len(_idents & sys._current_frames().keys()) if _idents else 0  # noqa: SLF001 - whose threads there are


AGAIN: int = 4
"""How often something is tried again that failed because the program closed our descriptor."""


def persistently(work: Callable[..., T], *given: object) -> T:
    """Do what opens files on a thread of ours, and again where the program closed them in the middle of it.

    A program that closes every descriptor closes also that of a module which is just being imported.
    """
    for _ in range(AGAIN):
        try:
            return work(*given)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
    return work(*given)
