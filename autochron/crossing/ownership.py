"""Whether a generator or a coroutine that a call returns is held by the caller alone, and whether it has begun.

Only then may a stand-in take its place: anything else that holds the object would go on reading, or close, the
original.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable
from dis import opmap
from types import AsyncGeneratorType, CodeType, FrameType
from typing import Any

from autochron._runtime import codeflags, unpatched
from autochron._runtime.frame_locals import locals_of
from autochron._runtime.live_objects import has_frozen
from autochron._runtime.unpatched import getframe
from autochron.weaving import gate

_BEGUN = opmap["RETURN_GENERATOR"]
_LEAVE = gate.leave.__code__
_LOOKS_AT_LOCALS = frozenset(
    {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack", "f_locals"}
    if sys.version_info < (3, 13)
    else ()
)
"""Names that a function uses if it may hold the dictionary of its variables, which changes whenever anyone reads it."""


_BORROWS = sys.version_info >= (3, 14)
"""Whether local variables and arguments may be borrowed, so that a reference count has an unknown part of them."""
_OF_RESULT = 1 if sys.version_info >= (3, 15) else 2
_OWN_REFERENCES = {
    ("adapt", "returned", "leave"): 0,
    ("adapt", "returned", "returned", "leave"): 0,
    ("adapt", "returned", "__call__"): _OF_RESULT,
    ("adapt", "returned", "crossing_call"): _OF_RESULT,
}
"""How many references our functions hold on top of the stack, by their names from the inside out, as measured."""
_get_referrers = gc.get_referrers


def is_shared(value: Any) -> bool:
    """Return whether a value is held, or weakly referenced, by anything but the call that returns it.

    Weak references to asynchronous generators don't count: an event loop holds one to each that has begun.
    """
    if _BORROWS:
        if _is_held(value, unpatched.getrefcount(value)):
            return True
    # One reference is the argument of `getrefcount`.
    elif unpatched.getrefcount(value) - 1 > _count_held_by_call(value):
        return True
    return type(value) is not AsyncGeneratorType and weakref.getweakrefcount(value) > 0


def _is_held(value: Any, references: int) -> bool:
    """Return whether anything but a call that returns a value holds it.

    Where the count alone doesn't tell, the garbage collector is asked what refers to the value. That takes milliseconds. It
    knows no variables of functions, but what a caller holds comes as an argument. It doesn't look at frozen objects.

    Args:
        value: the value.
        references: its reference count.
    """
    frame: FrameType | None = getframe(2)
    ours = []
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("autochron."):
        ours.append(frame.f_code)
        frame = frame.f_back
    expected = _OWN_REFERENCES.get(tuple([code.co_name for code in ours]))
    if frame is not None and ours and ours[-1] is _LEAVE:
        code = frame.f_code
        parameters, others = _variables(code)
        if _count(value, frame, parameters):
            return True
        held = _count(value, frame, others)
        # Of a variable, woven code has a borrowed reference; of any other value, one on the stack and one for `leave`.
        if expected is not None:
            expected += held or _LOADED
    if references == expected:
        return False
    if expected is not None and references != expected + _LOADED:
        return True
    # No comprehension here: it would hold the value in a cell.
    return has_frozen() or not {FrameType}.issuperset(map(type, _get_referrers(value)))


_LOADED = 2
"""The references of a variable's value that was not borrowed: one on the stack, one of `leave`."""


def _count_held_by_call(value: Any) -> int:
    """Count the local variables that hold a value: of our frames on top, and of the woven function that is being left.

    0 where reading that function's variables would cause a change that it might see.
    """
    count = 0
    frame: FrameType | None = getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("autochron."):
        count += _count(value, frame)
        code, frame = frame.f_code, frame.f_back
        # The function that is being left is the last that counts. References of its callers are references of others.
        if code is _LEAVE and frame is not None:
            if _LOOKS_AT_LOCALS.intersection(frame.f_code.co_names):
                return 0
            # One more: woven code itself keeps the value while it calls `leave`. Cells are left out, since another
            # function may hold them.
            return (
                count
                + 1
                + _count(value, frame, set(frame.f_code.co_varnames).difference(frame.f_code.co_cellvars))
            )
    return count


def _variables(code: CodeType) -> tuple[set[str], set[str]]:
    """Return the names of a function's parameters, and of its variables that no other function may hold."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & codeflags.CO_VARARGS) + bool(code.co_flags & codeflags.CO_VARKEYWORDS)
    return set(code.co_varnames[:count]), set(code.co_varnames[count:]).difference(code.co_cellvars)


def _count(value: Any, frame: FrameType, names: Iterable[str] | None = None) -> int:
    """Count the variables of a frame that hold a value; only those in `names`, if given."""
    variables, count = locals_of(frame), 0
    for name in (
        variables if names is None else names
    ):  # a generator expression would hold the value in a cell
        count += variables.get(name) is value
    return count


def is_under_way(value: Any) -> bool:
    """Return whether a generator, synchronous or not, has begun and waits at a `yield`."""
    waits = getattr(value, "gi_suspended", getattr(value, "ag_suspended", None))
    if waits is not None:
        return bool(waits)
    # On 3.11 an asynchronous generator has no such flag. Before its first step its frame is at RETURN_GENERATOR.
    frame = value.ag_frame
    return frame is not None and frame.f_code.co_code[frame.f_lasti] != _BEGUN
