"""The first difference between two canonical JSON values, with the types that they hold."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from operator import ne
from typing import Any, TypeAlias

import msgspec

from autochron.envelope import type_trees
from autochron.envelope.types import is_same
from autochron.json_differences import (
    ABSENT,
    JsonDifference,
    Pairs,
    differences_between,
    is_other,
    pair_members,
)

MISSING = "(missing)"
"""The shown value of a side that has no such key or position."""

Excuse: TypeAlias = Callable[[str, Any, Any], bool]
"""Takes a path such as `items.0.id` and both sides' values, or MISSING; returns whether to ignore the difference."""

_WIDTH = 200
"""Characters of a value that are shown."""
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def first_difference(
    recorded: bytes, replayed: bytes, excuse: Excuse | None = None
) -> tuple[str, str, str] | None:
    """Return the first difference between two canonical inputs, also one of types only.

    The order of keys doesn't count. `1`, `1.0` and `true` differ.

    Args:
        recorded: a canonical input, as JSON.
        replayed: the input that it is compared with.
        excuse: decides which differences are ignored.

    Returns:
        (path, recorded value, replayed value), or None where both are equal. Values are JSON text of at most 200 characters.
        Long strings are shown from shortly before the difference.
    """
    if recorded == replayed:
        return None
    first, first_types = type_trees.split(_decode(recorded))
    second, second_types = type_trees.split(_decode(replayed))
    difference = difference_of(first, second, excuse)
    if difference is not None or first_types == second_types:
        return difference
    return _difference_of_types((first, first_types), (second, second_types), excuse or _never_excused)


def difference_of(first: Any, second: Any, excuse: Excuse | None = None) -> tuple[str, str, str] | None:
    """Return the first difference between two decoded JSON values; see `first_difference`."""
    for difference in differences_between(first, second, is_other=_differ):
        # A surplus item of a list is never ignored: it shifts all later items.
        is_surplus = (
            bool(difference.steps) and isinstance(difference.steps[-1], int) and _is_one_sided(difference)
        )
        if is_surplus or excuse is None or not excuse(difference.dotted, *_sides(difference)):
            if isinstance(difference.first, str) and isinstance(difference.second, str):
                return _as_difference(difference.dotted, *_show_texts(difference.first, difference.second))
            return _as_difference(difference.dotted, _show(difference.first), _show(difference.second))
    return None


def _is_one_sided(difference: JsonDifference) -> bool:
    return difference.first is ABSENT or difference.second is ABSENT


def _sides(difference: JsonDifference) -> tuple[Any, Any]:
    """Return both values as an `Excuse` gets them."""
    first, second = (MISSING if side is ABSENT else side for side in (difference.first, difference.second))
    return first, second


def _never_excused(_path: str, _first: Any, _second: Any) -> bool:
    return False


def _differ(first: Any, second: Any) -> bool:
    return is_other(first, second) or _are_zeros_of_other_signs(first, second)


def _are_zeros_of_other_signs(first: Any, second: Any) -> bool:
    return first == 0 and isinstance(first, float) and copysign(1, first) != copysign(1, second)


# --- types ---------------------------------------------------------------------------------------------------------


def _difference_of_types(
    first: tuple[Any, Any], second: tuple[Any, Any], excuse: Excuse
) -> tuple[str, str, str] | None:
    """Return the first difference in the types or the state of two values that are equal as JSON.

    Each side is a value and its tree of types.
    """
    first_types, second_types = _expand_items(first[1], first[0]), _expand_items(second[1], second[0])

    for difference in differences_between(first_types, second_types, pair=_pair_types, is_other=ne):
        path = difference.dotted
        first_type, second_type = (
            MISSING if side is ABSENT else side
            for side in map(_type_of_node, (difference.first, difference.second))
        )
        is_alias = (
            isinstance(first_type, str) and isinstance(second_type, str) and is_same(first_type, second_type)
        )
        if not is_alias and not excuse(_readable(path), first_type, second_type):
            break
    else:
        return None
    shown = [
        _shown_side(tree, path, value, side)
        for tree, value, side in ((first_types, first[0], first_type), (second_types, second[0], second_type))
    ]
    if shown[0] == shown[1]:  # two types of one name
        shown = [side if isinstance(side, str) else _show(side) for side in (first_type, second_type)]
    return _as_difference(_readable(path), *shown)


def _pair_types(first: Any, second: Any) -> Pairs | None:
    """Return the differing members of two trees of types in pairs. A node that has only a type equals that type."""
    if isinstance(first, dict) != isinstance(second, dict) and _type_of_node(first) == _type_of_node(second):
        first, second = (
            {key: member for key, member in side.items() if key != "$is"} if isinstance(side, dict) else {}
            for side in (first, second)
        )
    if isinstance(first, dict) and isinstance(second, dict):
        return [pair for pair in pair_members(first, second) or () if pair[1] != pair[2]]
    return None


def _type_of_node(node: Any) -> Any:
    return node.get("$is", ABSENT) if isinstance(node, dict) else node


def _expand_items(types: Any, value: Any) -> Any:
    """Return a tree of types in which `*`, which stands for all items of a list, is repeated for each item."""
    if not isinstance(types, dict):
        return types
    if set(types) - {"$is"} == {"*"} and isinstance(value, list):
        own = {"$is": types["$is"]} if "$is" in types else {}
        return {**own, **{str(at): _expand_items(types["*"], item) for at, item in enumerate(value)}}
    return {key: _expand_items(tree, _child(value, key)) for key, tree in types.items()}


def _child(value: Any, key: str) -> Any:
    name = key[1:] if key.startswith("$$") else key
    if isinstance(value, dict):
        return value.get(name, MISSING)
    if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
        return value[int(name)]
    return MISSING


_OF_JSON = {
    str: "str",
    int: "int",
    float: "float",
    bool: "bool",
    type(None): "None",
    list: "list",
    dict: "dict",
}


def _shown_side(_types: Any, path: str, value: Any, side: Any) -> str:
    """Return the text of one side of a difference of types. A plain value has the type of its JSON."""
    if side is MISSING or side == MISSING:
        steps = [step for step in path.split(".") if step != "$is"]
        for step in steps:
            value = _child(value, step)
        return MISSING if any(step.startswith("$") for step in steps) else _OF_JSON.get(type(value), MISSING)
    if isinstance(side, str):
        return side.rpartition(":")[2]
    return _show(
        side[0] if isinstance(side, list) and side else side
    )  # a piece of state: its value, and its types


_STATE = {
    "$cells": "closure",
    "$defaults": "defaults",
    "$self": "__self__",
    "$rest": "(rest)",
    "$keys": "(keys)",
}


def _readable(path: str) -> str:
    steps = [_STATE.get(step, step) for step in path.split(".") if step not in ("$is", "$state")]
    return ".".join(f"({step[1:]})" if step[:1] == "$" and step[:2] != "$$" else step for step in steps)


def _as_difference(path: str, first: str, second: str) -> tuple[str, str, str]:
    return path or "(value)", first, second


def _show(value: Any) -> str:
    if value is ABSENT:
        return MISSING
    text = _encode(value).decode()
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _show_texts(first: str, second: str) -> tuple[str, str]:
    """Return two strings as JSON text, cut to the part around their first difference."""
    if max(len(first), len(second)) <= _WIDTH - 2:
        return _show(first), _show(second)
    at = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )
    start = max(0, at - 40)
    lead = "…" if start else ""
    return tuple(_show(lead + text[start : start + _WIDTH]) for text in (first, second))  # type: ignore[return-value]
