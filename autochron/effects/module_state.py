"""Read the state of a program's modules as plain data: globals, class attributes, closures and environment variables.

A tool may keep its results in a list of its module, in a class, or in an object that a global names. This state is
compared before and after a live crossing. `module_backup` restores it between the tests of one process.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator
from enum import Enum
from types import FunctionType, MethodType, ModuleType
from typing import Any

from autochron._runtime.bare import key_text
from autochron._runtime.unpatched import os
from autochron.effects.changes import members
from autochron.effects.held import attributes_of, cells_of, holds_state
from autochron.model import StateEffect

MOST = 20_000
"""Most values that one reading visits. Further values are not compared."""

_PLAIN = (str, int, float, bool, type(None), complex)
_REPEATABLE = frozenset({"itertools", "datetime", "decimal", "uuid", "fractions"})
"""Modules whose objects have all of their state in their `repr`."""
_VALUES = frozenset(
    {
        *(
            "float",
            "complex",
            "bytes",
            "datetime",
            "date",
            "time",
            "timedelta",
            "timezone",
            "Decimal",
            "UUID",
        ),
        "Fraction",
    }
)
"""Classes of values that can't change. A reader of values returns them as they are."""
_CODE = (FunctionType, MethodType, ModuleType, staticmethod, classmethod, property)
_DEPTH = 12
"""Deepest nesting that is read."""


class ModuleState:
    """Reports the changes of the state of the project's modules between two calls."""

    def __init__(self, owns: Callable[[str], bool], name: Callable[[str], str]) -> None:
        """Set up, without reading anything yet.

        Args:
            owns: returns whether a file is the project's.
            name: returns the name of a file in reports.
        """
        self._owns = owns
        self._name = name
        self._seen: dict[str, Any] = {}
        self.is_cut = False
        """Whether there are more values than one reading visits."""

    def changes(self) -> list[StateEffect]:
        """Return the changes since the last call. The first call returns no changes."""
        before, self._seen = self._seen, self._read(keeps_values=False)
        effects: list[StateEffect] = []
        modules = {_file_of(place) for place in before}
        for place, current in self._seen.items():
            if place in before:
                if before[place] != current:
                    effects += members(place, before[place], current)
            elif _file_of(place) in modules:  # otherwise the module was imported since the last call
                effects += members(place, [], [current])
        return effects

    def read(self) -> dict[str, Any]:
        """Return the state now as plain data, by place: `tools.py:refunds`. Numbers, dates and bytes keep their types."""
        return self._read(keeps_values=True)

    def _read(self, *, keeps_values: bool) -> dict[str, Any]:
        modules = list(project_modules(self._owns))
        reader = _StateReader({module.__name__ for module in modules}, keeps_values=keeps_values)
        state: dict[str, Any] = {}
        for module in modules:
            file = self._name(str(module.__file__))
            for name, value in list(vars(module).items()):
                if name.startswith("__"):
                    continue
                if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                    state[f"{file}:{name}"] = reader.of_function(value)
                if isinstance(value, _CODE) and not isinstance(value, MethodType):
                    continue
                if isinstance(value, type):
                    if value.__module__ == module.__name__:
                        state |= {
                            f"{file}:{name}.{key}": attribute
                            for key, attribute in reader.attributes(value, 0).items()
                        }
                    continue
                data = reader.read(value, 0)
                if data is not NOT_DATA:
                    state[f"{file}:{name}"] = data
        state["os.environ"] = {
            name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")
        }
        self.is_cut = self.is_cut or reader.left <= 0
        return state


def _file_of(place: str) -> str:
    """Return the file part of a place such as `tools.py:CACHE`."""
    return place.rpartition(":")[0]


def project_modules(owns: Callable[[str], bool]) -> Iterator[ModuleType]:
    """Yield the imported modules that are the project's."""
    seen: set[int] = set()
    for module in list(sys.modules.values()):
        file = module.__dict__.get("__file__") if type(module) is ModuleType else None
        if isinstance(file, str) and id(module) not in seen and owns(file):
            seen.add(id(module))
            yield module


NOT_DATA: Any = type("NotData", (), {"__slots__": ()})()
"""Stands for a value that is no data, such as a lock."""


def _is_value(cls: type) -> bool:
    return cls.__name__ in _VALUES and (cls.__module__ == "builtins" or cls.__module__ in _REPEATABLE)


class _StateReader:
    """Converts values to JSON-like data. A reader is used for one reading of all modules."""

    def __init__(self, modules: Collection[str], *, keeps_values: bool) -> None:
        """Make one.

        Args:
            modules: only objects whose classes these define are read: reading attributes of others may have side effects.
            keeps_values: whether a number, a date or the like stays the value that it is, and does not become a text.
        """
        self._modules = modules
        self._keeps_values = keeps_values
        self.left = MOST
        """How many values may still be visited."""
        self._open: set[int] = set()

    def read(self, value: Any, depth: int) -> Any:
        """Return a value as data; NOT_DATA if it is none, is too deep or contains itself."""
        if isinstance(value, Enum):
            return repr(value)
        if self._keeps_values and _is_value(type(value)):
            return value
        if isinstance(value, _PLAIN):
            return repr(value) if isinstance(value, (float, complex)) else value
        if self.left <= 0 or depth > _DEPTH or id(value) in self._open:
            return NOT_DATA
        self.left -= 1
        self._open.add(id(value))
        try:
            return self._inner(value, depth + 1)
        finally:
            self._open.discard(id(value))

    def _inner(self, value: Any, depth: int) -> Any:
        cls = type(value)
        if isinstance(value, dict):
            # `list` copies first, because another thread may add to it.
            return {key_text(key): self._shown(item, depth) for key, item in list(value.items())}
        if isinstance(value, (list, tuple, deque)):
            return [self._shown(item, depth) for item in list(value)]
        if isinstance(value, (set, frozenset)):
            members_data = [self._shown(item, depth) for item in list(value)]
            return sorted(members_data if self._keeps_values else map(repr, members_data), key=repr)
        if isinstance(value, (bytes, bytearray)):
            return repr(bytes(value))
        if cls.__module__ == "array":
            return list(value)
        if cls.__module__ in _REPEATABLE:
            return repr(value)
        if isinstance(value, MethodType):
            return self.read(value.__self__, depth)
        if isinstance(value, FunctionType) and value.__module__ in self._modules:
            return self.of_function(value, depth) or NOT_DATA
        if isinstance(value, (*_CODE, type)) or not holds_state(value, self._modules):
            return NOT_DATA  # a lock, a logger, a connection, an SDK's client
        return self.attributes(value, depth)

    def of_function(self, function: FunctionType, depth: int = 0) -> dict[str, Any]:
        """Return a function's defaults, attributes and closure as data, without those that are empty."""
        parts = {
            "defaults": [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()],
            "attributes": {
                name: value for name, value in vars(function).items() if not name.startswith("__")
            },
            "closure": {name: cell.cell_contents for name, cell in cells_of(function).items()},
        }
        return {
            key: data
            for key, value in parts.items()
            if value and (data := self.read(value, depth)) is not NOT_DATA
        }

    def attributes(self, value: Any, depth: int) -> dict[str, Any]:
        """Return the attributes of an object or a class as data."""
        is_class = isinstance(value, type)
        namespace = type.__getattribute__(value, "__dict__") if is_class else attributes_of(value)
        data: dict[str, Any] = {}
        for name, member in namespace.items():
            if not name.startswith("__"):
                member_data = self.read(member, depth)
                if member_data is not NOT_DATA:
                    data[name] = member_data
        return data

    def _shown(self, value: Any, depth: int) -> Any:
        data = self.read(value, depth)
        return f"<{type(value).__qualname__}>" if data is NOT_DATA else data
