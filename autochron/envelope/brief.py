"""A stored value as people would write it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ENOUGH = 240
"""Characters of a value that are looked at: more than stands in a line."""

_LISTS = {"$tuple": "()", "$set": "{}", "$frozenset": "{}"}


def brief(value: Any, *, bare: bool = False) -> str:
    """Write the beginning of a stored value as people would; `bare` leaves the braces of an object away."""
    text = ""
    for piece in _members(value) if bare else _pieces(value):
        text += piece
        if len(text) > ENOUGH:
            break
    return text


def _pieces(value: Any, depth: int = 12) -> Iterator[str]:
    if isinstance(value, str):
        yield f'"{value[:ENOUGH]}"'
    elif isinstance(value, list | dict) and not depth:
        yield "…"
    elif isinstance(value, list):
        yield from _enclosed("[]", _items(value, depth))
    elif isinstance(value, dict):
        tag = next(iter(value), "")
        if tag[:1] == "$":
            yield from _tagged(tag, value, depth)
        else:
            yield from _enclosed("{}", _members(value, depth))
    else:
        yield str(value)


def _tagged(tag: str, value: dict[str, Any], depth: int) -> Iterator[str]:
    """Write what the codec keeps beside plain JSON."""
    held = value[tag]
    if tag in _LISTS and isinstance(held, list):
        yield from _enclosed(_LISTS[tag], _items(held, depth))
    elif tag == "$dict" and isinstance(held, list):
        yield from _enclosed("{}", _items(held, depth))
    elif tag == "$type":
        yield str(held).rpartition(":")[2]
        fields = {key: item for key, item in value.items() if key[:1] != "$"}
        yield from _enclosed("()", _members(fields or {"": value.get("$type.value", "")}, depth))
    elif tag == "$error":
        yield str(held).rpartition(":")[2]
        args = value.get("args")
        if isinstance(args, list) and args:
            yield ": "
            yield from (args[0][:ENOUGH],) if isinstance(args[0], str) else _items(args, depth)
    elif tag == "$opaque":
        yield f"<{str(held).rpartition(':')[2]}>"
    else:
        yield from (str(held),) if isinstance(held, str) else _pieces(held, depth - 1)


def _items(values: list[Any], depth: int) -> Iterator[str]:
    for at, item in enumerate(values):
        if at:
            yield ", "
        yield from _pieces(item, depth - 1)


def _members(value: dict[str, Any], depth: int = 12) -> Iterator[str]:
    for at, (key, item) in enumerate(value.items()):
        if at:
            yield ", "
        if key:
            yield f"{key}: "
        yield from _pieces(item, depth - 1)


def _enclosed(pair: str, inner: Iterator[str]) -> Iterator[str]:
    yield pair[0]
    yield from inner
    yield pair[1]
