"""The trees of functions that hold nothing which can change, kept so that each call need not make them again."""

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
    """The tree of a function that holds nothing which can change, and what it held then; it must not hold the function."""

    __slots__ = ("_cells", "_code", "_defaults", "_functions", "_named", "_state", "tree")

    def __init__(self, function: types.FunctionType, cells: dict[str, Any], tree: Tree | None) -> None:
        self.tree = tree
        self._code, self._defaults = function.__code__, function.__defaults__
        self._named = dict(function.__kwdefaults__ or {})
        self._cells = cells
        self._state = dict(vars(function))
        self._functions = [each for each in _held_by(function, cells) if type(each) is types.FunctionType]

    def is_as_it_was(self, function: types.FunctionType, cells: dict[str, Any]) -> bool:
        """Return whether the function holds the very same objects."""
        return (
            function.__code__ is self._code
            and function.__defaults__ is self._defaults
            and _are_the_same(function.__kwdefaults__ or {}, self._named)
            and _are_the_same(cells, self._cells)
            and _are_the_same(vars(function), self._state)
            and all(known(each, cells_of(each)) for each in self._functions)
        )


_functions: WeakKeyDictionary[types.FunctionType, _FunctionTree] = WeakKeyDictionary()


def _forget() -> None:
    if _functions.data:  # type: ignore[attr-defined]
        _functions.clear()


names.on_root_change(_forget)


def known(function: types.FunctionType, cells: dict[str, Any]) -> _FunctionTree | None:
    """Return what was kept of a function, with its `tree`; None where nothing was, or the function holds something else."""
    kept = _functions.get(function)
    return kept if kept is not None and kept.is_as_it_was(function, cells) else None


def keep(function: types.FunctionType, cells: dict[str, Any], tree: Tree | None) -> None:
    """Keep the tree of a function if nothing can change in it."""
    if _is_still(function, cells):
        _functions[function] = _FunctionTree(function, cells, tree)


def _are_the_same(some: dict[str, Any], others: dict[str, Any]) -> bool:
    if not some and not others:
        return True
    return len(some) == len(others) and all(
        name in others and others[name] is value for name, value in some.items()
    )


def cells_of(function: types.FunctionType) -> dict[str, Any]:
    """Return what the closure of a function holds, by the names of its variables."""
    cells: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            continue
    return cells


def _is_still(function: types.FunctionType, cells: dict[str, Any]) -> bool:
    """Return whether a function holds nothing that can change, and nothing that may hold the function."""
    return all(type(each) in _UNCHANGING or _is_lasting(each) for each in _held_by(function, cells))


_UNCHANGING = SCALARS.keys() - {bytearray, slice}


def _held_by(function: types.FunctionType, cells: dict[str, Any]) -> list[Any]:
    return [
        *cells.values(),
        *(function.__defaults__ or ()),
        *(function.__kwdefaults__ or {}).values(),
        *vars(function).values(),
    ]


def _is_lasting(value: Any) -> bool:
    """Return whether this is a class that is there for good, a member of an enumeration that is, or a function like that."""
    kind = type(value)
    if kind is types.FunctionType:
        return known(value, cells_of(value)) is not None
    if issubclass(kind, Enum):
        return lasts(kind) and type(value._value_) in _UNCHANGING
    return issubclass(kind, type) and lasts(value)
