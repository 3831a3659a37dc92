"""Pauses in which other threads run while one of ours works for long.

Python lets a thread that wants to run wait for 5 ms each time that another one is at work, and what waits for an answer
over a socket waits several times. A thread of ours that began here rests for a moment after each millisecond of such work.
Where it comes back late, another thread is at work all the time, and takes its turns without that.
"""

from __future__ import annotations

from time import thread_time_ns
from typing import Final

from autochron._runtime import unpatched

EVERY: Final = 1_000_000
"""Nanoseconds of a processor's time between two pauses."""

_LATE = 2_000_000
"""From so many nanoseconds on a pause came back late."""

_SPARED = 100_000_000
"""Nanoseconds of a processor's time without a pause, then."""

_REST = 0.00005
_due: dict[int, int] = {}
"""After how much of their processors' time threads pause next, by their `get_ident`."""
_held = unpatched.Lock()  # to rest by waiting for it: `time.sleep` raises an audit event
_held.acquire()


def begin() -> None:
    """Have this thread rest where it calls `pause`."""
    _due[unpatched.get_ident()] = thread_time_ns() + EVERY


def end() -> None:
    """Have it rest no more."""
    _due.pop(unpatched.get_ident(), None)


def pause() -> None:
    """Rest, in a thread that is to, if it has worked for long enough; called between pieces of work that takes long."""
    if not _due:
        return
    ident = unpatched.get_ident()
    due = _due.get(ident)
    if due is None or thread_time_ns() < due:
        return
    began = unpatched.perf_counter_ns()
    unpatched.acquire(_held, timeout=_REST)
    is_late = unpatched.perf_counter_ns() - began > _LATE
    _due[ident] = thread_time_ns() + (_SPARED if is_late else EVERY)
