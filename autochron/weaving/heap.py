"""Every function of the program, wherever it is held."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from operator import call
from types import FrameType, FunctionType, ModuleType, TracebackType
from typing import Any
from weakref import ref

from autochron._runtime.bare import identity
from autochron._runtime.live_objects import exact_instances_of, is_known

_FEW = 2000
"""So many objects Python itself puts aside as it starts, on 3.12."""

_PASSING = frozenset({FrameType, TracebackType})
"""What is not followed: frames hold what this module itself has at hand, which grows as it looks."""

_dict_of = vars(ModuleType)["__dict__"]

_aside: tuple[object, dict[str, list[ref[FunctionType]]]] | None = None
"""What `gc.freeze()` put aside: an object that was made after it, and the functions that were found then, by module."""


class Heap:
    """All functions of the process at one moment. It keeps those alive that the garbage collector knows.

    After `gc.freeze()`, as servers that fork call it, the collector no longer returns what was there before. That is found
    from the modules on, once for each freeze: it takes half a second for a million objects.
    """

    __slots__ = ("_by_module", "_searches", "known")

    def __init__(self) -> None:
        self.known: list[FunctionType] = exact_instances_of(FunctionType)
        """The functions that the collector returns."""
        self._by_module: dict[str, list[FunctionType]] | None = None
        self._searches = 0
        note_freeze()

    def functions(self) -> Iterator[FunctionType]:
        """Yield every function once."""
        yield from self.known
        if _aside is not None:
            known = {*map(identity, self.known)}  # after `gc.unfreeze()` some are in both
            for references in list(_aside[1].values()):
                yield from (
                    function
                    for function in filter(None, map(call, references))
                    if identity(function) not in known
                )

    def of(self, module: str) -> list[FunctionType]:
        """Return the functions of a module."""
        self._searches += 1
        if self._searches <= _FEW_SEARCHES:
            found = [function for function in self.known if function.__module__ == module]
        else:
            if self._by_module is None:
                self._by_module = {}
                for function in self.known:
                    if type(function.__module__) is str:
                        self._by_module.setdefault(function.__module__, []).append(function)
            found = [*self._by_module.get(module, ())]
        if _aside is not None and (references := _aside[1].get(module)):
            known = {*map(identity, found)}
            aside = filter(None, map(call, references))
            found += [each for each in aside if each.__module__ == module and identity(each) not in known]
        return found


_FEW_SEARCHES = 4
"""Calls of `Heap.of` that search; later ones use an index."""


def every_function() -> Iterator[FunctionType]:
    """Yield every function of the process once; see `Heap`."""
    return Heap().functions()


def note_freeze() -> None:
    """Find the functions that `gc.freeze()` has put aside, if any were since it was last noted.

    A server calls it before it forks: each fork that weaves would have to look for them.
    """
    global _aside  # noqa: PLW0603 - what is put aside belongs to the process
    if _aside is not None and is_known(_aside[0]):
        return
    # Nothing was put aside before, or more was since. To ask how much it is walks all of it.
    if gc.get_freeze_count() < _FEW:
        _aside = None
        return
    by_module: dict[str, list[ref[FunctionType]]] = {}
    for each in _reached():
        if type(each) is FunctionType:
            module = each.__module__
            by_module.setdefault(module if type(module) is str else "", []).append(ref(each))
    _aside = ([], by_module)


def _reached() -> list[Any]:
    """Return all that can be reached from the modules.

    Of a module its dictionary is read, and never what it holds in C: `_asyncio` counts among that objects which it has freed
    (CPython gh-122695, up to 3.12.5), and to touch these ends the interpreter later.
    """
    found: list[Any] = []
    seen = {identity(sys.modules)}
    ahead: list[Any] = [sys.modules]
    while ahead:
        beyond: list[Any] = []
        for each in gc.get_referents(*ahead):
            held = _dict_of.__get__(each) if issubclass(type(each), ModuleType) else each
            if identity(held) not in seen and gc.is_tracked(held):
                seen.add(identity(held))
                if type(held) not in _PASSING:
                    beyond.append(held)
        found += beyond
        ahead = beyond
    return found
