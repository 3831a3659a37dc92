"""Stored values in short, as people would write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ENOUGH = 240
"""Characters of a value that are written, at most about: more than fit in a line."""

_LISTS = {"$tuple": "()", "$set": "{}", "$frozenset": "{}"}


def brief(value: Any, *, bare: bool = False) -> str:
    """Return the beginning of a stored value as people would write it.

    Args:
        value: decoded JSON with tags.
        bare: whether the braces around an object are left out.
    """
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
    """Yield the text of a tagged object."""
    content = value[tag]
    if tag in _LISTS and isinstance(content, list):
        yield from _enclosed(_LISTS[tag], _items(content, depth))
    elif tag == "$dict" and isinstance(content, list):
        yield from _enclosed("{}", _items(content, depth))
    elif tag == "$type":
        yield str(content).rpartition(":")[2]
        fields = {key: item for key, item in value.items() if key[:1] != "$"}
        yield from _enclosed("()", _members(fields or {"": value.get("$type.value", "")}, depth))
    elif tag == "$error":
        yield str(content).rpartition(":")[2]
        args = value.get("args")
        if isinstance(args, list) and args:
            yield ": "
            yield from (args[0][:ENOUGH],) if isinstance(args[0], str) else _items(args, depth)
    elif tag == "$opaque":
        yield f"<{str(content).rpartition(':')[2]}>"
    elif tag == "$cycle":
        yield "<cycle>" if content is True else f"<cycle {content}>"
    else:
        yield from (str(content),) if isinstance(content, str) else _pieces(content, depth - 1)


def _items(values: list[Any], depth: int) -> Iterator[str]:
    for index, item in enumerate(values):
        if index:
            yield ", "
        yield from _pieces(item, depth - 1)


def _members(value: dict[str, Any], depth: int = 12) -> Iterator[str]:
    for index, (key, item) in enumerate(value.items()):
        if index:
            yield ", "
        if key:
            yield f"{key}: "
        yield from _pieces(item, depth - 1)


def _enclosed(pair: str, inner: Iterator[str]) -> Iterator[str]:
    yield pair[0]
    yield from inner
    yield pair[1]
