"""The first place where two canonical inputs differ."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from typing import Any, TypeAlias

import msgspec

from autochron.envelope import type_trees
from autochron.envelope.tags import join
from autochron.envelope.types import is_same

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
    return _difference(one, other, "", excuse or _unexcused)


def _unexcused(_path: str, _one: Any, _other: Any) -> bool:
    return False


def _difference(one: Any, other: Any, path: str, excuse: Excuse) -> tuple[str, str, str] | None:
    if type(one) is not type(other):
        return None if excuse(path, one, other) else _report(path, _show(one), _show(other))
    if isinstance(one, dict):
        return _difference_of_objects(one, other, path, excuse)
    if isinstance(one, list):
        for index, (mine, theirs) in enumerate(zip(one, other, strict=False)):
            found = _difference(mine, theirs, join(path, index), excuse)
            if found:
                return found
        return _difference_of_lengths(one, other, path)
    if (one == other and not _are_other_zeros(one, other)) or excuse(path, one, other):
        return None
    if isinstance(one, str):
        return _report(path, *_show_texts(one, other))
    return _report(path, _show(one), _show(other))


def _are_other_zeros(one: Any, other: Any) -> bool:
    return one == 0 and isinstance(one, float) and copysign(1, one) != copysign(1, other)


# --- types ---------------------------------------------------------------------------------------------------------


def _difference_of_types(
    one: tuple[Any, Any], other: tuple[Any, Any], excuse: Excuse
) -> tuple[str, str, str] | None:
    """Return where the types or the state of two values differ that read the same as JSON."""
    types, other_types = _spread(one[1], one[0]), _spread(other[1], other[0])

    def is_same_type(path: str, mine: Any, theirs: Any) -> bool:
        if isinstance(mine, str) and isinstance(theirs, str) and is_same(mine, theirs):
            return True
        return excuse(_readable(path), mine, theirs)

    found = _difference_of_trees(types, other_types, "", is_same_type)
    if found is None:
        return None
    path, mine, theirs = found
    shown = [
        _bare_type(tree, path, value, side)
        for tree, value, side in ((types, one[0], mine), (other_types, other[0], theirs))
    ]
    if shown[0] == shown[1]:  # two types of one name
        shown = [side if isinstance(side, str) else _show(side) for side in (mine, theirs)]
    return _report(_readable(path), *shown)


def _difference_of_trees(one: Any, other: Any, path: str, excuse: Excuse) -> tuple[str, Any, Any] | None:
    """Return (path, one, other) with the values as they are: a node with a type alone is that type."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            mine, theirs = one.get(key, MISSING), other.get(key, MISSING)
            if mine != theirs and (found := _difference_of_trees(mine, theirs, join(path, key), excuse)):
                return found
        return None
    mine, theirs = (side.get("$is", MISSING) if isinstance(side, dict) else side for side in (one, other))
    if isinstance(one, dict) != isinstance(other, dict) and mine == theirs:
        rest = {key: held for key, held in (one if isinstance(one, dict) else other).items() if key != "$is"}
        sides = (rest, {}) if isinstance(one, dict) else ({}, rest)
        return _difference_of_trees(*sides, path, excuse)
    if one == other or excuse(path, mine, theirs):
        return None
    return path, mine, theirs


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


def _difference_of_objects(
    one: dict[str, Any], other: dict[str, Any], path: str, excuse: Excuse
) -> tuple[str, str, str] | None:
    for key in [*one, *(key for key in other if key not in one)]:
        if key in one and key in other:
            found = _difference(one[key], other[key], join(path, key), excuse)
            if found:
                return found
        elif not excuse(join(path, key), one.get(key, MISSING), other.get(key, MISSING)):
            mine, theirs = (_show(side[key]) if key in side else MISSING for side in (one, other))
            return _report(join(path, key), mine, theirs)
    return None


def _difference_of_lengths(one: list[Any], other: list[Any], path: str) -> tuple[str, str, str] | None:
    if len(one) == len(other):
        return None
    shared = min(len(one), len(other))
    mine = _show(one[shared]) if len(one) > shared else MISSING
    theirs = _show(other[shared]) if len(other) > shared else MISSING
    return _report(join(path, shared), mine, theirs)


def _report(path: str, one: str, other: str) -> tuple[str, str, str]:
    return path or "(value)", one, other


def _show(value: Any) -> str:
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
