"""What an input shows of a plain object of the user's own: its attributes, read without running any of its code.

Only instances of classes that are written in Python and defined in the user's own files, with all their bases. A class
of a library may be a client with sockets, locks and caches, which differ from run to run. Objects are read as deep as
they hold plain containers and further objects of this kind. Any other value in them has the form that it has
everywhere. An object that is too large is opaque, and so is the object that holds it: it may hold half of the program.
"""

from __future__ import annotations

import abc
import functools
import sys
import types
import typing
from collections import deque
from operator import itemgetter
from typing import Any, Final

from autochron._runtime.bare import bases_of, identity, space_of, text
from autochron._runtime.class_table import ClassTable
from autochron._runtime.unpatched import os
from autochron.envelope import shapes
from autochron.envelope import types as names
from autochron.envelope.cycles import CycleError, Cycles, reference

MAX_OBJECTS: Final = 100
MAX_ITEMS: Final = 5_000
MAX_DEPTH: Final = 30
MARK: Final = {"$cycle": True}
"""Stands for a part that contains itself, in inputs whose form has no numbers."""
_key = itemgetter(0)
_SCALARS = frozenset({str, int, float, bool, bytes, type(None)})
_NEUTRAL = (object, abc.ABC, typing.Generic, typing.Protocol)
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_STDLIB = os.path.dirname(os.__file__)
_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_GETSET = types.GetSetDescriptorType
_own: ClassTable[bool] = ClassTable()
_derived: ClassTable[frozenset[str]] = ClassTable()


def is_own(cls: type) -> bool:
    """Return whether a class and all its bases are written in Python in the user's own files. The answer is cached."""
    return _own.find(cls, _is_own)


def _is_own(cls: type) -> bool:
    return not _is_neutral(cls) and all(_is_neutral(base) or _is_own_class(base) for base in bases_of(cls))


def _is_neutral(cls: type) -> bool:
    return any(cls is neutral for neutral in _NEUTRAL)


def _is_own_class(cls: type) -> bool:
    # A `__dict__` that is a property would run code. The ordinary one is a descriptor made by C.
    if not isinstance(space_of(cls).get("__dict__", None), _GETSET | None):
        return False
    file = getattr(sys.modules.get(text(cls, "__module__")), "__file__", None)
    if not isinstance(file, str):
        return False
    return is_own_file(file)


@functools.cache
def is_own_file(file: str) -> bool:
    """Return whether a source file is the user's own: no part of a library, of Python or of autochron."""
    if file.startswith((_STDLIB, _PACKAGE, "<frozen ")):
        return False
    return _INSTALLED.isdisjoint(file.replace(os.sep, "/").split("/"))


def derived(cls: type) -> frozenset[str]:
    """Return the names of an instance's cached properties, which are computed from its other attributes."""
    return _derived.find(cls, _cached_properties)


def _cached_properties(cls: type) -> frozenset[str]:
    spaces = [space_of(base) for base in bases_of(cls)]
    return frozenset(
        name
        for space in spaces
        for name, attribute in space.items()
        if issubclass(type(attribute), functools.cached_property)
    )


def show(value: Any, cycles: Cycles | None = None, *, marks: bool = False) -> Any:
    """Return an object's attributes as plain data; if it is too large, its type only.

    Args:
        value: the object.
        cycles: the parts that lie on a cycle, if they were searched. The object itself has its number already.
        marks: whether a mark stands for a part that contains itself and has no number.

    Raises:
        CycleError: the object contains itself, and there are no marks.
    """
    try:
        return _Reading(cycles, marks=marks).attributes(value, 0)
    except _TooLargeError:
        return {"$opaque": names.label(type(value))}


class _TooLargeError(Exception):
    """An object has more parts than are read."""


class _Reading:
    """One walk through an object. An object that occurs twice and lies on no cycle is written twice."""

    __slots__ = ("cycles", "items", "marks", "objects", "open")

    def __init__(self, cycles: Cycles | None, *, marks: bool) -> None:
        self.items = self.objects = 0
        self.open: set[int] = set()
        self.cycles = cycles
        self.marks = marks

    def again(self, value: Any) -> Any:
        """Return what stands for a part that is written already; None for one to write now."""
        key = identity(value)
        if self.cycles is not None:
            number = self.cycles.number_of(key)
            if number is not None:
                return reference(number)
        if key not in self.open:
            return None
        if self.marks:
            return MARK
        raise CycleError

    def attributes(self, value: Any, depth: int) -> Any:
        self.objects += 1
        if self.objects > MAX_OBJECTS:
            raise _TooLargeError
        cls = type(value)
        own = shapes.attributes(value, shapes.slots_of(cls))
        left_out = derived(cls)
        items = [item for item in own.items() if type(item[0]) is str and item[0] not in left_out]
        if self.cycles is not None:
            items.sort(key=_key)
        self.open.add(identity(value))
        try:
            return {name: self.read(attribute, depth + 1) for name, attribute in items}
        finally:
            self.open.discard(identity(value))

    def read(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in _SCALARS:
            return value
        if kind is dict or kind is list or kind is tuple or kind is deque:
            return self._container(value, depth)
        if kind is set or kind is frozenset:
            # The order of a set is that of hashes, and those of objects are addresses.
            plain = all(type(item) in _SCALARS for item in value)
            return value if plain else {"$opaque": names.label(kind)}
        if shapes.kind_of(kind) == "none" and is_own(kind):
            known = self.again(value)
            return self.attributes(value, depth) if known is None else known
        return value

    def _container(self, value: Any, depth: int) -> Any:
        self.items += len(value) + 1
        if self.items > MAX_ITEMS or depth > MAX_DEPTH:
            raise _TooLargeError
        known = self.again(value)
        if known is not None:
            return known
        self.open.add(identity(value))
        try:
            if type(value) is dict:
                items = list(value.items())
                if self.cycles is not None and all(type(key) is str for key in value):
                    items.sort(key=_key)
                return {key: self.read(item, depth + 1) for key, item in items}
            return [self.read(item, depth + 1) for item in value]
        finally:
            self.open.discard(identity(value))
