"""Whether a generator or a coroutine that a call returns is the caller's alone, and how far it has run.

A stand-in may take its place only then: who else holds the object would read on, or close, another one.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from dis import opmap
from types import AsyncGeneratorType, FrameType
from typing import Any

from autochron._runtime import unpatched
from autochron._runtime.frame_locals import locals_of
from autochron._runtime.unpatched import getframe
from autochron.weaving import gate

_BEGUN = opmap["RETURN_GENERATOR"]
_LEAVE = gate.leave.__code__
_LOOKS_AT_LOCALS = frozenset(
    {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack", "f_locals"}
    if sys.version_info < (3, 13)
    else ()
)
"""Names in a function that may hold the dictionary of its variables, which changes whenever anyone reads them."""


def is_shared(value: Any) -> bool:
    """Return whether anything but the call that returns a value holds it, or a weak reference to it.

    An event loop holds one to every asynchronous generator that has begun.
    """
    # One is that of the argument of `getrefcount`.
    if unpatched.getrefcount(value) - 1 > _held_by_the_call(value):
        return True
    return type(value) is not AsyncGeneratorType and weakref.getweakrefcount(value) > 0


def _held_by_the_call(value: Any) -> int:
    """Count the local variables that hold a value: of our frames on top, and of the woven function that is being left.

    0 where the variables of that can't be read without a change that it might see.
    """
    count = 0
    frame: FrameType | None = getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("autochron."):
        count += _count(value, frame)
        code, frame = frame.f_code, frame.f_back
        # Beyond ours, the function that is being left is the last: others hold the value on their own account.
        if code is _LEAVE and frame is not None:
            if _LOOKS_AT_LOCALS.intersection(frame.f_code.co_names):
                return 0
            # Woven code keeps it, too, while it calls `leave`. What is in a cell, another function may hold as well.
            return (
                count
                + 1
                + _count(value, frame, set(frame.f_code.co_varnames).difference(frame.f_code.co_cellvars))
            )
    return count


def _count(value: Any, frame: FrameType, names: Iterable[str] | None = None) -> int:
    found, count = locals_of(frame), 0
    for name in found if names is None else names:  # a generator would hold the value in a cell
        count += found.get(name) is value
    return count


def is_under_way(value: Any) -> bool:
    """Return whether a generator, synchronous or not, waits at a `yield`."""
    waits = getattr(value, "gi_suspended", getattr(value, "ag_suspended", None))
    if waits is not None:
        return bool(waits)
    # An asynchronous one, on 3.11. Before its first step it stands where it was made.
    frame = value.ag_frame
    return frame is not None and frame.f_code.co_code[frame.f_lasti] != _BEGUN
