"""The symbols that stand for values while an extractor is followed."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias


class UnsayableError(ValueError):
    """An extractor keeps something that `capture` can't say.

    Attributes:
        line: the line of the extractor's source, counted from its first as 1.
        reason: a clause such as "it keeps a part of `items` that depends on a value".
    """

    def __init__(self, node: ast.AST, reason: str) -> None:
        super().__init__(reason)
        self.line: int = getattr(node, "lineno", 1)
        self.reason = reason


class Raises(Exception):  # noqa: N818 - this is the outcome of a way of calling, and no error of ours
    """The extractor raises for this way of passing the arguments, so the call never crossed a boundary."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of the marked function."""

    name: str
    kind: str
    """`positional`, `either`, `keyword`, `*` or `**`."""
    annotation: str = ""
    """The outermost type of its annotation, such as `dict`; empty where there is none."""
    has_default: bool = False


@dataclass(frozen=True)
class KnownValue:
    """A value that the source shows."""

    value: Any


@dataclass(frozen=True)
class ArgumentPart:
    """An argument of the marked function, or a part of one."""

    path: str


@dataclass(frozen=True)
class Computed:
    """A value that is computed from arguments; a constant of the module if there are none."""

    paths: frozenset[str] = frozenset()


@dataclass
class Mapped:
    """A dictionary of known keys; `spread` are arguments whose items it has besides."""

    items: dict[str, Symbol] = field(default_factory=dict)
    spread: list[Symbol] = field(default_factory=list)


@dataclass
class Listed:
    """A list or a tuple of known length."""

    items: list[Symbol]


@dataclass(frozen=True)
class Kept:
    """What the extractor returns: an `Input`."""

    arguments: Symbol
    messages: Symbol


Symbol: TypeAlias = KnownValue | ArgumentPart | Computed | Mapped | Listed | Kept

ABSENT: Final = KnownValue(None)


class InputNames:
    """What names mean in the extractor's module.

    Attributes:
        inputs: dotted names of Chronicle's `Input`, as the module writes them.
        constants: names of the module that are assigned once, at its top, and their values where they are literals.
        functions: functions of the module, which the extractor may call.
        records: dotted names of Chronicle's other data classes, whose objects are followed as dictionaries.
    """

    def __init__(
        self,
        inputs: frozenset[str],
        constants: dict[str, Any],
        functions: dict[str, ast.FunctionDef],
        records: frozenset[str] = frozenset(),
    ) -> None:
        self.inputs = inputs
        self.constants = constants
        self.functions = functions
        self.records = records


UNKNOWN: Final = object()
"""The value of a constant whose value is no literal."""


def is_empty(value: Symbol) -> bool:
    """Return whether a value is known to be empty or None."""
    match value:
        case KnownValue(known):
            return not known
        case Mapped(items, spread):
            return not items and not spread
        case Listed(items):
            return not items
    return False


def computed_from(node: ast.AST, *values: Symbol) -> Symbol:
    """Return a value that is computed from others."""
    paths: set[str] = set()
    for value in values:
        match value:
            case KnownValue():
                pass
            case ArgumentPart(path):
                paths.add(path)
            case Computed(others):
                paths |= others
            case Listed(items):
                inner = computed_from(node, *items)
                paths |= inner.paths if isinstance(inner, Computed) else set()
            case Mapped(items, spread):
                inner = computed_from(node, *items.values(), *spread)
                paths |= inner.paths if isinstance(inner, Computed) else set()
            case _:
                raise UnsayableError(node, "it computes with a value that isn't followed")
    return Computed(frozenset(paths))


def path_below(node: ast.AST, path: str, key: str) -> str:
    """Return the path of a part, if a path can have this key."""
    if not key or any(character in ".[]*" or character.isspace() for character in key):
        raise UnsayableError(node, f"it keeps the part `{key}` of `{path}`, and no path can have that key")
    return f"{path}.{key}"
