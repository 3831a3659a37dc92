"""Paths into values: `options.url`, `messages.*.role`, `response.content.*[type=tool_use].name`.

Dotted components: a key, attribute or index (-1 is the last), or `*` for every element or value. A component may be
followed by filters, `[key=value]`, that keep what it found where that has this value under this key.

This is the one grammar. Live values are read here; `envelope.paths` reads stored ones, by the same steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

MISSING: Final[Any] = object()
"""What `look_up` gives where nothing is: None is a value."""


class PathError(ValueError):
    """A path can't be read."""


class PathStep(Struct, frozen=True):
    """One component of a path."""

    key: str
    filters: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=1024)
def parse_path(text: str) -> tuple[PathStep, ...]:
    """Parse a path; PathError says what is wrong with it."""
    if not text:
        raise PathError("is empty")
    return tuple(_step(component) for component in _components(text))


def find(value: Any, steps: Sequence[PathStep], *, attributes: bool = False) -> Iterator[Any]:
    """Yield what stands at a path: nothing, one value, or with `*` several.

    `attributes` also looks into objects, for arguments; without it only mappings and sequences are read.
    """
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    for inner in _children(value, step.key, attributes=attributes):
        if all(_has(inner, key, wanted, attributes=attributes) for key, wanted in step.filters):
            yield from find(inner, rest, attributes=attributes)


def look_up(value: Any, key: str, *, attributes: bool) -> Any:
    """Return what stands under a key that isn't `*`, or MISSING."""
    if type(value) is dict:
        return value.get(key, MISSING)
    if isinstance(value, Mapping):
        # Not `get`: a mapping may have one of its own.
        return value[key] if key in value else MISSING  # noqa: SIM401
    if _is_sequence(value):
        index = index_of(key, len(value))
        if index is not None:
            return value[index]
        # Of the attributes of sequences only a namedtuple's fields: `items.count` is no value.
        if key not in getattr(type(value), "_fields", ()):
            return MISSING
    # Not hasattr: one look-up, since a property may cost something.
    return getattr(value, key, MISSING) if attributes else MISSING


def index_of(key: str, length: int) -> int | None:
    """Return the index that a key means in a list of that length; None where it means none."""
    if not key.removeprefix("-").isdecimal():
        return None
    index = int(key) + (length if key[0] == "-" else 0)
    return index if 0 <= index < length else None


def is_plain(steps: Sequence[PathStep]) -> bool:
    """Return whether a path is keys only, so that following it is one look-up a step."""
    return not any(step.key == "*" or step.filters for step in steps)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _children(value: Any, key: str, *, attributes: bool) -> Iterator[Any]:
    if key != "*":
        found = look_up(value, key, attributes=attributes)
        if found is not MISSING:
            yield found
    elif isinstance(value, Mapping):
        yield from value.values()
    elif _is_sequence(value):
        yield from value


def _has(value: Any, key: str, wanted: str, *, attributes: bool) -> bool:
    return any(spelled(found) == wanted for found in _children(value, key, attributes=attributes))


def spelled(value: Any) -> str | None:
    """Return a scalar as a rule spells it; None for anything else."""
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
