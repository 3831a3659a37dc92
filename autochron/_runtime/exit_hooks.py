"""Flush before the process ends without clean-up: by `os._exit` or a signal that kills it."""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from autochron._runtime import unpatched
from autochron._runtime.own_frames import drop_frame
from autochron._runtime.unpatched import os, program_os

_KILLING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


_in_force: list[Callable[[], None]] = []
"""Functions that remove our signal handlers."""


class _BlockedSignals(threading.local):
    """The signals that a thread had blocked before it forked; None if it is not forking."""

    mask: set[Any] | None = None


_blocked = _BlockedSignals()
_hooked = False


def _before_fork() -> None:
    """Block signals: Python would forget one that reaches a fork before it has begun to run."""
    if _in_force:
        _blocked.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _KILLING)


def _after_fork() -> None:
    mask, _blocked.mask = _blocked.mask, None
    if mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _after_fork_in_child() -> None:
    """Remove our signal handlers in a fork, so that a signal kills it at once: what it records is written at once.

    Python runs a signal handler between two instructions. If a pool ends its workers while they go back to wait for a task,
    a signal that arrives just before the wait is not handled until the wait ends, which is never. That happened one time in
    twenty.
    """
    while _in_force:
        _in_force.pop()()
    _after_fork()


@contextmanager
def kept_in_forks() -> Iterator[None]:
    """Keep our signal handlers in a fork that is made in this block: it goes on in the place of this process."""
    kept = _in_force[:]
    _in_force.clear()
    try:
        yield
    finally:
        _in_force.extend(kept)


def _hook_forks() -> None:
    global _hooked  # noqa: PLW0603 - hooks can't be taken back, so they are set once a process
    if not _hooked and hasattr(os, "register_at_fork"):
        _hooked = True
        os.register_at_fork(
            before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child
        )


def guard(flush: Callable[[int | None], None], *, signals: bool = True) -> Callable[[], None]:
    """Call `flush` before the process ends by `os._exit` or by a signal.

    Args:
        flush: called with the exit status, which is negative for a signal.
        signals: whether signals are handled as well, which only the main thread can arrange.

    Returns:
        A function that undoes this.
    """
    undos = [_guard_exit(flush)]
    if signals and unpatched.get_ident() == unpatched.main_thread().ident:
        undos.append(_guard_signals(flush))
        _in_force.append(undos[-1])
        _hook_forks()

    def undo_all() -> None:
        for undo in undos:
            undo()

    return undo_all


def _guard_exit(flush: Callable[[int | None], None]) -> Callable[[], None]:
    original = program_os._exit

    @functools.wraps(original)
    def _exit(status: int) -> Any:
        flush(status)
        try:
            original(status)
        except BaseException as error:
            drop_frame(error)
            raise

    program_os._exit = _exit

    def undo() -> None:
        if program_os._exit is _exit:
            program_os._exit = original

    return undo


def _guard_signals(flush: Callable[[int | None], None]) -> Callable[[], None]:
    """Handle signals that would kill the process. Programs see the default handler until they set one of their own."""
    set_original: Any = signal.signal
    get_original: Any = signal.getsignal

    def handle(number: int, _frame: Any) -> None:
        flush(-number)
        set_original(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    ours = {number for number in _KILLING if get_original(number) is signal.SIG_DFL}
    for number in ours:
        set_original(number, handle)

    def visible(handler: Any) -> Any:
        return signal.SIG_DFL if handler is handle else handler

    @functools.wraps(set_original)
    def set_handler(signalnum: Any, handler: Any) -> Any:
        installed = handle if signalnum in ours and handler == signal.SIG_DFL else handler
        try:
            return visible(set_original(signalnum, installed))
        except BaseException as error:
            drop_frame(error)
            raise

    @functools.wraps(get_original)
    def get_handler(signalnum: Any) -> Any:
        try:
            return visible(get_original(signalnum))
        except BaseException as error:
            drop_frame(error)
            raise

    signal.signal = set_handler
    signal.getsignal = get_handler

    def undo() -> None:
        if signal.signal is set_handler:
            signal.signal, signal.getsignal = set_original, get_original
        for number in ours:
            if get_original(number) is handle:
                set_original(number, signal.SIG_DFL)

    return undo
