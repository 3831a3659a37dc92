"""Every function of the program, wherever it is held."""

from __future__ import annotations

import gc
import sys
from itertools import compress, repeat
from operator import call, is_, not_
from types import FrameType, FunctionType, ModuleType, TracebackType
from typing import Any
from weakref import ref

_FEW = 2000
"""So many objects Python itself puts aside as it starts, on 3.12."""

_PASSING = frozenset({FrameType, TracebackType})
"""What is not followed: frames hold what this module itself has at hand, which grows as it looks."""

_dict_of = vars(ModuleType)["__dict__"]

_aside: tuple[object, list[ref[FunctionType]]] | None = None
"""What `gc.freeze()` put aside: an object that was made after it, and the functions that were found then."""


def every_function() -> list[FunctionType]:
    """Return the functions that the garbage collector knows, and those that it was told to leave aside.

    After `gc.freeze()`, as servers that fork call it, the collector no longer returns what was there before. That is found
    from the modules on, once for each freeze: it takes half a second for a million objects.
    """
    global _aside  # noqa: PLW0603 - what is put aside belongs to the process
    objects = gc.get_objects()
    # A million of them at C's speed, here and below.
    known: list[FunctionType] = list(compress(objects, map(is_, map(type, objects), repeat(FunctionType))))
    if _aside is None or not any(map(is_, objects, repeat(_aside[0]))):
        # Nothing was put aside before, or more was since. To ask how much it is walks all of it.
        if gc.get_freeze_count() < _FEW:
            _aside = None
            return known
        _aside = ([], [ref(each) for each in _reached() if type(each) is FunctionType])
    functions = {*map(id, known)}
    aside = [*filter(None, map(call, _aside[1]))]
    # After `gc.unfreeze()` they are among the known ones, too.
    known.extend(compress(aside, map(not_, map(functions.__contains__, map(id, aside)))))
    return known


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
