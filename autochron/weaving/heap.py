"""Every function of the program, wherever it is held."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from itertools import compress, repeat
from operator import is_
from types import FrameType, FunctionType, ModuleType, TracebackType
from typing import Any
from weakref import ref

_FEW = 2000
"""So many objects Python itself puts aside as it starts, on 3.12."""

_PASSING = frozenset({FrameType, TracebackType})
"""What is not followed: frames hold what this module itself has at hand, which grows as it looks."""

_dict_of = vars(ModuleType)["__dict__"]

_frozen: tuple[int, list[ref[FunctionType]]] = (0, [])
"""How many objects were put aside when it was looked for functions among them last, and those."""


def every_function() -> Iterable[FunctionType]:
    """Return the functions that the garbage collector knows, and those that it was told to leave aside.

    After `gc.freeze()`, as servers that fork call it, it no longer gives what was there before. That is found from the
    modules on, once: it takes half a second for a million objects.
    """
    objects = gc.get_objects()
    # A million of them at C's speed.
    known: list[FunctionType] = list(compress(objects, map(is_, map(type, objects), repeat(FunctionType))))
    count = gc.get_freeze_count()  # once: it walks all that was put aside
    if count < _FEW:
        return known
    seen = {id(each) for each in known}
    aside = [function for each in _put_aside(count) if (function := each()) is not None]
    return [*known, *(each for each in aside if id(each) not in seen)]


def _put_aside(count: int) -> list[ref[FunctionType]]:
    """Return the functions among the `count` objects that the garbage collector was told to leave aside."""
    global _frozen  # noqa: PLW0603 - what is put aside belongs to the process
    before, found = _frozen
    if count > before:
        found = [ref(each) for each in _reached() if type(each) is FunctionType]
        _frozen = (count, found)
    return found


def _reached() -> list[Any]:
    """Return all that can be reached from the modules.

    Of a module its dictionary is read, and never what it holds in C: `_asyncio` counts among that objects which it has freed
    (CPython gh-122695, up to 3.12.5), and to touch these ends the interpreter later.
    """
    found: list[Any] = []
    seen = {id(sys.modules)}
    ahead: list[Any] = [sys.modules]
    while ahead:
        beyond: list[Any] = []
        for each in gc.get_referents(*ahead):
            held = _dict_of.__get__(each) if issubclass(type(each), ModuleType) else each
            if id(held) not in seen and gc.is_tracked(held):
                seen.add(id(held))
                if type(held) not in _PASSING:
                    beyond.append(held)
        found += beyond
        ahead = beyond
    return found
