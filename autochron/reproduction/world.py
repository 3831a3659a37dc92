"""The state of a project's modules as plain data, for a predicate. It is read without running any code of the program.

What can't be read wholly is marked, and a predicate that asks for it is told so: it must not take a part for the whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from autochron._runtime.bare import class_attribute, dictionary_of, key_text
from autochron._runtime.unpatched import os
from autochron.effects.held import attributes_of, cells_of, holds_state, members_of, raw_bytes
from autochron.effects.module_state import ProjectModules, project_modules
from autochron.errors import PredicateError

_MOST = 20_000
"""Most values that one reading visits."""
_DEEPEST = 64
"""Deepest nesting that is read."""

_SCALARS = frozenset({str, int, bool, float, complex, bytes, type(None)})
_OF_LIBRARY = {
    "datetime": {"datetime", "date", "time", "timedelta", "timezone"},
    "decimal": {"Decimal"},
    "fractions": {"Fraction"},
    "uuid": {"UUID"},
}
"""Classes of the standard library whose objects can't change, by module. They stay what they are."""
_BASES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (complex, complex.__pos__),
    (bytes, raw_bytes),
    (bytearray, raw_bytes),
)
"""How an object of a subclass becomes a plain value, without methods of its own."""
_CODE = (FunctionType, MethodType, ModuleType, BuiltinFunctionType, staticmethod, classmethod, property, type)

_OWN_NAMES = ("AUTOCHRON", "PYTEST_")
"""How the names of environment variables begin that are autochron's and pytest's."""


class WorldState(NamedTuple):
    """The state at one moment.

    Attributes:
        data: the data, by place.
        unknown: why what is at a place is not wholly known.
    """

    data: dict[str, Any]
    unknown: dict[str, str]


class World(Mapping[str, Any]):
    """The state of the project's modules as plain data, by place: `world["tools.py:refunds"]`.

    An object is a dictionary of its attributes. No method of it is called, so that a fix can't lie.
    """

    def __init__(self, state: WorldState, elsewhere: str = "") -> None:
        """Make one.

        Args:
            state: the state.
            elsewhere: why nothing is known; empty where something is.
        """
        self._state = state
        self._elsewhere = elsewhere

    def __getitem__(self, place: str) -> Any:
        """Return the data at a place.

        Raises:
            PredicateError: there is none, or it is not wholly known.
        """
        self._refuse_elsewhere(f"asks for {place}")
        data, unknown = self._state
        if place in unknown:
            raise PredicateError(f"it asks for {place}, which is not wholly known: {unknown[place]}")
        if place in data:
            return data[place]
        file = str(place).partition(":")[0]
        known = [name for name in data if name.partition(":")[0] == file]
        raise PredicateError(
            f"it asks for {place}, which is no data of a loaded module; {file} has {', '.join(known)}"
            if known
            else f"it asks for {place}, and no module {file} of the project was loaded then; import it at the top of the test"
        )

    def __iter__(self) -> Iterator[str]:
        """Return an iterator over the places.

        Raises:
            PredicateError: nothing is known.
        """
        self._refuse_elsewhere("asks for all places")
        return iter(dict.fromkeys((*self._state.data, *self._state.unknown)))

    def __len__(self) -> int:
        """Return the number of places.

        Raises:
            PredicateError: nothing is known.
        """
        return len(list(iter(self)))

    def __contains__(self, place: object) -> bool:
        """Return whether there is data at a place.

        Raises:
            PredicateError: nothing is known.
        """
        return place in list(iter(self))

    def get(self, place: str, default: Any = None) -> Any:
        """Return the data at a place, or a default where there is none.

        Raises:
            PredicateError: it is not wholly known.
        """
        return self[place] if place in self else default  # noqa: SIM401 - this is `get` itself

    def _refuse_elsewhere(self, what: str) -> None:
        if self._elsewhere:
            raise PredicateError(f"it {what}, and {self._elsewhere}")


class WorldChange(NamedTuple):
    """A change that the program made to the world.

    Attributes:
        address: the live crossing that made it; `(outside)` if it was made outside of all of them.
        path: the changed file, or the name in a module, such as `tools.py:refunds`.
        what: the change in words, such as `row added`.
        value: the changed data; None where there is none.
    """

    address: str
    path: str
    what: str
    value: Any


class WorldChanges(Sequence[WorldChange]):
    """The changes of the world. Reading them raises where not all of them are known."""

    def __init__(self, changes: Sequence[WorldChange], unknown: str = "") -> None:
        """Make one.

        Args:
            changes: the changes, in order.
            unknown: why not all of them are known; empty where they are.
        """
        self._changes = tuple(changes)
        self._unknown = unknown

    def __getitem__(self, index: Any) -> Any:
        """Return a change.

        Raises:
            PredicateError: not all changes are known.
        """
        if self._unknown:
            raise PredicateError(f"it looks at `effects`, which are not all known: {self._unknown}")
        return self._changes[index]

    def __len__(self) -> int:
        """Return the number of changes.

        Raises:
            PredicateError: not all changes are known.
        """
        return len(self[:])

    def __repr__(self) -> str:
        """Return the changes as text."""
        return repr(self[:])


def read_world(project: ProjectModules) -> WorldState:
    """Read the state of a project's modules now."""
    modules = list(project_modules(project))
    reader = _WorldReader(frozenset(str(vars(module).get("__name__")) for module in modules))
    state = WorldState({}, {})
    for module in modules:
        space = vars(module)
        for key, value in list(space.items()):
            if key.startswith("__"):
                continue
            place = f"{project.name(str(space['__file__']))}:{key}"
            cls = type(value)
            if issubclass(cls, type):
                if vars(value).get("__module__") == space.get("__name__"):
                    for member, item in list(type.__getattribute__(value, "__dict__").items()):
                        if not member.startswith("__") and not issubclass(type(item), _CODE):
                            _add(state, f"{place}.{member}", *reader.read_place(item))
                continue
            if cls is FunctionType:
                if value.__module__ == space.get("__name__"):
                    _add(state, place, *reader.read_place(value))
                continue
            if not issubclass(cls, _CODE) or cls is MethodType:
                _add(state, place, *reader.read_place(value))
    environment = {key: text for key, text in os.environ.items() if not key.startswith(_OWN_NAMES)}
    state.data["os.environ"] = environment
    return state


def _add(state: WorldState, place: str, data: Any, unknown: str) -> None:
    if data is NOTHING:
        return
    if unknown:
        state.unknown[place] = unknown
    elif place in state.data and repr(state.data[place]) != repr(data):
        state.unknown[place] = "two loaded modules share its file, and differ"
    else:
        state.data[place] = data


NOTHING: Any = type("Nothing", (), {"__slots__": ()})()
"""Stands for a value that is no data, such as a lock or a client of an SDK."""


class _WorldReader:
    """Converts values to plain data, for one reading of all modules."""

    def __init__(self, modules: frozenset[str]) -> None:
        """Read the attributes of objects whose classes these modules define."""
        self._modules = modules
        self._left = _MOST
        self._open: set[int] = set()
        self._unknown = ""

    def read_place(self, value: Any) -> tuple[Any, str]:
        """Return a value as data, or NOTHING, and why it is not wholly known."""
        self._unknown = ""
        data = self._read(value, 0)
        return data, self._unknown

    def _read(self, value: Any, depth: int) -> Any:
        cls = type(value)
        if cls in _SCALARS or cls.__qualname__ in _OF_LIBRARY.get(cls.__module__, ()):
            return value
        if issubclass(cls, Enum):
            return f"{cls.__qualname__}.{(dictionary_of(value) or {}).get('_name_')}"
        for base, plain in _BASES:
            if issubclass(cls, base):
                self._note_attributes(value)
                return plain(value)
        if issubclass(cls, (dict, list, tuple, deque, set, frozenset)):
            self._note_attributes(value)
        elif cls.__module__ == "array":
            return list(value)
        elif cls is MethodType:
            return self._read(value.__self__, depth)
        elif cls is FunctionType:
            if value.__module__ not in self._modules:
                return NOTHING
        elif issubclass(cls, _CODE) or not holds_state(value, self._modules):
            return NOTHING
        return self._inner(value, cls, depth)

    def _inner(self, value: Any, cls: type, depth: int) -> Any:
        """Return what holds other values as data."""
        if id(value) in self._open:
            return "<a part of itself>"
        if self._left <= 0 or depth > _DEEPEST:
            self._unknown = (
                f"it is nested deeper than {_DEEPEST}"
                if depth > _DEEPEST
                else f"the project's modules hold more than {_MOST:,} values"
            )
            return NOTHING
        self._left -= 1
        self._open.add(id(value))
        try:
            if issubclass(cls, dict):
                return self._dictionary(list(dict.items(value)), depth)
            members = members_of(value)
            if members is not None:
                data = [self._shown(item, depth) for item in members]
                return sorted(data, key=repr) if issubclass(cls, (set, frozenset)) else data
            if cls is FunctionType:
                return self._function(value, depth) or NOTHING
            if issubclass(type(class_attribute(cls, "__dict__")), property):
                self._unknown = f"a {cls.__qualname__} hides its attributes"
            attributes = attributes_of(value)
            return {
                key: self._shown(item, depth) for key, item in attributes.items() if not key.startswith("__")
            }
        finally:
            self._open.discard(id(value))

    def _dictionary(self, items: list[tuple[Any, Any]], depth: int) -> dict[Any, Any]:
        data: dict[Any, Any] = {}
        for key, item in items:
            plain = key if _is_plain_key(key) else key_text(key)
            if plain in data:
                self._unknown = f"two keys of a dictionary are shown as {plain!r}"
            data[plain] = self._shown(item, depth)
        return data

    def _function(self, function: FunctionType, depth: int) -> dict[str, Any]:
        """Return a function's defaults, attributes and closure as data, without those that are empty."""
        parts: dict[str, Any] = {
            "defaults": [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()],
            "attributes": {key: item for key, item in vars(function).items() if not key.startswith("__")},
            "closure": {key: cell.cell_contents for key, cell in cells_of(function).items()},
        }
        return {key: self._shown(part, depth) for key, part in parts.items() if part}

    def _note_attributes(self, value: Any) -> None:
        """Note that a value has attributes beside what it holds, which its plain form does not show."""
        if dictionary_of(value):
            self._unknown = f"a {type(value).__qualname__} has attributes beside what it holds"

    def _shown(self, value: Any, depth: int) -> Any:
        data = self._read(value, depth + 1)
        return f"<{type(value).__qualname__}>" if data is NOTHING else data


def _is_plain_key(key: Any) -> bool:
    """Return whether a key is itself plain data: a scalar, or a tuple of such."""
    cls = type(key)
    return (
        cls in _SCALARS
        or cls.__qualname__ in _OF_LIBRARY.get(cls.__module__, ())
        or (cls is tuple and all(map(_is_plain_key, key)))
    )
