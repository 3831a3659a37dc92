"""Screening: values are refused that msgspec could read only by running the program's own code.

msgspec asks no hook for dataclasses and attrs classes, and reads their fields with `getattr`: that runs properties,
descriptors (SQLAlchemy's send a SELECT) and `__getattribute__`. So types are looked at first. Not all the way down,
which would cost as much as the encoding: only in small containers, unless an unsafe class or SQLAlchemy's was seen.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

from autochron._runtime.bare import identity
from autochron._runtime.class_table import ClassTable
from autochron.envelope import shapes


class UnsafeError(Exception):
    """A value that msgspec would read by running the program's own code: it is walked instead."""


CONTAINERS = frozenset({dict, list, tuple, set, frozenset, deque})
"""Types that msgspec reads without a hook, and whose items have to be screened."""
_NEAR = 16
_screened: set[type] = {str, int, float, bool, bytes, type(None)}
_runs_code: ClassTable[bool] = ClassTable()
met_unsafe: list[bool] = [False]
"""Whether a class was seen whose values only the walk may read."""


def screen(value: Any, depth: int = 2) -> None:
    """Raise UnsafeError where a value holds something that only the walk may read."""
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
        # Long, so not looked into; but what it holds itself is told by the types, at the speed of C.
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
    """Do so with all that a value holds in containers, each of which is looked into once."""
    waiting, seen = [value], {identity(value)}
    while waiting:
        held = waiting.pop()
        if type(held) in _SETS and not _sortable.issuperset(map(type, held)):
            raise UnsafeError
        for item in held.values() if type(held) is dict else held:
            kind = type(item)
            if kind is str or kind in _screened:
                continue
            if kind not in CONTAINERS:
                if _is_unsafe(kind):
                    raise UnsafeError
            elif item and identity(item) not in seen:
                seen.add(identity(item))
                waiting.append(item)


_SETS = frozenset({set, frozenset})
_sortable = frozenset({*_screened, tuple})
"""Types of a set's items that are put in order without running code of the program."""
_flat = frozenset({*_screened, *CONTAINERS} - _SETS)
"""Types of which nothing is to be known but what is deeper than is looked."""


def _looks_deep() -> bool:
    """Return whether values have to be screened all the way down."""
    return met_unsafe[0] or "sqlalchemy.orm" in sys.modules


def _is_unsafe(cls: type) -> bool:
    if _runs_code.find(cls, shapes.runs_code):
        met_unsafe[0] = True
        return True
    if cls in _runs_code:  # it lasts
        _screened.add(cls)
    return False
