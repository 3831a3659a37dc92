"""A cache of facts about classes, which does not keep classes alive that a program defines and drops as it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

V = TypeVar("V")

_HEAP_TYPE = 1 << 9
# Not attribute access, which would run code of the class's metaclass.
_space_of: Any = type.__dict__["__dict__"].__get__
_flags_of: Any = type.__dict__["__flags__"].__get__
_module_of: Any = type.__dict__["__module__"].__get__
_qualname_of: Any = type.__dict__["__qualname__"].__get__


def lasts(cls: type) -> bool:
    """Return whether a class is permanent: it is a static type, or its module has it under its own name."""
    if not _flags_of(cls) & _HEAP_TYPE:
        return True
    try:
        module = _module_of(cls)
        owner: Any = sys.modules.get(module) if type(module) is str else None
        for part in _qualname_of(cls).split("."):
            is_class = issubclass(type(owner), type)
            namespace = _space_of(owner) if is_class else object.__getattribute__(owner, "__dict__")
            owner = namespace.get(part)
    except AttributeError:
        return False
    return owner is cls


class ClassTable(dict[type, V]):
    """A cache of facts by class.

    `get` and `in` see permanent classes only, and are as fast as a dictionary's. `find` sees all. A fact about a class that
    is not permanent must not refer to the class, or the class would never be freed.
    """

    __slots__ = ("_first", "_passing")

    def __init__(self, known: Mapping[type, V] | None = None) -> None:
        self._first = dict(known or {})
        super().__init__(self._first)
        self._passing: WeakKeyDictionary[type, V] = WeakKeyDictionary()

    def find(self, cls: type, make: Callable[[type], V]) -> V:
        """Return the fact about a class; `make` computes it the first time."""
        kept = self.get(cls)
        if kept is not None:
            return kept
        kept = self._passing.get(cls)
        known = make(cls) if kept is None else kept
        if lasts(cls):
            self[cls] = known
        elif kept is None:
            self._passing[cls] = known
        return known

    def find_lasting(self, cls: type, make: Callable[[type], V]) -> V:
        """Return the fact about a class, which may refer to the class: it is kept only if the class is permanent."""
        known = self.get(cls)
        if known is None:
            known = make(cls)
            if lasts(cls):
                self[cls] = known
        return known

    def knows(self, cls: type) -> bool:
        """Return whether there is a fact about a class, permanent or not."""
        return cls in self or cls in self._passing

    def forget(self) -> None:
        """Remove all facts but the initial ones. Each session calls this, mostly with nothing to remove."""
        if len(self) > len(self._first):
            self.clear()
            if self._first:
                self.update(self._first)
        if self._passing.data:  # type: ignore[attr-defined]
            self._passing.clear()
