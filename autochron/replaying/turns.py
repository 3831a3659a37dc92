"""Crossings that wait for their turn: tasks, each in its event loop, and threads. They are woken when it comes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from autochron._runtime import unpatched

if TYPE_CHECKING:
    from autochron.model import Envelope

RECHECK = 0.02
"""Seconds after which a task looks by itself: not all that makes it due is told of."""


def running_loop() -> Any:
    """Return the event loop that runs in this thread, or None."""
    asyncio = sys.modules.get("asyncio")
    return None if asyncio is None else asyncio._get_running_loop()  # noqa: SLF001 - the public form raises


class _Waiter(NamedTuple):
    loop: Any
    future: Any
    envelope: Envelope


class _Threads:
    """What threads wait for that hold a lock; of `threading.Condition` a program may forbid the wait."""

    __slots__ = ("_gates", "_lock")

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._gates: list[Any] = []

    def wait(self, timeout: float) -> bool:
        """Let go of the lock until woken, for so many seconds at most; return whether it was that."""
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
        """Wake all that wait; who calls holds the lock."""
        for gate in self._gates:
            gate.release()
        self._gates.clear()


class Waiters:
    """Those of one replay. Who wakes holds the schedule's lock.

    Attributes:
        are_there: whether anyone has waited yet.
    """

    __slots__ = ("_condition", "_tasks", "are_there")

    def __init__(self) -> None:
        self._tasks: list[_Waiter] = []
        self._condition: Any = None
        self.are_there = False

    def condition(self, lock: Any) -> Any:
        """Return what threads wait for."""
        if self._condition is None:
            self._condition = _Threads(lock)
            self.are_there = True
        return self._condition

    async def wait(self, loop: Any, envelope: Envelope) -> None:
        """Wait in a task until its crossing may be due, or for a little while.

        Not by asking again and again: of 64 tasks each would ask after each of the others.
        """
        waiter = _Waiter(loop, loop.create_future(), envelope)
        self._tasks.append(waiter)
        self.are_there = True
        timer = loop.call_later(RECHECK, _set, waiter.future)
        try:
            await waiter.future
        finally:
            timer.cancel()
            self._tasks.remove(waiter)

    def wake(self, is_due: Callable[[Envelope], bool]) -> None:
        """Wake the threads, and the tasks that are due."""
        if self._condition is not None:
            self._condition.notify_all()
        running = running_loop() if self._tasks else None
        for each in tuple(self._tasks):
            if not each.future.done() and is_due(each.envelope):
                if each.loop is running:
                    _set(each.future)
                elif not each.loop.is_closed():
                    each.loop.call_soon_threadsafe(_set, each.future)


def _set(future: Any) -> None:
    if not future.done():
        future.set_result(None)
