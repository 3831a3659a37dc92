"""The state of a program's modules: what their globals and class attributes hold, as plain data.

A tool may keep what it did in a list of its module, in a class, or behind an object that a global names. That is compared
before and after a live crossing, and put back between the tests of one process.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator
from enum import Enum
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from autochron.effects.changes import members
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

    def look(self) -> None:
        """Remember how things are now."""
        self._seen = self._read()

    def changes(self) -> list[StateEffect]:
        """List what is other than at the last look, and remember how it is now."""
        before, self._seen = self._seen, self._read()
        found: list[StateEffect] = []
        for place, now in self._seen.items():
            if place in before and before[place] != now:
                found += members(place, before[place], now, "")
        return found

    def _read(self) -> dict[str, Any]:
        modules = list(project_modules(self._owns))
        reader = _Reader({module.__name__ for module in modules})
        found: dict[str, Any] = {}
        for module in modules:
            file = self._name(str(module.__file__))
            for name, value in list(vars(module).items()):
                if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                    found |= {f"{file}:{name}{key}": held for key, held in reader.of_function(value).items()}
                if name.startswith("__") or isinstance(value, _CODE):
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


def project_modules(owns: Callable[[str], bool]) -> Iterator[ModuleType]:
    """Yield the imported modules that are the project's."""
    seen: set[int] = set()
    for module in list(sys.modules.values()):
        file = module.__dict__.get("__file__") if type(module) is ModuleType else None
        if isinstance(file, str) and id(module) not in seen and owns(file):
            seen.add(id(module))
            yield module


NOT_DATA: Any = type("NotData", (), {"__slots__": ()})()


class _Reader:
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
            return {str(key): self._shown(held, depth) for key, held in list(value.items())}
        if isinstance(value, (list, tuple, deque)):
            return [self._shown(each, depth) for each in list(value)]
        if isinstance(value, (set, frozenset)):
            return sorted(repr(self._shown(each, depth)) for each in list(value))
        if isinstance(value, (bytes, bytearray)):
            return repr(bytes(value))
        if cls.__module__ in {"itertools", "datetime", "decimal", "uuid", "fractions"}:
            return repr(value)
        if cls.__module__ not in self._modules or isinstance(value, (*_CODE, type)):
            return NOT_DATA  # a lock, a logger, a connection, an SDK's client
        return self.attributes(value, depth)

    def of_function(self, function: FunctionType) -> dict[str, Any]:
        """Return what a function holds beside its code: defaults, attributes, and what it closes over."""
        cells = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            try:
                cells[name] = cell.cell_contents
            except ValueError:  # empty
                continue
        held = {
            "()": [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()],
            ".": {name: value for name, value in vars(function).items() if not name.startswith("__")},
            "<>": cells,
        }
        return {
            key: seen
            for key, value in held.items()
            if value and (seen := self.read(value, 0)) is not NOT_DATA
        }

    def attributes(self, value: Any, depth: int) -> dict[str, Any]:
        """Return what an object or a class holds."""
        held: dict[str, Any] = {}
        if isinstance(value, type):
            held |= type.__getattribute__(value, "__dict__")
        else:
            # Past the object's own `__getattr__` and properties: to look must do nothing.
            try:
                held |= object.__getattribute__(value, "__dict__")
            except AttributeError:
                pass
            for base in type(value).__mro__:
                for name, member in base.__dict__.items():
                    if isinstance(member, MemberDescriptorType):
                        try:
                            held.setdefault(name, member.__get__(value))
                        except AttributeError:  # not set
                            continue
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
