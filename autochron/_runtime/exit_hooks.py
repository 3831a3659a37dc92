"""Flush before the process ends in a way that runs no clean-up: `os._exit` and signals that kill."""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable
from typing import Any

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os, program_os

_KILLING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


_in_force: list[Callable[[], None]] = []
"""What takes the handlers of signals off."""


class _BlockedSignals(threading.local):
    """The signals that a thread had blocked before it forked."""

    mask: set[Any] | None = None


_held = _BlockedSignals()
_hooked = False


def _before_fork() -> None:
    """Hold signals back: one that reaches a fork before it has begun to run would be noted, and then forgotten by Python."""
    if _in_force:
        _held.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _KILLING)


def _after_fork() -> None:
    mask, _held.mask = _held.mask, None
    if mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _after_fork_in_child() -> None:
    """Let signals kill again in a fork, which somebody may end at any moment: what it records waits for nothing.

    A handler of Python's runs between two instructions. Where a pool ends its workers just as they go back to waiting for
    a task, a signal that comes a moment before the wait is noted, and the wait lasts for ever: one time in twenty.
    """
    while _in_force:
        _in_force.pop()()
    _after_fork()


def _hook_forks() -> None:
    global _hooked  # noqa: PLW0603 - hooks can't be taken back, so they are set once a process
    if not _hooked and hasattr(os, "register_at_fork"):
        _hooked = True
        os.register_at_fork(
            before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child
        )


def guard(flush: Callable[[int | None], None], *, signals: bool = True) -> Callable[[], None]:
    """Call `flush` with the exit status, or None, before the process ends; gives the undo."""
    undo = [_guard_exit(flush)]
    if signals and unpatched.get_ident() == unpatched.main_thread().ident:
        undo.append(_guard_signals(flush))
        _in_force.append(undo[-1])
        _hook_forks()

    def undo_all() -> None:
        for each in undo:
            each()

    return undo_all


def _guard_exit(flush: Callable[[int | None], None]) -> Callable[[], None]:
    original = program_os._exit

    @functools.wraps(original)
    def _exit(status: int) -> Any:
        flush(status)
        original(status)

    program_os._exit = _exit

    def undo() -> None:
        if program_os._exit is _exit:
            program_os._exit = original

    return undo


def _guard_signals(flush: Callable[[int | None], None]) -> Callable[[], None]:
    """Handle signals that would kill the process, invisibly: programs see the default handler until they set their own."""
    set_original: Any = signal.signal
    get_original: Any = signal.getsignal

    def handle(number: int, _frame: Any) -> None:
        flush(-number)
        set_original(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    ours = {number for number in _KILLING if get_original(number) is signal.SIG_DFL}
    for number in ours:
        set_original(number, handle)

    def seen(handler: Any) -> Any:
        return signal.SIG_DFL if handler is handle else handler

    @functools.wraps(set_original)
    def set_handler(signalnum: Any, handler: Any) -> Any:
        given = handle if signalnum in ours and handler == signal.SIG_DFL else handler
        return seen(set_original(signalnum, given))

    @functools.wraps(get_original)
    def get_handler(signalnum: Any) -> Any:
        return seen(get_original(signalnum))

    signal.signal = set_handler
    signal.getsignal = get_handler

    def undo() -> None:
        if signal.signal is set_handler:
            signal.signal, signal.getsignal = set_original, get_original
        for number in ours:
            if get_original(number) is handle:
                set_original(number, signal.SIG_DFL)

    return undo
