"""Find the globals, and the variables of enclosing functions, that a tool's code names and may change.

A replay that serves the call makes the same changes.

Only functions of the project are looked at, and only names in their own code: containers, objects of the program's own
classes, and names declared `global`. Changes made by other functions that the tool calls are not seen.
"""

from __future__ import annotations

import opcode
import sys
from collections import deque
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from autochron._runtime.bare import dictionary_of, slot, space_of
from autochron.envelope import objects, shapes
from autochron.weaving.cells import CELL, Cells, frame_of, named_cells

if TYPE_CHECKING:
    from types import CodeType

    from autochron.weaving.gate import Point

GLOBAL: Final = "global:"
"""Prefix of a global's name in the changes of a call."""

MOST_MEMBERS: Final = 1_000
"""Members of a container up to which it is compared at each call; of a larger one only the length is compared."""

_CONTAINERS = frozenset({dict, list, set, bytearray})


class NamedGlobals:
    """The globals, or the variables of enclosing functions, that one definition names.

    Attributes:
        space: the module's own dictionary, or the cells of the call.
        mutable: names of containers and objects that may be changed in place.
        stored: names that the code assigns.
        prefix: goes before each name in the changes of a call.
    """

    __slots__ = ("mutable", "prefix", "space", "stored")

    def __init__(
        self,
        space: dict[str, Any] | Cells,
        mutable: tuple[str, ...],
        stored: tuple[str, ...],
        prefix: str = GLOBAL,
    ) -> None:
        self.space = space
        self.mutable = mutable
        self.stored = stored
        self.prefix = prefix


def named_cells_of(point: Point) -> NamedGlobals | None:
    """Return the variables of enclosing functions that the code of a running call names; None if there are none.

    The call has to be one of the project's own functions.
    """
    frame = frame_of(point) if objects.is_own_file(point.file) else None
    mutable, stored = ((), ()) if frame is None else named_cells(frame.f_code)
    return NamedGlobals(Cells(point), mutable, stored, CELL) if mutable or stored else None


def named_globals(point: Point) -> NamedGlobals | None:
    """Return the globals that a definition of the project names and may change; None if there are none."""
    module = sys.modules.get(point.module)
    if module is None or not objects.is_own_file(point.file):
        return None
    function = _find(vars(module), point.qualname)
    if type(function) is not FunctionType or not objects.is_own_file(function.__code__.co_filename):
        return None
    code, space = function.__code__, function.__globals__
    stored = _stored(code)
    mutable = tuple(
        name
        for name in code.co_names
        if name not in stored and name in space and not name.startswith("__") and may_change(space[name])
    )
    return NamedGlobals(space, mutable, stored) if mutable or stored else None


def _find(space: Any, qualname: str) -> Any:
    """Resolve a qualified name through dictionaries, and unwrap the function; None if the name leads nowhere."""
    value: Any = None
    for part in qualname.split("."):
        value = space.get(part)
        space = space_of(value) if issubclass(type(value), type) else {}
    for _ in range(8):
        inner = value.__func__ if type(value) in _BINDING else _wrapped(value)
        if inner is None:
            break
        value = inner
    return value


_BINDING = frozenset({staticmethod, classmethod, MethodType})


def _wrapped(function: Any) -> Any:
    return slot(function, "__wrapped__") or (dictionary_of(function) or {}).get("__wrapped__")


def may_change(value: Any) -> bool:
    """Return whether a value is a container or an object whose changes are recorded."""
    kind = type(value)
    if kind in _CONTAINERS:
        return True
    if issubclass(kind, type) or callable(value):
        return False
    shape = shapes.kind_of(kind)
    if shape == "container":
        return issubclass(kind, (dict, list, set, deque))
    return shape in {"record", "pydantic", "namespace"} or (shape == "none" and objects.is_own(kind))


def _stored(code: CodeType) -> tuple[str, ...]:
    """Return the globals that a code object assigns or deletes."""
    names: dict[str, None] = {}
    extended = 0
    units = code.co_code
    for offset in range(0, len(units), 2):
        operation, argument = units[offset], units[offset + 1] | extended
        extended = argument << 8 if operation == _EXTENDED else 0
        if operation in _STORES:
            names[code.co_names[argument]] = None
    return tuple(names)


_EXTENDED = opcode.opmap["EXTENDED_ARG"]
_STORES = frozenset({opcode.opmap["STORE_GLOBAL"], opcode.opmap["DELETE_GLOBAL"]})
