"""What an expression may be worth, as far as the scan tells values apart."""

from __future__ import annotations

import ast
from typing import NamedTuple, TypeAlias

from autochron.detect.scan.flow import FlowScope, Function, Spot


class Known(NamedTuple):
    """Something that an import or the builtins give, by its dotted name."""

    name: str
    at: ast.expr | None = None
    """The expression that says so, where it was handed on from there."""


class Made(NamedTuple):
    """An instance of a class that is known by name, or what such a function gave."""

    name: str


class Routine(NamedTuple):
    """A function or lambda of this module."""

    node: Function
    scope: FlowScope
    """The one that it opens."""


class Type(NamedTuple):
    """A class of this module."""

    scope: FlowScope


class Instance(NamedTuple):
    """An instance of a class of this module."""

    scope: FlowScope


class Set(NamedTuple):
    """A set, or an operation on views of dicts that gives one."""

    is_stable: bool = False
    """Whether its elements hash alike in every process: numbers."""
    is_empty: bool = False
    """Whether it is empty where it is made."""


class Held(NamedTuple):
    """A list, tuple or dict that is written out, with what it holds."""

    values: tuple[ast.expr, ...]
    spot: Spot
    type: str = "list"


class Bound(NamedTuple):
    """A call that waits: `partial`."""

    values: tuple[Value, ...]
    call: ast.Call


class Accessor(NamedTuple):
    """What gets an attribute of what it is called with, and maybe calls that: of `operator`."""

    name: str
    is_call: bool


class Text(NamedTuple):
    """A string or bytes; its value where that is written out."""

    value: str | None = None


class Plain(NamedTuple):
    """A value of a builtin type that is of no further interest: `int`, `list`, `dict`, `NoneType`, `keys`."""

    type: str


class Unknown(NamedTuple):
    """Anything."""

    why: str = ""


Value: TypeAlias = (
    Known | Made | Routine | Type | Instance | Set | Held | Bound | Accessor | Text | Plain | Unknown
)
UNKNOWN: tuple[Value, ...] = (Unknown(),)
NUMBERS = frozenset({"int", "float", "complex", "bool"})
