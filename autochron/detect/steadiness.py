"""What types tell of values: whether their hash, their order in a set or their text differs from one process to the next."""

from __future__ import annotations

from collections.abc import Collection
from types import FunctionType
from typing import Any

_NUMBERS = frozenset({int, bool, float, complex})
_DEFAULT_HASH: Any = object.__hash__
_DEFAULT_STR: Any = object.__str__


def has_one_order(values: Collection[Any]) -> bool:
    """Return whether a set of these values has the same order in every process."""
    return len(values) < 2 or all(map(hashes_alike, values))


def hashes_by_place(value: object) -> bool:
    """Return whether a value's hash is derived from its address."""
    own: Any = type(value).__hash__
    return own is _DEFAULT_HASH


def shows_place(value: object) -> bool:
    """Return whether a value's text may be Python's default one, which contains the address."""
    own: Any = type(value)
    return own.__str__ is _DEFAULT_STR and not isinstance(own.__repr__, FunctionType)


def hashes_alike(value: object) -> bool:
    """Return whether a value has the same hash in every process."""
    return type(value) in _NUMBERS
