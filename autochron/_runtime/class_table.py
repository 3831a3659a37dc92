"""What is found out about classes once, and forgotten with a class that a program makes and drops as it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

V = TypeVar("V")

_HEAP_TYPE = 1 << 9
# Past what a metaclass of the program's own defines.
_space_of: Any = type.__dict__["__dict__"].__get__
_flags_of: Any = type.__dict__["__flags__"].__get__
_module_of: Any = type.__dict__["__module__"].__get__
_qualname_of: Any = type.__dict__["__qualname__"].__get__


def lasts(cls: type) -> bool:
    """Return whether a class is there for good: made in C, or kept by its module under its own name."""
    if not _flags_of(cls) & _HEAP_TYPE:
        return True
    try:
        module = _module_of(cls)
        found: Any = sys.modules.get(module) if type(module) is str else None
        for part in _qualname_of(cls).split("."):
            is_class = issubclass(type(found), type)
            space = _space_of(found) if is_class else object.__getattribute__(found, "__dict__")
            found = space.get(part)
    except AttributeError:
        return False
    return found is cls


class ClassTable(dict[type, V]):
    """From a class to what is known of it.

    `get` and `in` see what is known of lasting classes only, at the price of a dictionary; `find` sees all. What is known
    of a class that doesn't last must not hold the class.
    """

    __slots__ = ("_first", "_passing")

    def __init__(self, known: Mapping[type, V] | None = None) -> None:
        self._first = dict(known or {})
        super().__init__(self._first)
        self._passing: WeakKeyDictionary[type, V] = WeakKeyDictionary()

    def find(self, cls: type, make: Callable[[type], V]) -> V:
        """Return what is known of a class; `make` finds it out."""
        found = self.get(cls)
        if found is not None:
            return found
        found = self._passing.get(cls)
        known = make(cls) if found is None else found
        if lasts(cls):
            self[cls] = known
        elif found is None:
            self._passing[cls] = known
        return known

    def find_lasting(self, cls: type, make: Callable[[type], V]) -> V:
        """Return what is known of a class, and keep it only where the class lasts: it may hold the class."""
        found = self.get(cls)
        if found is None:
            found = make(cls)
            if lasts(cls):
                self[cls] = found
        return found

    def forget(self) -> None:
        """Forget all that was found out; most often that is nothing, and each session asks for it."""
        if len(self) > len(self._first):
            self.clear()
            if self._first:
                self.update(self._first)
        if self._passing.data:  # type: ignore[attr-defined]
            self._passing.clear()
