"""Compare two JSON values, place by place. All comparisons of JSON values in the project use this walk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias


class _Absent:
    """The type of `ABSENT`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "nothing there"


ABSENT: Final = _Absent()
"""Stands for the value of a side that has no such key or position."""

Steps: TypeAlias = tuple[Any, ...]
"""The keys and positions on the way to a place in both values."""

Pairs: TypeAlias = Iterable[tuple[Any, Any, Any]]
"""Parts of two values at the same place: the step to them, the first value's part and the second's."""


class JsonDifference(NamedTuple):
    """One place at which two values differ, with the part of each; `ABSENT` for a side that has no such place."""

    steps: Steps
    first: Any
    second: Any

    @property
    def dotted(self) -> str:
        """The place as `items.0.id`; empty for the values as a whole."""
        path = ""
        for step in self.steps:
            path = f"{path}.{step}" if path else str(step)
        return path

    @property
    def indexed(self) -> str:
        """The place as `items[0].id`; empty for the values as a whole."""
        path = ""
        for step in self.steps:
            key = step if isinstance(step, str) else f"[{step!r}]"
            path = f"{path}.{key}" if path and isinstance(step, str) else f"{path}{key}"
        return path


def pair_members(first: Any, second: Any) -> Pairs | None:
    """Return the members of two objects or two arrays in pairs; None for other values, which are compared as a whole.

    Keys come in the first object's order, then in the second's. `ABSENT` stands for a member that one side lacks.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        keys = dict.fromkeys((*first, *second))
        return [(key, first.get(key, ABSENT), second.get(key, ABSENT)) for key in keys]
    if isinstance(first, list) and isinstance(second, list):
        shared = min(len(first), len(second))
        return [
            *((at, *pair) for at, pair in enumerate(zip(first, second, strict=False))),
            *((at, first[at], ABSENT) for at in range(shared, len(first))),
            *((at, ABSENT, second[at]) for at in range(shared, len(second))),
        ]
    return None


def pair_equal_lengths(first: Any, second: Any) -> Pairs | None:
    """Return what `pair_members` returns, but None for two arrays of different lengths."""
    if isinstance(first, list) and isinstance(second, list) and len(first) != len(second):
        return None
    return pair_members(first, second)


def is_other(first: Any, second: Any) -> bool:
    """Return whether two values differ by type or by value: `1`, `1.0` and `true` do."""
    return type(first) is not type(second) or bool(first != second)


def differences_between(
    first: Any,
    second: Any,
    *,
    pair: Callable[[Any, Any], Pairs | None] = pair_members,
    is_other: Callable[[Any, Any], Any] = is_other,
) -> Iterator[JsonDifference]:
    """Yield each place at which two values differ, in the order of the first value.

    Args:
        first: a JSON value.
        second: the value that it is compared with.
        pair: returns the members of two values in pairs, or None if the two are to be compared as a whole.
        is_other: returns whether two values differ that are compared as a whole.
    """
    waiting: list[tuple[Steps, Any, Any]] = [((), first, second)]
    while waiting:
        steps, first_part, second_part = waiting.pop()
        pairs = pair(first_part, second_part)
        if pairs is not None:
            waiting += reversed([((*steps, step), left, right) for step, left, right in pairs])
        elif is_other(first_part, second_part):
            yield JsonDifference(steps, first_part, second_part)
