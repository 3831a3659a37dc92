"""Read the attributes, slots and closure cells of objects without running code of the program."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from types import CellType, FunctionType, MemberDescriptorType
from typing import Any

from autochron._runtime.bare import dictionary_of

_HOLDERS = frozenset(
    {
        *(("queue", "Queue"), ("queue", "LifoQueue"), ("queue", "PriorityQueue")),
        *(("asyncio.queues", "Queue"), ("asyncio.queues", "LifoQueue"), ("asyncio.queues", "PriorityQueue")),
        *(("collections", "UserDict"), ("collections", "UserList"), ("collections", "ChainMap")),
        *(("types", "SimpleNamespace"), ("functools", "partial")),
    }
)
"""Classes of the standard library in which programs keep state, by module and name."""


_CONTAINERS: tuple[Any, ...] = (list, tuple, deque, set, frozenset)


def holds_state(value: Any, modules: Collection[str]) -> bool:
    """Return whether an object's attributes may be read.

    They may if its class is defined in one of these modules, or is one of `_HOLDERS`. Reading attributes of other
    objects may have side effects.
    """
    cls = type(value)
    return cls.__module__ in modules or (cls.__module__, cls.__qualname__) in _HOLDERS


def members_of(value: Any) -> list[Any] | None:
    """Return the members of a list, tuple, deque or set, bypassing the methods of its subclass; None if it is none."""
    cls = type(value)
    for base in _CONTAINERS:
        if issubclass(cls, base):
            return list(base.__iter__(value))
    return None


def raw_bytes(value: Any) -> bytes | None:
    """Return the content of bytes or a bytearray, bypassing the methods of its subclass; None if it is neither."""
    for base in (bytes, bytearray):
        if issubclass(type(value), base):
            getter: Any = base.__getitem__
            return bytes(getter(value, slice(None)))
    return None


def attributes_of(value: Any) -> dict[str, Any]:
    """Return an object's attributes and slots, bypassing its `__getattr__` and its properties."""
    attributes: dict[str, Any] = dict(dict.items(dictionary_of(value) or {}))
    for base in type(value).__mro__:
        for name, member in base.__dict__.items():
            if isinstance(member, MemberDescriptorType) and not name.startswith("__"):
                try:
                    attributes.setdefault(name, member.__get__(value))
                except AttributeError:  # not set
                    continue
    return attributes


def cells_of(function: FunctionType) -> dict[str, CellType]:
    """Return the closure cells of a function by variable name, without cells that are still empty."""
    cells = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            _ = cell.cell_contents
        except ValueError:
            continue
        cells[name] = cell
    return cells
