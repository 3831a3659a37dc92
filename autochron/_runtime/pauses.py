"""Pauses of our worker threads, in which threads of the program run.

Python lets a thread wait for up to 5 ms while another one runs, and a request over a socket waits several times. So a thread
of ours that called `begin` pauses for a moment after each millisecond of work. If it gets the processor back late, another
thread runs all the time and gets its turns anyway, so the next pause comes later.
"""

from __future__ import annotations

from time import thread_time_ns
from typing import Final

from autochron._runtime import unpatched

EVERY: Final = 1_000_000
"""Nanoseconds of the thread's CPU time between two pauses."""

_LATE = 2_000_000
"""Nanoseconds after which a pause has ended late."""

_SPARED = 100_000_000
"""Nanoseconds of the thread's CPU time between two pauses after a late one."""

_REST = 0.00005
"""Seconds of a pause."""
_due: dict[int, int] = {}
"""By a thread's `get_ident`: its CPU time in nanoseconds at which it pauses next."""
_locked = unpatched.Lock()  # a pause waits for it in vain; not `time.sleep`, which raises an audit event
_locked.acquire()


def begin() -> None:
    """Enable pauses of this thread."""
    _due[unpatched.get_ident()] = thread_time_ns() + EVERY


def end() -> None:
    """Disable pauses of this thread."""
    _due.pop(unpatched.get_ident(), None)


def pause() -> None:
    """Pause if this thread has called `begin` and a pause is due. Long work calls this between its steps."""
    if not _due:
        return
    ident = unpatched.get_ident()
    due = _due.get(ident)
    if due is None or thread_time_ns() < due:
        return
    began = unpatched.perf_counter_ns()
    unpatched.acquire(_locked, timeout=_REST)
    is_late = unpatched.perf_counter_ns() - began > _LATE
    _due[ident] = thread_time_ns() + (_SPARED if is_late else EVERY)
