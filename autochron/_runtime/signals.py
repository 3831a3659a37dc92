"""Distinguish the program's own interruptions from faults of ours.

A signal handler runs between any two instructions of the main thread, ours too. What it raises there, such as the end of
a time limit, is meant for the program and must not be taken for a fault of what it interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from autochron._runtime.frame_locals import locals_of


def is_interruption(error: BaseException) -> bool:
    """Return whether a signal handler raised an error that went through the caller.

    By the traceback: a handler is called with a number and the very frame that it interrupts. Not by wrapping the handlers
    when they are set: some were set before, and whoever asks for them must get them as they are.
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
    """Yield the positional arguments of a frame, those that `*args` caught too."""
    code = frame.f_code
    values = locals_of(frame)
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 1]:
        value = values.get(name)
        if type(value) is tuple:
            yield from value
        else:
            yield value
