"""Screening: it refuses values that msgspec could read only by running the program's own code.

msgspec calls no hook for dataclasses and attrs classes. It reads their fields with `getattr`, which runs properties,
descriptors (those of SQLAlchemy send a SELECT) and `__getattribute__`. So types are tested before. Only small
containers and records are searched, since a full search would cost as much as the encoding. Once an unsafe class was seen
or SQLAlchemy is imported, all are.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from autochron._runtime.bare import dictionary_of, identity, slot
from autochron._runtime.class_table import ClassTable
from autochron.envelope import shapes


class UnsafeError(Exception):
    """msgspec would run the program's code to read a value: the value is walked in Python instead."""


CONTAINERS = frozenset({dict, list, tuple, set, frozenset, deque})
"""Types whose items have to be screened."""
_READ_WITHOUT_HOOK = CONTAINERS - {deque}
"""Those of them whose items msgspec reads at once. For a deque it calls the encoder's hook, which screens the items."""
_NEAR = 16
_screened: set[type] = {str, int, float, bool, bytes, type(None)}
_readers: ClassTable[Callable[[Any], Collection[Any]]] = ClassTable()
"""By class: a function that returns the values of an instance's fields, or `_read_by_code` or `_read_by_hook`."""
met_unsafe: list[bool] = [False]
"""Whether a class was seen whose instances only the walk may read."""


def screen(value: Any, depth: int = 2) -> None:
    """Raise UnsafeError if a value holds something that only the walk may read.

    Args:
        value: a container, see `CONTAINERS`.
        depth: how many more levels of containers are searched.
    """
    if _looks_deep():
        _screen_whole(value)
        return
    if type(value) in _SETS and not _sortable.issuperset(map(type, value)):
        raise UnsafeError
    items: Any = value.values() if type(value) is dict else value
    screened = _screened
    if depth <= 0 and _flat.issuperset(map(type, items)):
        return
    if len(items) > _NEAR:
        # Too long to be searched item by item. Its items are judged by the set of their types, which is made in C.
        for kind in set(map(type, items)) - _screened - CONTAINERS:
            _reader_of(kind)
        return
    for item in items:
        kind = type(item)
        if kind is str or kind in screened:
            continue
        if kind in CONTAINERS:
            if item and depth > 0:
                screen(item, depth - 1)
        elif (read := _reader_of(kind)) is not _read_by_hook and depth > 0:
            fields = read(item)
            if not screened.issuperset(map(type, fields)):
                screen(list(fields), depth - 1)


def _screen_whole(value: Any) -> None:
    """Screen all containers and records that msgspec reads before it calls a hook again, each of them once.

    The hook screens what it returns. If this search went on behind such a value, every level of nested deques would be
    searched again for each level around it.
    """
    waiting, seen = [value], {identity(value)}
    while waiting:
        container = waiting.pop()
        if type(container) in _SETS and not _sortable.issuperset(map(type, container)):
            raise UnsafeError
        for item in container.values() if type(container) is dict else container:
            kind = type(item)
            if kind is str or kind in _screened:
                continue
            read = _read_by_hook if kind in CONTAINERS else _reader_of(kind)
            if (kind in _READ_WITHOUT_HOOK or read is not _read_by_hook) and identity(item) not in seen:
                seen.add(identity(item))
                waiting.append(item if kind in CONTAINERS else read(item))


_SETS = frozenset({set, frozenset})
_sortable = frozenset({*_screened, tuple})
"""Types of items by which a set can be sorted without running code of the program."""
_flat = frozenset({*_screened, *CONTAINERS} - _SETS)
"""Types that are safe in themselves, or containers that are deeper than is screened."""


def _looks_deep() -> bool:
    """Return whether values have to be screened in full depth."""
    return met_unsafe[0] or "sqlalchemy.orm" in sys.modules


def _reader_of(cls: type) -> Callable[[Any], Collection[Any]]:
    """Return the reader of a class; raise UnsafeError if msgspec reads its instances by code of the program."""
    read = _readers.find(cls, _find_reader)
    if read is _read_by_code:
        met_unsafe[0] = True
        raise UnsafeError
    if (
        read is _read_by_hook and cls in _readers
    ):  # the class is never collected, so `_screened` may refer to it
        _screened.add(cls)
    return read


def _find_reader(cls: type) -> Callable[[Any], Collection[Any]]:
    if shapes.runs_code(cls):
        return _read_by_code
    if issubclass(cls, msgspec.Struct):
        return _fields_of_struct
    if not shapes.is_record(cls):
        return _read_by_hook
    return _attributes_of if shapes.slots_of(cls) else _dictionary_values_of


def _read_by_code(_: Any) -> Collection[Any]:
    return ()


def _read_by_hook(_: Any) -> Collection[Any]:
    return ()


def _fields_of_struct(struct: Any) -> Collection[Any]:
    return [slot(struct, name) for name in shapes.struct_fields(type(struct))]


def _attributes_of(record: Any) -> Collection[Any]:
    return shapes.attributes(record, shapes.slots_of(type(record))).values()


def _dictionary_values_of(record: Any) -> Collection[Any]:
    own = dictionary_of(record)
    return () if own is None else dict.values(own)
