"""Distinguish errors that a signal handler of the program raised from faults of ours.

A signal handler runs between any two instructions of the main thread, also of our code. An error that it raises there, such
as the end of a time limit, is meant for the program and must not count as a fault of the code that it interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from autochron._runtime.frame_locals import locals_of


def is_interruption(error: BaseException) -> bool:
    """Return whether a signal handler raised an error that passed through the caller.

    The traceback shows it: a handler is called with a number and the frame that it interrupts. Handlers are not wrapped when
    they are set, because some were set before, and `signal.getsignal` must return them unchanged.
    """
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        interrupted, traceback = traceback.tb_frame, traceback.tb_next
        number = None
        for value in _arguments(traceback.tb_frame):
            if value is interrupted and issubclass(type(number), int):
                return True
            number = value
    return False


def _arguments(frame: FrameType) -> Iterator[Any]:
    """Yield the arguments of a frame, with those in `*args` one by one."""
    code = frame.f_code
    values = locals_of(frame)
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 1]:
        value = values.get(name)
        if type(value) is tuple:
            yield from value
        else:
            yield value
