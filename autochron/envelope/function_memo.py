"""The trees of functions that hold nothing mutable, kept so that they are not made again at each call."""

from __future__ import annotations

import types
from enum import Enum
from typing import Any
from weakref import WeakKeyDictionary

from autochron._runtime.class_table import lasts
from autochron.envelope import types as names
from autochron.envelope.type_labels import SCALARS
from autochron.envelope.type_trees import Tree


class _FunctionTree:
    """The tree of a function that holds nothing mutable, and what it held then. It has no reference to the function."""

    __slots__ = ("_cells", "_code", "_defaults", "_functions", "_named", "_state", "tree")

    def __init__(self, function: types.FunctionType, cells: dict[str, Any], tree: Tree | None) -> None:
        self.tree = tree
        self._code, self._defaults = function.__code__, function.__defaults__
        self._named = dict(function.__kwdefaults__ or {})
        self._cells = cells
        self._state = dict(vars(function))
        self._functions = [item for item in _contents(function, cells) if type(item) is types.FunctionType]

    def is_as_it_was(self, function: types.FunctionType, cells: dict[str, Any]) -> bool:
        """Return whether the function still holds the very same objects."""
        return (
            function.__code__ is self._code
            and function.__defaults__ is self._defaults
            and _are_the_same(function.__kwdefaults__ or {}, self._named)
            and _are_the_same(cells, self._cells)
            and _are_the_same(vars(function), self._state)
            and all(known(inner, cells_of(inner)) for inner in self._functions)
        )


_functions: WeakKeyDictionary[types.FunctionType, _FunctionTree] = WeakKeyDictionary()


def _forget() -> None:
    if _functions.data:  # type: ignore[attr-defined]
        _functions.clear()


names.on_root_change(_forget)


def known(function: types.FunctionType, cells: dict[str, Any]) -> _FunctionTree | None:
    """Return what is kept of a function, with its `tree`; None where nothing is kept, or the function has changed."""
    kept = _functions.get(function)
    return kept if kept is not None and kept.is_as_it_was(function, cells) else None


def keep(function: types.FunctionType, cells: dict[str, Any], tree: Tree | None) -> None:
    """Keep the tree of a function if the function holds nothing mutable.

    Args:
        function: the function.
        cells: the contents of its closure, see `cells_of`.
        tree: its tree; None where it is plain.
    """
    if _is_constant(function, cells):
        _functions[function] = _FunctionTree(function, cells, tree)


def _are_the_same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    if not first and not second:
        return True
    return len(first) == len(second) and all(
        name in second and second[name] is value for name, value in first.items()
    )


def cells_of(function: types.FunctionType) -> dict[str, Any]:
    """Return the contents of a function's closure by the names of its variables."""
    cells: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            continue
    return cells


def _is_constant(function: types.FunctionType, cells: dict[str, Any]) -> bool:
    """Return whether a function holds nothing mutable, and nothing that may refer to the function."""
    return all(type(item) in _UNCHANGING or _is_lasting(item) for item in _contents(function, cells))


_UNCHANGING = SCALARS.keys() - {bytearray, slice}


def _contents(function: types.FunctionType, cells: dict[str, Any]) -> list[Any]:
    return [
        *cells.values(),
        *(function.__defaults__ or ()),
        *(function.__kwdefaults__ or {}).values(),
        *vars(function).values(),
    ]


def _is_lasting(value: Any) -> bool:
    """Return whether a value can't change: a class that is never collected, its enumeration member, a kept function."""
    kind = type(value)
    if kind is types.FunctionType:
        return known(value, cells_of(value)) is not None
    if issubclass(kind, Enum):
        return lasts(kind) and type(value._value_) in _UNCHANGING
    return issubclass(kind, type) and lasts(value)
