"""The abstract values that the scan tells apart: what an expression may be when it runs."""

from __future__ import annotations

import ast
from typing import NamedTuple, TypeAlias

from autochron.detect.scan.flow import FlowScope, Function, Spot, is_made_command


class Known(NamedTuple):
    """An object that an import or the builtins provide, by its dotted name."""

    name: str
    node: ast.expr | None = None
    """The expression that names it, if the value comes from another place."""


class Produced(NamedTuple):
    """The result of calling a known class or function, by its dotted name: for a class, an instance of it."""

    name: str
    opened: ast.Call | None = None
    """The call, if what it has opened is read later: see `handles`."""


class Routine(NamedTuple):
    """A function or lambda of this module."""

    node: Function
    scope: FlowScope
    """The scope of its body."""


class Type(NamedTuple):
    """A class of this module."""

    scope: FlowScope


class Instance(NamedTuple):
    """An instance of a class of this module."""

    scope: FlowScope


class Set(NamedTuple):
    """A set, or an operation on views of dicts that results in one."""

    is_stable: bool = False
    """Whether its elements have the same hashes in every process, as numbers do."""
    is_empty: bool = False
    """Whether it is created empty."""


class Container(NamedTuple):
    """A list, tuple, dict or namespace that is written out in the source, with the expressions of its elements."""

    values: tuple[ast.expr, ...]
    spot: Spot
    type: str = "list"
    """`list`, also for a tuple; `dict`, `defaultdict` or `namespace`."""


class Holding(NamedTuple):
    """A container of which only the annotation says what it holds, as in `dict[str, set[str]]`."""

    values: tuple[Value, ...]
    """The values that its elements, or the values of its keys, may have."""


class PartialCall(NamedTuple):
    """A `functools.partial`: the values that it may call, and the expression that created it."""

    values: tuple[Value, ...]
    call: ast.Call


class Accessor(NamedTuple):
    """An `operator.attrgetter`, or a `methodcaller` (`is_call`), with the name of the attribute."""

    name: str
    is_call: bool


class Text(NamedTuple):
    """A string or bytes, with the value of a string that is written out."""

    value: str | None = None


class Plain(NamedTuple):
    """A value of a builtin type of which only the type matters: `int`, `list`, `dict`, `NoneType`, `keys`."""

    type: str


class Unknown(NamedTuple):
    """Any value."""

    why: str = ""


Value: TypeAlias = (
    Known
    | Produced
    | Routine
    | Type
    | Instance
    | Set
    | Container
    | Holding
    | PartialCall
    | Accessor
    | Text
    | Plain
    | Unknown
)
UNKNOWN: tuple[Value, ...] = (Unknown(),)
NUMBERS = frozenset({"int", "float", "complex", "bool"})


_SET_TYPES = frozenset({"builtins.set", "builtins.frozenset"})


def makes_set(factory: Value) -> bool:
    """Return whether a factory of missing values makes sets."""
    return isinstance(factory, Known) and factory.name in _SET_TYPES


def handles_in(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return those of some values that are read later: what a call has opened."""
    return tuple(value for value in values if isinstance(value, Produced) and value.opened is not None)


def tells_of_sets(value: Value) -> bool:
    """Return whether a value is a set, or holds sets by its annotation."""
    return isinstance(value, Set) or (isinstance(value, Holding) and any(map(tells_of_sets, value.values)))


def is_command(value: Value) -> bool:
    """Return whether a value is a function that a decorator has made a command, as click does."""
    return isinstance(value, Routine) and is_made_command(value.node)


def is_none(value: Value) -> bool:
    """Return whether a value is None."""
    return isinstance(value, Plain) and value.type == "NoneType"


def values_of_and(values: tuple[Value, ...], last: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the values that `and` may have: of what is always true, only those of the last operand."""
    return tuple(each for each in values if each in last or not _is_always_true(each))


def _is_always_true(value: Value) -> bool:
    """Return whether a value is a function, or an instance of a class that doesn't say when it is false."""
    if isinstance(value, Instance):
        return value.scope.bindings.keys().isdisjoint(("__bool__", "__len__"))
    return isinstance(value, Routine)
