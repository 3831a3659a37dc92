"""What a call changed in its arguments: seen by comparing how they looked before with how they look after it.

Apart from the input that is kept and compared: `capture` says what of the arguments is input, and not what a call may
change; and a receiver is no input, but `self.n += k` is a change like any other.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from autochron._runtime.bare import dictionary_of, identity
from autochron._runtime.class_table import ClassTable
from autochron.envelope import arrays, codec, objects, shapes
from autochron.envelope.canonical import TOO_LARGE, screened_snapshot, snapshot
from autochron.envelope.looks import LARGE, LargeLook, Look
from autochron.envelope.types import label
from autochron.inputs import Reader
from autochron.recording.named_globals import MOST_MEMBERS, NamedGlobals, may_change
from autochron.recording.weak_values import GONE, alive, weak
from autochron.weaving.cells import CELL
from autochron.weaving.gate import Point

STILL, VALUE, OPAQUE = range(3)
"""What can't change, what is compared whole and can be changed again, and what can only be seen to change."""

_STILL_BASES = (
    *(type, enum.Enum, types.ModuleType),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType),
)
_STILL_TYPES = (type(None), bool, int, float, complex, str, bytes, range, slice, frozenset)
_EQUAL_TYPES = frozenset(_STILL_TYPES) - {slice, frozenset}
"""Types of which equal values are the same ones; of others `__eq__` may be the program's."""
_SIZED = frozenset({list, dict, set, bytearray})

_kinds: ClassTable[int] = ClassTable(dict.fromkeys(_STILL_TYPES, STILL))
kind_at = _kinds.get
"""From a type to one of the three, or None where `kind_of` is to be asked."""


def kind_of(cls: type) -> int:
    """Return how changes of a class's instances are told; kept for the next time."""
    return _kinds.find(cls, _kind_of)


def _kind_of(cls: type) -> int:
    if issubclass(cls, _STILL_BASES):
        return STILL
    return OPAQUE if shapes.kind_of(cls) == "none" else VALUE


def is_still(values: tuple[Any, ...]) -> bool:
    """Return whether nothing among the values can change."""
    has_tuples = False
    for value in values:
        kind = kind_at(type(value))
        if kind is None:
            kind = kind_of(type(value))
        if kind:
            if type(value) is not tuple:
                return False
            has_tuples = True
    return not has_tuples or _are_still(values)


def _are_still(values: tuple[Any, ...]) -> bool:
    within = {identity(values): values}  # by identity: the same one may stand in a tuple often
    waiting = [values]
    while waiting:
        for value in waiting.pop():
            kind = kind_at(type(value))
            if kind is None:
                kind = kind_of(type(value))
            if kind:
                if type(value) is not tuple:
                    return False
                if identity(value) not in within:
                    within[identity(value)] = value
                    waiting.append(value)
    return True


def argument_of(point: Point, arguments: tuple[Any, ...], value: Any) -> str | None:
    """Name the argument that a value is: a parameter, or `args.0` and `kwargs.name` for what those caught."""
    for argument in arguments:
        if argument is value:
            break
    else:
        if point.variadic == (None, None):
            return None
    for index, argument in enumerate(arguments):
        if argument is value and point.parameters[index] not in point.variadic:
            return point.parameters[index]
    for name in point.variadic:
        if name is not None:
            caught = arguments[point.parameters.index(name)]
            for key, member in caught.items() if isinstance(caught, dict) else enumerate(caught):
                if member is value:
                    return f"{name}.{key}"
    return None


_MEANWHILE = 1 << 20
"""Bytes of arguments that are compared or written between the items of one stream; of longer ones only the end counts."""

_SURFACE = 256
"""As many count for an object of which only the surface is compared."""

_SMALL = 64
"""Members of a container that are compared one by one."""

_NOTHING: Any = object()

NO_LOOKS: Mapping[int, bytes] = MappingProxyType({})

_UNCHANGED: Final = (None, ())


def watch(
    point: Point,
    arguments: tuple[Any, ...],
    caught: int,
    changing: Reader | None = None,
    looks: Mapping[int, bytes] = NO_LOOKS,
    look: Callable[[Any], bytes] = snapshot,
) -> ArgumentWatch | None:
    """Look at the arguments that can change; None where none can, as in calls with plain arguments.

    Args:
        point: what is called.
        arguments: as they are bound.
        caught: the index of `**kwargs`, whose dictionary is the callee's own and not the caller's; -1 where there is none.
        changing: gives what of the arguments can change by the rule, with its paths; None: all.
        looks: how some of them look, by identity, where that is known already.
        look: gives how a value looks.
    """
    names, held = point.parameters, arguments
    if changing is not None:
        (names, held), caught = changing(arguments), -1
    watched: ArgumentWatch | None = None
    index = -1
    for value in held:
        index += 1
        kind = kind_at(type(value))
        if kind is None:
            kind = kind_of(type(value))
        if not kind or (type(value) is tuple and is_still(value)):
            continue
        if index == caught and type(value) is dict:
            # The callee may take members out of its own dictionary; what the caller gave stays known.
            value = dict(value)  # noqa: PLW2901 - see above
            arguments = (*arguments[:caught], value, *arguments[caught + 1 :])
            if is_still(tuple(value.values())):
                continue
        if watched is None:
            watched = ArgumentWatch(look)
        if kind == VALUE:
            seen: Any = (looks.get(identity(value)) if looks else None) or look(value)
            watched.values.append((names[index], value, LargeLook(seen) if len(seen) > LARGE else seen))
        else:
            watched.opaque.append((names[index], value, _surface(value)))
    if watched is not None:
        watched.arguments = arguments
    return watched


def watch_globals(
    found: NamedGlobals,
    watched: ArgumentWatch | None,
    arguments: tuple[Any, ...],
    look: Callable[[Any], bytes] = screened_snapshot,
) -> ArgumentWatch | None:
    """Look at the globals or cells that a definition names as well."""
    space, prefix = found.space, found.prefix
    made = ArgumentWatch(look) if watched is None else watched
    for name in found.held:
        value: Any = space.get(name)
        if prefix is CELL and not may_change(value):
            continue
        kind = kind_at(type(value))
        kind = kind_of(type(value)) if kind is None else kind
        if kind == VALUE and not (type(value) in _SIZED and len(value) > MOST_MEMBERS):
            seen: Any = look(value)
            made.values.append((prefix + name, value, LargeLook(seen) if len(seen) > LARGE else seen))
        elif kind == VALUE:
            made.large += ((prefix + name, value, len(value)),)
        elif kind == OPAQUE:
            made.opaque.append((prefix + name, value, _surface(value)))
    made.stored += tuple((prefix + name, space, space.get(name, _NOTHING)) for name in found.stored)
    if watched is None:
        made.arguments = arguments
    return made


class ArgumentWatch:
    """The arguments of one call that can change, and how they looked before it.

    Attributes:
        arguments: all of them, of `**kwargs` a copy: the objects that the caller put in.
        values: (parameter, value, look) of those that are compared whole.
        opaque: (parameter, value, surface) of the others.
        large: (name, value, length) of containers that are too large to be compared.
        stored: (name, where it stands, value) of globals and cells that the code assigns.
        is_weak: whether the first three hold what they can weakly.
    """

    __slots__ = ("_left", "_look", "arguments", "is_weak", "large", "opaque", "stored", "values")

    def __init__(self, look: Callable[[Any], bytes]) -> None:
        self._look = look
        self._left = _MEANWHILE
        self.arguments: tuple[Any, ...] = ()
        self.values: list[tuple[str, Any, Look]] = []
        self.opaque: list[tuple[str, Any, dict[str, Any]]] = []
        self.large: tuple[tuple[str, Any, int], ...] = ()
        self.stored: tuple[tuple[str, Any, Any], ...] = ()
        self.is_weak = False

    def weaken(self) -> None:
        """Hold arguments weakly from now on: the call has returned, and what nobody else holds nobody sees changed."""
        if self.is_weak:
            return
        self.arguments = tuple([weak(value) for value in self.arguments])
        self.values = [(name, weak(value), look) for name, value, look in self.values]
        self.opaque = [(name, weak(value), surface) for name, value, surface in self.opaque]
        self.is_weak = True

    def strengthen(self) -> None:
        """Hold the arguments that still live."""
        if not self.is_weak:
            return
        self.arguments = tuple([alive(held) for held in self.arguments])
        self.values = [
            (name, value, look) for name, held, look in self.values if (value := alive(held)) is not GONE
        ]
        self.opaque = [
            (name, value, surface)
            for name, held, surface in self.opaque
            if (value := alive(held)) is not GONE
        ]
        self.is_weak = False

    def names(self) -> dict[int, str]:
        """Return the parameters by the `id` of their values."""
        found = {}
        for name, value, _ in self.values:
            found[identity(value)] = name
        for name, value, _ in self.opaque:
            found[identity(value)] = name
        return found

    def changes_meanwhile(self) -> bytes | None:
        """Return the parameters that were changed so far, where that can be told at little cost."""
        if self._left <= 0:
            return None
        self._left -= sum(len(before) for _, _, before in self.values) + _SURFACE * len(self.opaque)
        if self._left <= 0:
            return None
        is_weak = self.is_weak
        self.strengthen()
        try:
            changed = self.changes()[0]
        finally:
            if is_weak:
                self.weaken()
        self._left -= len(changed or b"")
        return changed

    def changes(self) -> tuple[bytes | None, tuple[str, ...]]:
        """Return the parameters that were changed in place, as they are now, and what of that can't be done again."""
        look = self._look
        changed: dict[str, Any] = {}
        for name, value, before in self.values:  # no comprehension: that is one more call on Python 3.11
            if look(value) != before:
                changed[name] = value  # noqa: PERF403 - see above
        if not changed and look is snapshot and not (self.opaque or self.large or self.stored):
            return _UNCHANGED
        beyond: list[str] = []
        if look is not snapshot:  # which is for what is known not to be too large
            beyond += (
                f"changed.{name}: {label(type(value))}"
                for name, value, before in self.values
                if before is TOO_LARGE
            )
        if self.large or self.stored:
            beyond += self._changed_globals(changed)
        if not changed and not self.opaque:
            return None, tuple(beyond)
        for name, value, surface in self.opaque:
            now = _surface(value)
            if now != surface:
                attributes, where = _changed_attributes(value, surface, now)
                changed |= {f"{name}.{attribute}": held for attribute, held in attributes.items()}
                if where:
                    beyond.append(f"changed.{name}{where}: {label(type(value))}")
        if not changed:
            return None, tuple(beyond)
        encoded = codec.encode(changed)
        return encoded.body, (*below("changed", encoded.opaque), *beyond)

    def _changed_globals(self, changed: dict[str, Any]) -> list[str]:
        """Add the globals that were assigned anew, and return what of large ones can't be done again."""
        for name, space, before in self.stored:
            now = space.get(name.partition(":")[2], _NOTHING)
            if now is not before and now is not _NOTHING:
                changed[name] = now
        return [
            f"changed.{name}: {label(type(value))}" for name, value, size in self.large if len(value) != size
        ]


def below(prefix: str, opaque: tuple[str, ...]) -> tuple[str, ...]:
    """Put the paths of opaque parts under a prefix."""
    return tuple(
        f"{prefix}{entry.removeprefix('(value)')}" if entry.startswith("(value):") else f"{prefix}.{entry}"
        for entry in opaque
    )


def _surface(value: Any) -> Any:
    """Return what an object that is no value shows of a change: its attributes, by identity and length.

    No deeper: such an object may hold half of the program. Small containers show their members, by identity; arrays and
    tables show all that they hold.
    """
    cls = type(value)
    shape = arrays.shape_of(cls)
    if shape is not None:
        return {"values": shape(value)}
    own = dictionary_of(value)
    if own is None:
        own = shapes.attributes(value, shapes.slots_of(cls))
    return {
        name: held
        if type(held) in _EQUAL_TYPES
        else (identity(held), _members(held) if type(held) in _SIZED else None)
        for name, held in own.items()
    }


def _members(held: Any) -> Any:
    """Return what a container shows of a change: its length, and where it is small its members."""
    if len(held) > _SMALL or type(held) is bytearray:
        return len(held)
    pairs = held.items() if type(held) is dict else enumerate(held)
    return [(key, each if type(each) in _EQUAL_TYPES else identity(each)) for key, each in pairs]


def _changed_attributes(value: Any, before: Any, now: Any) -> tuple[dict[str, Any], str]:
    """Return the attributes that can be changed again, and the first one that can't."""
    cls = type(value)
    if not objects.is_own(cls):
        return {}, _first_change(cls, before, now)
    held = shapes.attributes(value, shapes.slots_of(cls))
    changed = {
        name: held[name]
        for name in now
        if before.get(name, _NOTHING) != now[name] and name in held and _can_be_encoded(held[name])
    }
    return changed, _first_change(cls, before, {**now, **{name: before.get(name) for name in changed}})


def _can_be_encoded(value: Any) -> bool:
    kind = kind_at(type(value))
    return (kind_of(type(value)) if kind is None else kind) != OPAQUE and not issubclass(
        type(value), _STILL_BASES
    )


def _is_cached(cls: type, name: str) -> bool:
    """Return whether this is what a `cached_property` keeps: no change that anyone sees."""
    from inspect import getattr_static  # lazy: 6 ms, and hardly any argument gets attributes

    return hasattr(type(getattr_static(cls, name, None)), "__get__")


def _first_change(cls: type, before: dict[str, Any], now: dict[str, Any]) -> str:
    for name, held in now.items():
        if before.get(name) != held and not (name not in before and _is_cached(cls, name)):
            return f".{name}"
    return next((f".{name}" for name in before if name not in now), "")
