"""Paths into values: `options.url`, `messages.*.role`, `response.content.*[type=tool_use].name`.

Dotted components: a key, attribute or index, or `*` for every element or value. A component may be
followed by filters, `[key=value]`, that keep what it found where that has this value under this key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct


class PathError(ValueError):
    """A path can't be read."""


class Step(Struct, frozen=True):
    """One component of a path."""

    key: str
    filters: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=1024)
def parse_path(text: str) -> tuple[Step, ...]:
    """Parse a path; PathError says what is wrong with it."""
    if not text:
        raise PathError("is empty")
    return tuple(_step(component) for component in _components(text))


def find(value: Any, steps: Sequence[Step], *, attributes: bool = False) -> Iterator[Any]:
    """Give what stands at a path: nothing, one value, or with `*` several.

    `attributes` also looks into objects, for arguments; without it only mappings and sequences are read.
    """
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    for inner in _children(value, step.key, attributes=attributes):
        if all(_has(inner, key, wanted, attributes=attributes) for key, wanted in step.filters):
            yield from find(inner, rest, attributes=attributes)


def _children(value: Any, key: str, *, attributes: bool) -> Iterator[Any]:
    if isinstance(value, Mapping):
        if key == "*":
            yield from value.values()
        elif key in value:
            yield value[key]
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        if key == "*":
            yield from value
        elif key.isdecimal() and int(key) < len(value):
            yield value[int(key)]
    elif attributes and key != "*":
        # Not hasattr: one look-up, since a property may cost something.
        missing = object()
        found = getattr(value, key, missing)
        if found is not missing:
            yield found


def _has(value: Any, key: str, wanted: str, *, attributes: bool) -> bool:
    return any(spelled(found) == wanted for found in _children(value, key, attributes=attributes))


def spelled(value: Any) -> str | None:
    """Give a scalar as a rule spells it; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else None


def _components(text: str) -> list[str]:
    """Split at the dots outside brackets."""
    components, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth not in {0, 1}:
            raise PathError("has brackets that don't pair")
        if character == "." and not depth:
            components.append("")
        else:
            components[-1] += character
    if depth:
        raise PathError("has brackets that don't pair")
    return components


def _step(component: str) -> Step:
    key, *brackets = component.split("[")
    if not key:
        raise PathError("has an empty component")
    if any(character.isspace() for character in key):
        raise PathError(f"holds a space in `{key}`")
    if "*" in key and key != "*":
        raise PathError(f"holds `{key}`; `*` stands alone between the dots")
    filters = []
    for bracket in brackets:
        name, equals, value = bracket.removesuffix("]").partition("=")
        if not bracket.endswith("]") or not (equals and name and value):
            raise PathError(f"holds `[{bracket}`; a filter is `[key=value]`")
        filters.append((name, value))
    return Step(key, tuple(filters))
