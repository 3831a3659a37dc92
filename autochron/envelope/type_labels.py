"""Labels for the types of values, and the values that have a type and no members."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from math import isfinite
from typing import Any

from autochron._runtime.class_table import ClassTable
from autochron.envelope import types as names


def label(kind: type) -> str:
    """Name a type; the name is the same on every version of Python."""
    return _labels.find(kind, _label)


def _label(kind: type) -> str:
    place, _, name = names.label(kind).rpartition(":")
    is_builtin = place == "builtins"
    return _ITERATORS.get(name, name) if is_builtin else f"{place.partition('._')[0]}:{name}"


_labels: ClassTable[str] = ClassTable()
names.on_root_change(_labels.forget)
_ITERATORS = {"str_ascii_iterator": "str_iterator", "longrange_iterator": "range_iterator"}


def _float(value: float) -> str | None:
    return None if isfinite(value) else float.__repr__(value)


def _text(value: str) -> str | None:
    if value.isascii():
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        # Lone surrogates: the canonical form writes an escape, and another text may consist of the same characters.
        return f"str {value.encode('unicode_escape').decode()}"
    return None


def _large_int(value: int) -> str | None:
    return None if -(2**63) <= value < 2**64 else "int"


def _moment(value: Any) -> str:
    """Return the type of a datetime or a time, with what its text does not contain: the zone's name, and the fold."""
    name = label(type(value))
    if value.tzinfo is not None and type(value.tzinfo).__name__ == "ZoneInfo":
        name += f" in {value.tzinfo.key}"
    elif value.tzinfo is not None and type(value.tzinfo) is not _timezone():
        name += f" in {label(type(value.tzinfo))}"
    return f"{name} fold=1" if value.fold else name


def _timezone() -> Any:
    return sys.modules["datetime"].timezone


def _of_datetime(value: Any) -> str:
    return _moment(value) if hasattr(value, "tzinfo") else label(type(value))


VALUES: dict[str, Callable[[Any], str]] = {
    "datetime": _of_datetime,
    **dict.fromkeys(
        ("decimal", "uuid", "fractions", "zoneinfo", "pathlib", "pathlib._local"),
        lambda value: label(type(value)),
    ),
}
"""Library types that the canonical form writes as text, by module: each function returns the tree of a value."""


SCALARS: dict[type, Callable[[Any], str | None]] = {
    str: _text,
    int: _large_int,
    bool: lambda _: None,
    type(None): lambda _: None,
    float: _float,
    bytes: lambda _: "bytes",
    bytearray: lambda _: "bytearray",
    complex: lambda value: f"complex {value!r}",
    range: lambda _: "range",
    slice: lambda _: "slice",
    type(Ellipsis): lambda _: "ellipsis",
    type(NotImplemented): lambda _: "NotImplementedType",
    types.ModuleType: lambda _: None,
}
"""Types without members: each function returns the tree of a value, None where it is plain JSON."""
