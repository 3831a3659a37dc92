"""The state of a program's modules: what their globals and class attributes hold, as plain data.

A tool may keep what it did in a list of its module, in a class, or behind an object that a global names. That is compared
before and after a live crossing, and put back between the tests of one process.
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
"""Values that are looked at; what lies beyond is not compared."""

_PLAIN = (str, int, float, bool, type(None), complex)
_CODE = (FunctionType, MethodType, ModuleType, staticmethod, classmethod, property)
_DEPTH = 12


class ModuleState:
    """The state of the project's modules, each time that it is looked at."""

    def __init__(self, owns: Callable[[str], bool], name: Callable[[str], str]) -> None:
        """Take which files are the project's, and how they are named to people."""
        self._owns = owns
        self._name = name
        self._seen: dict[str, Any] = {}

    def changes(self) -> list[StateEffect]:
        """List what is other than at the last call, and remember how it is now; nothing at the first one."""
        before, self._seen = self._seen, self._read()
        found: list[StateEffect] = []
        modules = {_file_of(place) for place in before}
        for place, now in self._seen.items():
            if place in before:
                if before[place] != now:
                    found += members(place, before[place], now)
            elif _file_of(place) in modules:  # else the module was imported just now
                found += members(place, [], [now])
        return found

    def _read(self) -> dict[str, Any]:
        modules = list(project_modules(self._owns))
        reader = _StateReader({module.__name__ for module in modules})
        found: dict[str, Any] = {}
        for module in modules:
            file = self._name(str(module.__file__))
            for name, value in list(vars(module).items()):
                if name.startswith("__"):
                    continue
                if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                    found[f"{file}:{name}"] = reader.of_function(value)
                if isinstance(value, _CODE) and not isinstance(value, MethodType):
                    continue
                if isinstance(value, type):
                    if value.__module__ == module.__name__:
                        found |= {
                            f"{file}:{name}.{key}": held for key, held in reader.attributes(value, 0).items()
                        }
                    continue
                seen = reader.read(value, 0)
                if seen is not NOT_DATA:
                    found[f"{file}:{name}"] = seen
        found["os.environ"] = {
            name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")
        }
        return found


def _file_of(place: str) -> str:
    """Return the file of a module, of the name of something in it."""
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


class _StateReader:
    """Turns values into JSON-like data, as far as they are data."""

    def __init__(self, modules: Collection[str]) -> None:
        """Take the names of the project's modules: of other objects it is not known what looking at them does."""
        self._modules = modules
        self._left = MOST
        self._open: set[int] = set()

    def read(self, value: Any, depth: int) -> Any:
        """Return a value as data; NOT_DATA for what is none."""
        if isinstance(value, Enum):
            return repr(value)
        if isinstance(value, _PLAIN):
            return repr(value) if isinstance(value, (float, complex)) else value
        if self._left <= 0 or depth > _DEPTH or id(value) in self._open:
            return NOT_DATA
        self._left -= 1
        self._open.add(id(value))
        try:
            return self._inner(value, depth + 1)
        finally:
            self._open.discard(id(value))

    def _inner(self, value: Any, depth: int) -> Any:
        cls = type(value)
        if isinstance(value, dict):
            # A copy: another thread may add to it.
            return {key_text(key): self._shown(held, depth) for key, held in list(value.items())}
        if isinstance(value, (list, tuple, deque)):
            return [self._shown(each, depth) for each in list(value)]
        if isinstance(value, (set, frozenset)):
            return sorted(repr(self._shown(each, depth)) for each in list(value))
        if isinstance(value, (bytes, bytearray)):
            return repr(bytes(value))
        if cls.__module__ == "array":
            return list(value)
        if cls.__module__ in {"itertools", "datetime", "decimal", "uuid", "fractions"}:
            return repr(value)
        if isinstance(value, MethodType):
            return self.read(value.__self__, depth)
        if isinstance(value, FunctionType) and value.__module__ in self._modules:
            return self.of_function(value, depth) or NOT_DATA
        if isinstance(value, (*_CODE, type)) or not holds_state(value, self._modules):
            return NOT_DATA  # a lock, a logger, a connection, an SDK's client
        return self.attributes(value, depth)

    def of_function(self, function: FunctionType, depth: int = 0) -> dict[str, Any]:
        """Return what a function holds beside its code: defaults, attributes, and what it closes over."""
        held = {
            "defaults": [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()],
            "attributes": {
                name: value for name, value in vars(function).items() if not name.startswith("__")
            },
            "closure": {name: cell.cell_contents for name, cell in cells_of(function).items()},
        }
        return {
            key: seen
            for key, value in held.items()
            if value and (seen := self.read(value, depth)) is not NOT_DATA
        }

    def attributes(self, value: Any, depth: int) -> dict[str, Any]:
        """Return what an object or a class holds."""
        is_class = isinstance(value, type)
        held = type.__getattribute__(value, "__dict__") if is_class else attributes_of(value)
        found: dict[str, Any] = {}
        for name, each in held.items():
            if not name.startswith("__"):
                seen = self.read(each, depth)
                if seen is not NOT_DATA:
                    found[name] = seen
        return found

    def _shown(self, value: Any, depth: int) -> Any:
        seen = self.read(value, depth)
        return f"<{type(value).__qualname__}>" if seen is NOT_DATA else seen
