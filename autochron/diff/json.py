"""The first place where two canonical inputs differ."""

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

Excuse: TypeAlias = Callable[[str, Any, Any], bool]
"""Told of a path and what stands there on both sides, or MISSING: whether that is no difference after all."""

_WIDTH = 200
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def first_difference(
    recorded: bytes, replayed: bytes, excuse: Excuse | None = None
) -> tuple[str, str, str] | None:
    """Return (path, recorded, replayed), each shortened to fit a screen, or None where both say the same.

    The order of keys doesn't count; `1`, `1.0` and `true` do differ. Where texts differ, what is shown
    starts shortly before the difference. A difference that is excused is passed over.
    """
    if recorded == replayed:
        return None
    one, types = type_trees.split(_decode(recorded))
    other, other_types = type_trees.split(_decode(replayed))
    found = difference_of(one, other, excuse)
    if found is not None or types == other_types:
        return found
    return _difference_of_types((one, types), (other, other_types), excuse or _unexcused)


def difference_of(one: Any, other: Any, excuse: Excuse | None = None) -> tuple[str, str, str] | None:
    """Do the same for values that were read already."""
    for each in differences_between(one, other, is_other=_is_other):
        # An item that only one list has is never excused: it would shift all that come after it.
        is_surplus = bool(each.steps) and isinstance(each.steps[-1], int) and _is_one_sided(each)
        if is_surplus or excuse is None or not excuse(each.dotted, *_sides(each)):
            if isinstance(each.first, str) and isinstance(each.second, str):
                return _report(each.dotted, *_show_texts(each.first, each.second))
            return _report(each.dotted, _show(each.first), _show(each.second))
    return None


def _is_one_sided(difference: JsonDifference) -> bool:
    return difference.first is ABSENT or difference.second is ABSENT


def _sides(difference: JsonDifference) -> tuple[Any, Any]:
    """Return both sides as an excuse is told of them."""
    first, second = (MISSING if side is ABSENT else side for side in (difference.first, difference.second))
    return first, second


def _unexcused(_path: str, _one: Any, _other: Any) -> bool:
    return False


def _is_other(one: Any, other: Any) -> bool:
    return is_other(one, other) or _are_other_zeros(one, other)


def _are_other_zeros(one: Any, other: Any) -> bool:
    return one == 0 and isinstance(one, float) and copysign(1, one) != copysign(1, other)


# --- types ---------------------------------------------------------------------------------------------------------


def _difference_of_types(
    one: tuple[Any, Any], other: tuple[Any, Any], excuse: Excuse
) -> tuple[str, str, str] | None:
    """Return where the types or the state of two values differ that read the same as JSON."""
    types, other_types = _spread(one[1], one[0]), _spread(other[1], other[0])

    for each in differences_between(types, other_types, pair=_pair_types, is_other=ne):
        path = each.dotted
        mine, theirs = (
            MISSING if side is ABSENT else side for side in map(_own_type, (each.first, each.second))
        )
        is_alias = isinstance(mine, str) and isinstance(theirs, str) and is_same(mine, theirs)
        if not is_alias and not excuse(_readable(path), mine, theirs):
            break
    else:
        return None
    shown = [
        _bare_type(tree, path, value, side)
        for tree, value, side in ((types, one[0], mine), (other_types, other[0], theirs))
    ]
    if shown[0] == shown[1]:  # two types of one name
        shown = [side if isinstance(side, str) else _show(side) for side in (mine, theirs)]
    return _report(_readable(path), *shown)


def _pair_types(one: Any, other: Any) -> Pairs | None:
    """Pair the members of two trees of types: a node with a type alone is that type."""
    if isinstance(one, dict) != isinstance(other, dict) and _own_type(one) == _own_type(other):
        one, other = (
            {key: held for key, held in side.items() if key != "$is"} if isinstance(side, dict) else {}
            for side in (one, other)
        )
    if isinstance(one, dict) and isinstance(other, dict):
        return [each for each in pair_members(one, other) or () if each[1] != each[2]]
    return None


def _own_type(node: Any) -> Any:
    return node.get("$is", ABSENT) if isinstance(node, dict) else node


def _spread(types: Any, value: Any) -> Any:
    """Return a tree in which each item of a list stands for itself."""
    if not isinstance(types, dict):
        return types
    if set(types) - {"$is"} == {"*"} and isinstance(value, list):
        own = {"$is": types["$is"]} if "$is" in types else {}
        return {**own, **{str(at): _spread(types["*"], item) for at, item in enumerate(value)}}
    return {key: _spread(tree, _child(value, key)) for key, tree in types.items()}


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


def _bare_type(_types: Any, path: str, value: Any, side: Any) -> str:
    """Write one side of a difference of types; what is plain has the type that its JSON tells."""
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


def _report(path: str, one: str, other: str) -> tuple[str, str, str]:
    return path or "(value)", one, other


def _show(value: Any) -> str:
    if value is ABSENT:
        return MISSING
    text = _encode(value).decode()
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _show_texts(one: str, other: str) -> tuple[str, str]:
    """Show two strings around the place where they part."""
    if max(len(one), len(other)) <= _WIDTH - 2:
        return _show(one), _show(other)
    at = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    start = max(0, at - 40)
    lead = "…" if start else ""
    return tuple(_show(lead + text[start : start + _WIDTH]) for text in (one, other))  # type: ignore[return-value]
