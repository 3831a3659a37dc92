"""Start processes that are no children of this one: they are forked twice, and get no signals of its terminal or group."""

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

_IGNORED: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)


class Work(NamedTuple):
    """The work of one process of ours.

    `run` is called in the process, which ends when it returns.
    """

    run: Callable[[], object]
    keep: Collection[int] = ()
    """Descriptors of this process that it keeps; all others are replaced by the null device."""
    born: Callable[[int], object] | None = None
    """Called with the process id before `fork_twice` returns, but in the intermediate process, which shares only memory
    that forks share.
    """


def is_alone() -> bool:
    """Return whether this process has only one thread, so that forking it is safe.

    A tool that was started before us may have threads. A lock that a thread holds stays locked in the fork. Such a tool may
    also have fork hooks that stop and restart its threads, which can hang (ddtrace 4).
    """
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        threading = sys.modules.get("threading")
        return threading is None or threading.active_count() == 1


def fork_twice(*works: Work) -> None:
    """Start a process for each work; none of them is a child of this process.

    One call starts them all with one fork of this process, since it runs more slowly for a while after each.

    Raises:
        OSError: one of the processes can't be started.
    """
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, _IGNORED)
    try:
        child = os.fork()
        if not child:
            _run_intermediate(works)
        _, status = os.waitpid(child, 0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)
    if status:
        raise OSError(errno.EAGAIN, "a process of autochron's own could not be started")


def start_all(*works: Work) -> None:
    """Start processes that are optional: an error is suppressed, and users of a process see that it is missing."""
    if works:
        with contextlib.suppress(OSError):
            fork_twice(*works)


def _run_intermediate(works: Sequence[Work]) -> None:
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
                _run_work(work)
            if work.born is not None:
                work.born(process)
    except BaseException:
        failed = 1
    finally:
        unpatched.immediate_exit(failed)


def _run_work(work: Work) -> None:
    try:
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        _close_others(work.keep)
        work.run()
    except BaseException:  # noqa: S110 - nobody reads an error of this process
        pass
    finally:
        unpatched.immediate_exit(0)


def _close_others(keep: Collection[int]) -> None:
    """Replace all other descriptors by the null device.

    Not closed, since C code may still write to one, as `python -X perf` does for its map. If a file of ours got the number,
    the text would go into that file; a store was destroyed this way.
    """
    others = listed().difference(keep)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in others - {null}:
        os.dup2(null, descriptor, inheritable=False)
    if not others:  # the system lists none
        start = 0
        for descriptor in sorted({*keep, null}):
            os.closerange(start, descriptor)
            start = descriptor + 1
        os.closerange(start, min(os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else 4_096, 1 << 20))
