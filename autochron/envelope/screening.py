"""Screening: it refuses values that msgspec could read only by running the program's own code.

msgspec calls no hook for dataclasses and attrs classes. It reads their fields with `getattr`, which runs properties,
descriptors (those of SQLAlchemy send a SELECT) and `__getattribute__`. So types are tested before. Only small
containers and records are searched, since a full search would cost as much as the encoding. Once an unsafe class was seen
or SQLAlchemy is imported, all are.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any, Literal

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
_ways: ClassTable[Literal["code", "fields", "hook"]] = ClassTable()
"""How msgspec reads the instances of a class: by code of the program, by their fields alone, or with a hook."""
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
        if any(
            kind not in CONTAINERS and _way_of(kind) == "code" for kind in set(map(type, items)) - _screened
        ):
            raise UnsafeError
        return
    for item in items:
        kind = type(item)
        if kind is str or kind in screened:
            continue
        if kind in CONTAINERS:
            if item and depth > 0:
                screen(item, depth - 1)
        elif (way := _way_of(kind)) == "code":
            raise UnsafeError
        elif way == "fields" and depth > 0:
            fields = _fields_of(item)
            if not screened.issuperset(map(type, fields)):
                screen(fields, depth - 1)


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
            is_read_at_once = kind in _READ_WITHOUT_HOOK
            if kind not in CONTAINERS:
                way = _way_of(kind)
                if way == "code":
                    raise UnsafeError
                is_read_at_once = way == "fields"
            if is_read_at_once and identity(item) not in seen:
                seen.add(identity(item))
                waiting.append(item if kind in CONTAINERS else _fields_of(item))


_SETS = frozenset({set, frozenset})
_sortable = frozenset({*_screened, tuple})
"""Types of items by which a set can be sorted without running code of the program."""
_flat = frozenset({*_screened, *CONTAINERS} - _SETS)
"""Types that are safe in themselves, or containers that are deeper than is screened."""


def _looks_deep() -> bool:
    """Return whether values have to be screened in full depth."""
    return met_unsafe[0] or "sqlalchemy.orm" in sys.modules


def _way_of(cls: type) -> Literal["code", "fields", "hook"]:
    way = _ways.find(cls, _find_way)
    if way == "code":
        met_unsafe[0] = True
    elif way == "hook" and cls in _ways:  # the class is never collected, so `_screened` may refer to it
        _screened.add(cls)
    return way


def _find_way(cls: type) -> Literal["code", "fields", "hook"]:
    if shapes.runs_code(cls):
        return "code"
    return "fields" if shapes.is_record(cls) or issubclass(cls, msgspec.Struct) else "hook"


def _fields_of(record: Any) -> list[Any]:
    """Return the values of a record's fields, without code of the program."""
    kind = type(record)
    if issubclass(kind, msgspec.Struct):
        return [slot(record, name) for name in shapes.struct_fields(kind)]
    slots = shapes.slots_of(kind)
    if not slots and (own := dictionary_of(record)) is not None:
        return list(dict.values(own))
    return list(shapes.attributes(record, slots).values())
