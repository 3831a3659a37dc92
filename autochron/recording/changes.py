"""Find the arguments that a call changed in place, by comparing snapshots taken before and after it.

Watched are all arguments, not only those that form the recorded input: a call may change arguments that `capture` leaves out,
and its receiver, as in `self.n += k`.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from autochron._runtime.bare import bases_of, class_attribute, dictionary_of, identity, text
from autochron._runtime.class_table import ClassTable
from autochron.envelope import arrays, codec, objects, shapes
from autochron.envelope.canonical import TOO_LARGE, screened_snapshot, snapshot
from autochron.envelope.types import label
from autochron.envelope.value_snapshots import LARGE, LargeSnapshot, ValueSnapshot
from autochron.inputs import Reader
from autochron.recording.named_globals import MOST_MEMBERS, NamedGlobals, may_change
from autochron.recording.weak_values import GONE, alive, weak
from autochron.weaving.cells import CELL
from autochron.weaving.gate import Point

STILL, VALUE, OPAQUE = range(3)
"""Kinds of values: immutable; compared whole, so that a replay can repeat the change; only seen to change."""

_STILL_BASES = (
    *(type, enum.Enum, types.ModuleType),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType),
)
_STILL_TYPES = (type(None), bool, int, float, complex, str, bytes, range, slice, frozenset)
_EQUAL_TYPES = frozenset(_STILL_TYPES) - {slice, frozenset}
"""Types that are compared by value; `__eq__` of other types may be code of the program's."""
_SIZED = frozenset({list, dict, set, bytearray})

_kinds: ClassTable[int] = ClassTable(dict.fromkeys(_STILL_TYPES, STILL))
kind_at = _kinds.get
"""Return the kind of a type, or None if it is not in the table yet and `kind_of` has to find it."""


def kind_of(cls: type) -> int:
    """Return how the instances of a class are watched: STILL, VALUE or OPAQUE. The result is cached."""
    return _kinds.find(cls, _kind_of)


def _kind_of(cls: type) -> int:
    if issubclass(cls, _STILL_BASES):
        return STILL
    return OPAQUE if shapes.kind_of(cls) == "none" else VALUE


def is_still(values: tuple[Any, ...]) -> bool:
    """Return whether all values are immutable, also inside of tuples."""
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
    seen = {identity(values): values}  # by identity: a tuple may hold the same tuple many times
    waiting = [values]
    while waiting:
        for value in waiting.pop():
            kind = kind_at(type(value))
            if kind is None:
                kind = kind_of(type(value))
            if kind:
                if type(value) is not tuple:
                    return False
                if identity(value) not in seen:
                    seen[identity(value)] = value
                    waiting.append(value)
    return True


def argument_of(point: Point, arguments: tuple[Any, ...], value: Any) -> str | None:
    """Return the name of the argument that a value is, by identity; None if it is none.

    That is a parameter, or `args.0` and `kwargs.name` for members of variadic parameters.
    """
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
"""Bytes of arguments that are compared or encoded between the items of one stream. After that, only the end is compared."""

_SURFACE = 256
"""Bytes that an object counts for of which only the surface is compared."""

_SMALL = 64
"""Members of a container that are compared one by one."""

_CACHED = (
    "cached_property",
    "cachedproperty",
    "memoized_property",
    "memoized_attribute",
    "lazy_property",
    "reify",
)
"""Endings of the names of types that are cached properties, in lower case."""

_NOTHING: Any = object()

NO_SNAPSHOTS: Mapping[int, bytes] = MappingProxyType({})

_UNCHANGED: Final = (None, ())


def watch(
    point: Point,
    arguments: tuple[Any, ...],
    caught: int,
    changing: Reader | None = None,
    snapshots: Mapping[int, bytes] = NO_SNAPSHOTS,
    take: Callable[[Any], bytes] = snapshot,
) -> ArgumentWatch | None:
    """Take snapshots of the arguments that can change; return None if none can, as in calls with plain arguments.

    Args:
        point: the woven definition that is called.
        arguments: the bound arguments.
        caught: the index of `**kwargs`, whose dictionary belongs to the callee and not to the caller; -1 if there is none.
        changing: selects the parts of the arguments that can change by the rule, with their paths; None selects all.
        snapshots: snapshots that were taken already, by the `id` of their values.
        take: takes the snapshot of a value.
    """
    names, values = point.parameters, arguments
    if changing is not None:
        (names, values), caught = changing(arguments), -1
    watching: ArgumentWatch | None = None
    index = -1
    for value in values:
        index += 1
        kind = kind_at(type(value))
        if kind is None:
            kind = kind_of(type(value))
        if not kind or (type(value) is tuple and is_still(value)):
            continue
        if index == caught and type(value) is dict:
            # The callee may remove members from its own dictionary; the copy keeps those that the caller passed.
            value = dict(value)  # noqa: PLW2901 - see above
            arguments = (*arguments[:caught], value, *arguments[caught + 1 :])
            if is_still(tuple(value.values())):
                continue
        if watching is None:
            watching = ArgumentWatch(take)
        if kind == VALUE:
            before: Any = (snapshots.get(identity(value)) if snapshots else None) or take(value)
            watching.values.append(
                (names[index], value, LargeSnapshot(before) if len(before) > LARGE else before)
            )
        else:
            watching.opaque.append((names[index], value, _surface(value)))
    if watching is not None:
        watching.arguments = arguments
        watching.changing = changing
    return watching


def watch_globals(
    named: NamedGlobals,
    watching: ArgumentWatch | None,
    arguments: tuple[Any, ...],
    take: Callable[[Any], bytes] = screened_snapshot,
) -> ArgumentWatch | None:
    """Watch the globals or cells that a definition names, too.

    Args:
        named: the globals or cells.
        watching: the watch that they are added to; None makes a new one.
        arguments: the bound arguments, for a new watch.
        take: takes the snapshot of a value.
    """
    space, prefix = named.space, named.prefix
    result = ArgumentWatch(take) if watching is None else watching
    for name in named.mutable:
        value: Any = space.get(name)
        if prefix is CELL and not may_change(value):
            continue
        kind = kind_at(type(value))
        kind = kind_of(type(value)) if kind is None else kind
        if kind == VALUE and not (type(value) in _SIZED and len(value) > MOST_MEMBERS):
            before: Any = take(value)
            result.values.append(
                (prefix + name, value, LargeSnapshot(before) if len(before) > LARGE else before)
            )
        elif kind == VALUE:
            result.large += ((prefix + name, value, len(value)),)
        elif kind == OPAQUE:
            result.opaque.append((prefix + name, value, _surface(value)))
    result.stored += tuple((prefix + name, space, space.get(name, _NOTHING)) for name in named.stored)
    if watching is None:
        result.arguments = arguments
    return result


class ArgumentWatch:
    """The arguments of one call that can change, with snapshots from before it.

    Attributes:
        arguments: all arguments; a copy of the dictionary of `**kwargs`, with the objects that the caller passed.
        values: (parameter, value, snapshot) of those that are compared whole.
        opaque: (parameter, value, surface) of the others.
        large: (name, value, length) of containers that are too large to be compared.
        stored: (name, namespace, value) of globals and cells that the code assigns.
        changing: selects the parts of the arguments that can change by the rule; None if that is all.
        is_weak: whether the first three hold weak references where they can.
    """

    __slots__ = ("_left", "_take", "arguments", "changing", "is_weak", "large", "opaque", "stored", "values")

    def __init__(self, take: Callable[[Any], bytes]) -> None:
        self._take = take
        self._left = _MEANWHILE
        self.arguments: tuple[Any, ...] = ()
        self.values: list[tuple[str, Any, ValueSnapshot]] = []
        self.opaque: list[tuple[str, Any, dict[str, Any]]] = []
        self.large: tuple[tuple[str, Any, int], ...] = ()
        self.stored: tuple[tuple[str, Any, Any], ...] = ()
        self.changing: Reader | None = None
        self.is_weak = False

    def weaken(self) -> None:
        """Hold the arguments weakly from now on: the call has returned, and nobody sees a change of an object that died."""
        if self.is_weak:
            return
        self.arguments = tuple([weak(value) for value in self.arguments])
        self.values = [(name, weak(value), before) for name, value, before in self.values]
        self.opaque = [(name, weak(value), surface) for name, value, surface in self.opaque]
        self.is_weak = True

    def strengthen(self) -> None:
        """Hold those arguments that are still alive strongly again."""
        if not self.is_weak:
            return
        self.arguments = tuple([alive(reference) for reference in self.arguments])
        self.values = [
            (name, value, before)
            for name, reference, before in self.values
            if (value := alive(reference)) is not GONE
        ]
        self.opaque = [
            (name, value, surface)
            for name, reference, surface in self.opaque
            if (value := alive(reference)) is not GONE
        ]
        self.is_weak = False

    def names(self) -> dict[int, str]:
        """Return the names of the watched values by their `id`."""
        names_by_id = {}
        for name, value, _ in self.values:
            names_by_id[identity(value)] = name
        for name, value, _ in self.opaque:
            names_by_id[identity(value)] = name
        return names_by_id

    def changes_meanwhile(self) -> bytes | None:
        """Return the arguments that were changed so far, encoded; None if none was, or if comparing would cost too much."""
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
        """Return the arguments that were changed in place, encoded, and the paths of changes that can't be repeated."""
        take = self._take
        changed: dict[str, Any] = {}
        if self.changing is not None:
            self._read_again(self.changing)
        for name, value, before in self.values:  # no comprehension: it costs one more call on Python 3.11
            if take(value) != before:
                changed[name] = value  # noqa: PERF403 - see above
        if not changed and take is snapshot and not (self.opaque or self.large or self.stored):
            return _UNCHANGED
        unrepeatable: list[str] = []
        if take is not snapshot:  # `snapshot` is used only where nothing is too large
            unrepeatable += (
                f"changed.{name}: {label(type(value))}"
                for name, value, before in self.values
                if before is TOO_LARGE
            )
        if self.large or self.stored:
            unrepeatable += self._changed_globals(changed)
        if not changed and not self.opaque:
            return None, tuple(unrepeatable)
        for name, value, surface in self.opaque:
            after = _surface(value)
            if after != surface:
                attributes, where = _changed_attributes(value, surface, after)
                changed |= {f"{name}.{attribute}": member for attribute, member in attributes.items()}
                if where:
                    unrepeatable.append(f"changed.{name}{where}: {label(type(value))}")
        if not changed:
            return None, tuple(unrepeatable)
        encoded = codec.encode(changed)
        return encoded.body, (*below("changed", encoded.opaque), *unrepeatable)

    def _read_again(self, changing: Reader) -> None:
        """Take up objects that the call has put in the place of those that it was given."""
        current = dict(zip(*changing(self.arguments), strict=True))
        self.values = [
            (name, current[name] if type(current.get(name)) is type(value) else value, before)
            for name, value, before in self.values
        ]

    def _changed_globals(self, changed: dict[str, Any]) -> list[str]:
        """Add the globals that were assigned to `changed`; return the paths of large ones whose change can't be repeated."""
        for name, space, before in self.stored:
            current = space.get(name.partition(":")[2], _NOTHING)
            if current is not before and current is not _NOTHING:
                changed[name] = current
        return [
            f"changed.{name}: {label(type(value))}" for name, value, size in self.large if len(value) != size
        ]


def below(prefix: str, opaque: tuple[str, ...]) -> tuple[str, ...]:
    """Put a prefix before the paths of opaque parts; `(value)` is the path of the whole value."""
    return tuple(
        f"{prefix}{entry.removeprefix('(value)')}" if entry.startswith("(value):") else f"{prefix}.{entry}"
        for entry in opaque
    )


def _surface(value: Any) -> Any:
    """Return the surface of an object that the codec can't encode: its attributes, by identity and length.

    The surface goes no deeper, since such an object may hold half of the program. Of small containers it has the members, by
    identity; of arrays and tables it has all values.
    """
    cls = type(value)
    shape = arrays.shape_of(cls)
    if shape is not None:
        return {"values": shape(value)}
    attributes = dictionary_of(value)
    if attributes is None:
        attributes = shapes.attributes(value, shapes.slots_of(cls))
    return {
        name: member
        if type(member) in _EQUAL_TYPES
        else (identity(member), _members(member) if type(member) in _SIZED else None)
        for name, member in attributes.items()
    }


def _members(container: Any) -> Any:
    """Return the surface of a container: its length, or the members of a small one."""
    if len(container) > _SMALL or type(container) is bytearray:
        return len(container)
    pairs = container.items() if type(container) is dict else enumerate(container)
    return [(key, member if type(member) in _EQUAL_TYPES else identity(member)) for key, member in pairs]


def _changed_attributes(value: Any, before: Any, after: Any) -> tuple[dict[str, Any], str]:
    """Return the changed attributes that a replay can set again, and the path of the first change that it can't repeat."""
    cls = type(value)
    if not objects.is_own(cls):
        return {}, _first_change(cls, before, after)
    attributes = shapes.attributes(value, shapes.slots_of(cls))
    changed = {
        name: attributes[name]
        for name in after
        if before.get(name, _NOTHING) != after[name]
        and name in attributes
        and _can_be_encoded(attributes[name])
    }
    return changed, _first_change(cls, before, {**after, **{name: before.get(name) for name in changed}})


def _can_be_encoded(value: Any) -> bool:
    kind = kind_at(type(value))
    return (kind_of(type(value)) if kind is None else kind) != OPAQUE and not issubclass(
        type(value), _STILL_BASES
    )


def _is_cached(cls: type, name: str) -> bool:
    """Return whether a cached property set this attribute: that is no change that anyone sees.

    A library's own kind of cached property is known by the name of its type. Other descriptors are none: `tool.run = fake`
    sets an attribute over a method, and a descriptor that checks what is assigned keeps it under its own name.
    """
    kind = type(class_attribute(cls, name))
    return issubclass(kind, cached_property) or any(
        text(base, "__name__").lower().endswith(_CACHED) for base in bases_of(kind)
    )


def _first_change(cls: type, before: dict[str, Any], after: dict[str, Any]) -> str:
    for name, state in after.items():
        if before.get(name) != state and not (name not in before and _is_cached(cls, name)):
            return f".{name}"
    return next((f".{name}" for name in before if name not in after), "")
