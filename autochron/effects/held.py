"""What objects hold beside their code: attributes, slots, the cells of closures. To look runs no code of the program."""

from __future__ import annotations

from collections.abc import Collection
from types import CellType, FunctionType, MemberDescriptorType
from typing import Any

_HOLDERS = frozenset(
    {
        *(("queue", "Queue"), ("queue", "LifoQueue"), ("queue", "PriorityQueue")),
        *(("asyncio.queues", "Queue"), ("asyncio.queues", "LifoQueue"), ("asyncio.queues", "PriorityQueue")),
        *(("collections", "UserDict"), ("collections", "UserList"), ("collections", "ChainMap")),
        *(("types", "SimpleNamespace"), ("functools", "partial")),
    }
)
"""Classes of the standard library whose objects programs keep their state in, by module and name."""


def holds_state(value: Any, modules: Collection[str]) -> bool:
    """Return whether an object's attributes may be looked at: one of these modules' own, or a holder of the library's.

    Of other objects it is not known what looking at them does.
    """
    cls = type(value)
    return cls.__module__ in modules or (cls.__module__, cls.__qualname__) in _HOLDERS


def attributes_of(value: Any) -> dict[str, Any]:
    """Return what an object holds, past its own `__getattr__` and properties."""
    held: dict[str, Any] = {}
    try:
        held |= object.__getattribute__(value, "__dict__")
    except AttributeError:
        pass
    for base in type(value).__mro__:
        for name, member in base.__dict__.items():
            if isinstance(member, MemberDescriptorType) and not name.startswith("__"):
                try:
                    held.setdefault(name, member.__get__(value))
                except AttributeError:  # not set
                    continue
    return held


def cells_of(function: FunctionType) -> dict[str, CellType]:
    """Return the cells of what a function closes over, by name, without those that are empty yet."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            _ = cell.cell_contents
        except ValueError:
            continue
        found[name] = cell
    return found
