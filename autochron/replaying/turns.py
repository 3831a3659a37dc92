"""Threads and tasks that wait for the turn of their crossing, and are woken when it comes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from autochron._runtime import unpatched

RECHECK = 0.02
"""Seconds after which a waiting task checks by itself whether it is due. Not every change that makes it due wakes it."""


def running_loop() -> Any:
    """Return the event loop that runs in this thread, or None."""
    asyncio = sys.modules.get("asyncio")
    return None if asyncio is None else asyncio._get_running_loop()  # noqa: SLF001 - the public form raises


class _Waiter(NamedTuple):
    loop: Any
    future: Any
    is_due: Callable[[], bool]


class _Threads:
    """A condition that threads wait for. The wait of `threading.Condition` may be patched by the program."""

    __slots__ = ("_gates", "_lock")

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._gates: list[Any] = []

    def wait(self, timeout: float) -> bool:
        """Release the lock and wait to be woken, for `timeout` seconds at most. Return whether the thread was woken."""
        gate = unpatched.Lock()
        unpatched.acquire(gate)
        self._gates.append(gate)
        depth = self._lock._release_save()  # noqa: SLF001 - as `threading.Condition` does
        try:
            is_woken = unpatched.acquire(gate, timeout=timeout)
        finally:
            self._lock._acquire_restore(depth)  # noqa: SLF001
        if not is_woken and gate in self._gates:
            self._gates.remove(gate)
        return is_woken

    def notify_all(self) -> None:
        """Wake all threads that wait. The caller holds the lock."""
        for gate in self._gates:
            gate.release()
        self._gates.clear()


class Waiters:
    """The threads and tasks of one replay that wait. The caller of `wake` holds the schedule's lock.

    Attributes:
        are_there: whether anyone has waited so far.
    """

    __slots__ = ("_condition", "_tasks", "are_there")

    def __init__(self) -> None:
        self._tasks: list[_Waiter] = []
        self._condition: Any = None
        self.are_there = False

    def condition(self, lock: Any) -> Any:
        """Return the condition that threads wait for, with the lock that they hold."""
        if self._condition is None:
            self._condition = _Threads(lock)
            self.are_there = True
        return self._condition

    async def wait(self, loop: Any, is_due: Callable[[], bool]) -> None:
        """Wait in a task until what it waits for may be due, for `RECHECK` seconds at most.

        The task does not poll at each turn of the loop: each of 64 tasks would then check all the others.
        """
        waiter = _Waiter(loop, loop.create_future(), is_due)
        self._tasks.append(waiter)
        self.are_there = True
        timer = loop.call_later(RECHECK, _set, waiter.future)
        try:
            await waiter.future
        finally:
            timer.cancel()
            self._tasks.remove(waiter)

    def wake(self) -> None:
        """Wake all threads, and the tasks for which it is time."""
        if self._condition is not None:
            self._condition.notify_all()
        running = running_loop() if self._tasks else None
        for waiter in tuple(self._tasks):
            if not waiter.future.done() and waiter.is_due():
                if waiter.loop is running:
                    _set(waiter.future)
                elif not waiter.loop.is_closed():
                    waiter.loop.call_soon_threadsafe(_set, waiter.future)


def _set(future: Any) -> None:
    if not future.done():
        future.set_result(None)
