"""Start a process that is no child of this one: it was forked twice, and hears no signal of the terminal or the group."""

from __future__ import annotations

import contextlib
import errno
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.store.own_descriptors import listed

_DEAF: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)


class Work(NamedTuple):
    """What a process of ours does."""

    run: Callable[[], object]
    keep: Collection[int] = ()
    """The descriptors that it needs of this process; it has none of the others."""
    born: Callable[[int], object] | None = None
    """Called with its id before `fork_twice` returns, by a process that shares with this one only what is shared by forks."""


def is_alone() -> bool:
    """Return whether this process has one thread, and so may fork.

    A tool that began before us may have threads and hooks of forks: it stops its threads then and starts them again, which
    can hang (ddtrace 4), and a lock that a thread holds stays locked in the fork.
    """
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        threading = sys.modules.get("threading")
        return threading is None or threading.active_count() == 1


def fork_twice(*works: Work) -> None:
    """Have each work done by a process of its own that is no child of this one.

    Together, since this process is slower for a while after each fork.

    Raises:
        OSError: for one of them there is no process to be had.
    """
    held = signal.pthread_sigmask(signal.SIG_BLOCK, _DEAF)
    try:
        child = os.fork()
        if not child:
            _in_between(works)
        _, status = os.waitpid(child, 0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
    if status:
        raise OSError(errno.EAGAIN, "a process of autochron's own could not be started")


def start_all(*works: Work) -> None:
    """Start processes that one can do without: who needs one of them sees that it is not there."""
    if works:
        with contextlib.suppress(OSError):
            fork_twice(*works)


def _in_between(works: Sequence[Work]) -> None:
    failed = 0
    try:
        os.setsid()
        for work in works:
            try:
                process = os.fork()
            except OSError:
                failed = 1
                continue
            if not process:
                _do(work)
            if work.born is not None:
                work.born(process)
    except BaseException:
        failed = 1
    finally:
        unpatched.immediate_exit(failed)


def _do(work: Work) -> None:
    try:
        for number in _DEAF:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        _close_others(work.keep)
        work.run()
    except BaseException:  # noqa: S110 - a copy of the program has nobody to tell
        pass
    finally:
        unpatched.immediate_exit(0)


def _close_others(keep: Collection[int]) -> None:
    """Put the null device in the place of all other descriptors.

    Their numbers stay taken. C code may still write to one, as the writer of the map of `python -X perf` does, and what it
    writes would go into a file of ours that was given the number: a store was destroyed by that.
    """
    others = listed().difference(keep)
    null = os.open(os.devnull, os.O_RDWR)
    for each in others - {null}:
        os.dup2(null, each, inheritable=False)
    if not others:  # the system lists none
        start = 0
        for each in sorted({*keep, null}):
            os.closerange(start, each)
            start = each + 1
        os.closerange(start, min(os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else 4_096, 1 << 20))
