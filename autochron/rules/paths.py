"""Paths into values: `options.url`, `messages.*.role`, `response.content.*[type=tool_use].name`.

The components are joined by dots. Each is a key, an attribute, an index (-1 is the last), or `*` for every element or value.
A component may have filters, `[key=value]`, that keep only values with this value under this key.

This is the only grammar of paths. Live values are read here; `envelope.paths` reads stored ones with the same steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

MISSING: Final[Any] = object()
"""What `look_up` returns if there is no such value. Not None, which is a value."""


class PathError(ValueError):
    """A path is not valid. The message is a predicate."""


class PathStep(Struct, frozen=True):
    """One component of a path."""

    key: str
    filters: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=1024)
def parse_path(text: str) -> tuple[PathStep, ...]:
    """Parse a path.

    Raises:
        PathError: it is not valid.
    """
    if not text:
        raise PathError("is empty")
    return tuple(_step(component) for component in _components(text))


def find(value: Any, steps: Sequence[PathStep], *, attributes: bool = False) -> Iterator[Any]:
    """Yield the values at a path: none, one, or several if it has a `*`.

    Args:
        value: where the path starts.
        steps: the path.
        attributes: whether attributes of objects are read, as for arguments; else only mappings and sequences are.
    """
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    for inner in _children(value, step.key, attributes=attributes):
        if all(_has(inner, key, wanted, attributes=attributes) for key, wanted in step.filters):
            yield from find(inner, rest, attributes=attributes)


def look_up(value: Any, key: str, *, attributes: bool) -> Any:
    """Return the value under a key that isn't `*`; MISSING if there is none."""
    if type(value) is dict:
        return value.get(key, MISSING)
    if isinstance(value, Mapping):
        # Not `get`: a mapping may define one with another meaning.
        return value[key] if key in value else MISSING  # noqa: SIM401
    if _is_sequence(value):
        index = index_of(key, len(value))
        if index is not None:
            return value[index]
        # Of a sequence only the fields of a namedtuple are read as attributes: `items.count` is a method.
        if key not in getattr(type(value), "_fields", ()):
            return MISSING
    # Not hasattr first: a property may be expensive, so it is read once.
    return getattr(value, key, MISSING) if attributes else MISSING


def index_of(key: str, length: int) -> int | None:
    """Return the index from 0 that a key stands for in a list of this length; None if it stands for none."""
    if not key.removeprefix("-").isdecimal():
        return None
    index = int(key) + (length if key[0] == "-" else 0)
    return index if 0 <= index < length else None


def is_plain(steps: Sequence[PathStep]) -> bool:
    """Return whether a path has neither `*` nor filters, so that it leads to one value at most."""
    return not any(step.key == "*" or step.filters for step in steps)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _children(value: Any, key: str, *, attributes: bool) -> Iterator[Any]:
    if key != "*":
        inner = look_up(value, key, attributes=attributes)
        if inner is not MISSING:
            yield inner
    elif isinstance(value, Mapping):
        yield from value.values()
    elif _is_sequence(value):
        yield from value


def _has(value: Any, key: str, wanted: str, *, attributes: bool) -> bool:
    return any(spelled(inner) == wanted for inner in _children(value, key, attributes=attributes))


def spelled(value: Any) -> str | None:
    """Return a scalar as it is written in a rule's filter; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else None


def _components(text: str) -> list[str]:
    """Split a path at the dots outside brackets."""
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


def _step(component: str) -> PathStep:
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
    return PathStep(key, tuple(filters))
