"""Read the state of a program's modules as plain data: globals, class attributes, closures and environment variables.

A tool may keep its results in a list of its module, in a class, or in an object that a global names. This state is
compared before and after a live crossing. `module_backup` restores it between the tests of one process.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from enum import Enum, Flag
from types import FunctionType, MethodType, ModuleType
from typing import Any, Protocol

from autochron._runtime.bare import key_text
from autochron._runtime.unpatched import os
from autochron.effects.changes import members
from autochron.effects.held import attributes_of, cells_of, holds_state, members_of, raw_bytes
from autochron.model import StateEffect

MOST = 20_000
"""Most values that one reading visits. Further values are not compared."""

_PLAIN = (str, int, float, bool, type(None), complex)
_CODE = (FunctionType, MethodType, ModuleType, staticmethod, classmethod, property)
_DEPTH = 12
"""Deepest nesting that is read."""


class ModuleState:
    """Reports the changes of the state of the project's modules between two calls."""

    def __init__(self, project: ProjectModules) -> None:
        """Take the project, without reading anything yet."""
        self._project = project
        self._environment = _Environment()
        self._seen: dict[str, Any] = {}

    def changes(self) -> list[StateEffect]:
        """Return the changes since the last call. The first call returns no changes."""
        before, self._seen = self._seen, self._read()
        effects: list[StateEffect] = []
        modules = {_file_of(place) for place in before}
        for place, current in self._seen.items():
            if place in before:
                if before[place] != current:
                    effects += members(place, before[place], current)
            elif _file_of(place) in modules:  # otherwise the module was imported since the last call
                effects += members(place, [], [current])
        return effects

    def count(self, most: int) -> int:
        """Return how many values the last reading has, or `most` if it has more."""
        pending, count = list(self._seen.values()), 0
        while pending and count < most:
            value = pending.pop()
            count += 1
            if isinstance(value, dict):
                pending += value.values()
            elif isinstance(value, (list, tuple)):
                pending += value
        return count

    def _read(self) -> dict[str, Any]:
        modules = list(project_modules(self._project))
        reader = _StateReader({module.__name__ for module in modules})
        state: dict[str, Any] = {}
        for module in modules:
            file = self._project.name(str(module.__file__))
            for name, value in list(vars(module).items()):
                if name.startswith("__"):
                    continue
                cls = type(value)
                if issubclass(cls, FunctionType) and value.__module__ == module.__name__:
                    state[f"{file}:{name}"] = reader.of_function(value)
                if issubclass(cls, _CODE) and not issubclass(cls, MethodType):
                    continue
                if issubclass(cls, type):
                    if value.__module__ == module.__name__:
                        state |= {
                            f"{file}:{name}.{key}": attribute
                            for key, attribute in reader.attributes(value, 0).items()
                        }
                    continue
                data = reader.read(value, 0)
                if data is not NOT_DATA:
                    state[f"{file}:{name}"] = data
        state["os.environ"] = self._environment.read()
        return state


_NOT_OF_PROGRAMS = ("PYTEST_", "AUTOCHRON_")
"""How the names of variables begin that tools set beside a program."""


class _Environment:
    """Reads the environment variables, and decodes them anew only where they have changed."""

    def __init__(self) -> None:
        self._raw: Any = None
        self._decoded: dict[str, str] = {}

    def read(self) -> dict[str, str]:
        """Return the variables, without those of pytest and our own."""
        raw = getattr(os.environ, "_data", None)  # a program may put another mapping there
        if raw is None or raw != self._raw:
            self._raw = None if raw is None else dict(raw)
            self._decoded = {
                name: text for name, text in os.environ.items() if not name.startswith(_NOT_OF_PROGRAMS)
            }
        return self._decoded


def _file_of(place: str) -> str:
    """Return the file part of a place such as `tools.py:CACHE`."""
    return place.rpartition(":")[0]


class ProjectModules(Protocol):
    """A project whose modules are looked at."""

    def loaded_modules(self) -> Mapping[str, object]: ...
    def name(self, file: str, /) -> str: ...


def project_modules(project: ProjectModules) -> Iterator[ModuleType]:
    """Yield the imported modules that are the project's, each once."""
    seen: set[int] = set()
    for name in project.loaded_modules():
        module = sys.modules.get(name)
        if type(module) is ModuleType and id(module) not in seen:
            seen.add(id(module))
            yield module


NOT_DATA: Any = type("NotData", (), {"__slots__": ()})()
"""Stands for a value that is no data, such as a lock."""


def _plain(value: Any, cls: type) -> Any:
    """Return a plain value; of a subclass, without what it has of its own."""
    if issubclass(cls, str):
        return str.__str__(value)
    if issubclass(cls, float):
        return float.__repr__(value)
    if issubclass(cls, complex):
        return complex.__repr__(value)
    return int.__int__(value) if issubclass(cls, int) and cls is not bool else value


class _StateReader:
    """Converts values to JSON-like data. A reader is used for one reading of all modules."""

    def __init__(self, modules: Collection[str]) -> None:
        """Read only objects whose classes these modules define: reading attributes of others may have side effects."""
        self._modules = modules
        self._left = MOST
        self._open: set[int] = set()

    def read(self, value: Any, depth: int) -> Any:
        """Return a value as data; NOT_DATA if it is none, is too deep or contains itself."""
        cls = type(value)  # `isinstance` would ask the object's own `__class__`
        if issubclass(cls, Enum):
            return (Flag if issubclass(cls, Flag) else Enum).__repr__(value)
        if issubclass(cls, _PLAIN):
            return _plain(value, cls)
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
        if issubclass(cls, dict):
            # `list` copies first, because another thread may add to it.
            return {key_text(key): self._shown(item, depth) for key, item in list(dict.items(value))}
        members = members_of(value)
        if members is not None:
            data = [self._shown(item, depth) for item in members]
            return sorted(map(repr, data)) if issubclass(cls, (set, frozenset)) else data
        content = raw_bytes(value)
        if content is not None:
            return repr(content)
        if cls.__module__ == "array":
            return list(value)
        if cls.__module__ in {"itertools", "datetime", "decimal", "uuid", "fractions"}:
            return repr(value)
        if issubclass(cls, MethodType):
            return self.read(value.__self__, depth)
        if issubclass(cls, FunctionType) and value.__module__ in self._modules:
            return self.of_function(value, depth) or NOT_DATA
        if issubclass(cls, (*_CODE, type)) or not holds_state(value, self._modules):
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
        is_class = issubclass(type(value), type)
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
