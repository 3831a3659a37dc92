"""Screening: it refuses values that msgspec could read only by running the program's own code.

msgspec calls no hook for dataclasses and attrs classes. It reads their fields with `getattr`, which runs properties,
descriptors (those of SQLAlchemy send a SELECT) and `__getattribute__`. So types are tested before. Only small
containers are searched, since a full search would cost as much as the encoding. Once an unsafe class was seen or
SQLAlchemy is imported, all are.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

from autochron._runtime.bare import identity
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
_runs_code: ClassTable[bool] = ClassTable()
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
        if any(kind not in CONTAINERS and _is_unsafe(kind) for kind in set(map(type, items)) - _screened):
            raise UnsafeError
        return
    for item in items:
        kind = type(item)
        if kind is str or kind in screened:
            continue
        if kind not in CONTAINERS:
            if _is_unsafe(kind):
                raise UnsafeError
        elif item and depth > 0:
            screen(item, depth - 1)


def _screen_whole(value: Any) -> None:
    """Screen all containers that msgspec reads before it calls a hook again, each of them once.

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
            if kind not in CONTAINERS:
                if _is_unsafe(kind):
                    raise UnsafeError
            elif item and kind in _READ_WITHOUT_HOOK and identity(item) not in seen:
                seen.add(identity(item))
                waiting.append(item)


_SETS = frozenset({set, frozenset})
_sortable = frozenset({*_screened, tuple})
"""Types of items by which a set can be sorted without running code of the program."""
_flat = frozenset({*_screened, *CONTAINERS} - _SETS)
"""Types that are safe in themselves, or containers that are deeper than is screened."""


def _looks_deep() -> bool:
    """Return whether values have to be screened in full depth."""
    return met_unsafe[0] or "sqlalchemy.orm" in sys.modules


def _is_unsafe(cls: type) -> bool:
    if _runs_code.find(cls, shapes.runs_code):
        met_unsafe[0] = True
        return True
    if cls in _runs_code:  # the class is never collected, so `_screened` may refer to it
        _screened.add(cls)
    return False
