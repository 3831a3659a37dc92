"""What a call changed in its arguments: seen by comparing how they looked before with how they look after it.

Apart from the input that is kept and compared: `capture` says what of the arguments is input, and not what a call may
change; and a receiver is no input, but `self.n += k` is a change like any other.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Mapping
from inspect import getattr_static
from types import MappingProxyType
from typing import Any

from msgspec import Raw
from msgspec.json import decode

from autochron.envelope import arrays, codec, shapes
from autochron.envelope.canonical import canonical_value, encode_unsorted, snapshot
from autochron.envelope.types import label
from autochron.weaving.gate import Point

STILL, VALUE, OPAQUE = range(3)
"""What can't change, what is compared whole and can be changed again, and what can only be seen to change."""

_STILL_BASES = (
    *(type, enum.Enum, types.ModuleType),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType),
)
_STILL_TYPES = (type(None), bool, int, float, complex, str, bytes, range, slice, frozenset)
_SIZED = frozenset({list, dict, set, bytearray})

_kinds: dict[type, int] = dict.fromkeys(_STILL_TYPES, STILL)
kind_at = _kinds.get
"""From a type to one of the three, or None where `kind_of` was not asked yet."""


def kind_of(cls: type) -> int:
    """Tell how changes of a class's instances are told; kept for the next time."""
    still = issubclass(cls, _STILL_BASES)
    kind = _kinds[cls] = STILL if still else OPAQUE if shapes.kind_of(cls) == "none" else VALUE
    return kind


def _kind(value: Any) -> int:
    kind = kind_at(type(value))
    return kind_of(type(value)) if kind is None else kind


def is_still(values: tuple[Any, ...], caught: int = -1) -> bool:
    """Tell whether nothing among the values can change: the hot path of calls with plain arguments.

    `caught` is the index of `**kwargs`, whose dictionary is the callee's own and not the caller's.
    """
    for index, value in enumerate(values):
        kind = kind_at(type(value))
        if kind is None:
            kind = kind_of(type(value))
        if kind:
            if type(value) is tuple:
                if is_still(value):
                    continue
            elif index == caught and type(value) is dict and is_still(tuple(value.values())):
                continue
            return False
    return True


def argument_of(point: Point, arguments: tuple[Any, ...], value: Any) -> str | None:
    """Name the argument that a value is: a parameter, or `args.0` and `kwargs.name` for what those caught."""
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


NO_LOOKS: Mapping[int, bytes] = MappingProxyType({})


class Watch:
    """The arguments of one call, and how they looked before it."""

    __slots__ = ("_before", "_opaque", "_parameters", "_values", "arguments")

    def __init__(
        self, point: Point, arguments: tuple[Any, ...], looks: Mapping[int, bytes] = NO_LOOKS
    ) -> None:
        """Look at the arguments; `looks` is how some of them look, by identity, where that is known already."""
        caught = point.variadic[1]
        if caught is not None:
            # The callee may take members out of its own `**kwargs`; the caller's objects are those that were in it.
            arguments = tuple(
                dict(value) if name == caught else value
                for name, value in zip(point.parameters, arguments, strict=True)
            )
        self.arguments = arguments
        self._parameters = point.parameters
        self._values = values = [value for value in arguments if _kind(value) == VALUE]
        self._before = _look_at(values, looks) if values else b"[]"
        self._opaque: list[tuple[str, Any, Any]] = (
            [
                (name, value, _surface(value))
                for name, value in zip(point.parameters, arguments, strict=False)
                if _kind(value) == OPAQUE
            ]
            if len(values) < len(arguments)
            else []
        )

    def changes(self) -> tuple[bytes | None, tuple[str, ...]]:
        """Give the parameters that were changed in place, as they are now, and what of that can't be done again."""
        changed = {} if not self._values or _look(self._values) == self._before else self._changed()
        if not changed and not self._opaque:
            return None, ()
        beyond = [
            f"changed.{name}{where}: {label(type(value))}"
            for name, value, before in self._opaque
            if (now := _surface(value)) != before and (where := _first_change(type(value), before, now))
        ]
        if not changed:
            return None, tuple(beyond)
        encoded = codec.encode(changed)
        return encoded.body, (*below("changed", encoded.opaque), *beyond)

    def _changed(self) -> dict[str, Any]:
        named = zip(self._parameters, self.arguments, strict=False)
        values = {name: value for name, value in named if _kind(value) == VALUE}
        before = _parts(self._before)
        if len(before) != len(values):
            return values
        return {
            name: value
            for (name, value), part in zip(values.items(), before, strict=True)
            if _parts(_look([value])) != [part]
        }


def below(prefix: str, opaque: tuple[str, ...]) -> tuple[str, ...]:
    """Put the paths of opaque parts under a prefix."""
    return tuple(
        f"{prefix}{entry.removeprefix('(value)')}" if entry.startswith("(value):") else f"{prefix}.{entry}"
        for entry in opaque
    )


def _look_at(values: list[Any], looks: Mapping[int, bytes]) -> bytes:
    if not looks:
        return _look(values)
    try:
        parts = [looks.get(id(value)) or encode_unsorted(value) for value in values]
    except Exception:  # what msgspec refuses
        return _look(values)
    return b"[" + b",".join(parts) + b"]"


def _look(values: list[Any]) -> bytes:
    return snapshot(values) or canonical_value(values)


def _parts(body: bytes) -> list[Raw]:
    try:
        return decode(body, type=list[Raw])
    except ValueError:  # they could not be read at all
        return []


def _surface(value: Any) -> Any:
    """Give what an object that is no value shows of a change: its attributes, by identity and length.

    No deeper: such an object may hold half of the program. Arrays and tables show all that they hold.
    """
    cls = type(value)
    shape = arrays.shape_of(cls)
    if shape is not None:
        return {"values": shape(value)}
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = shapes.attributes(value, shapes.slots_of(cls))
    return {
        name: held
        if kind_at(type(held)) == STILL and type(held) is not frozenset
        else (id(held), len(held) if type(held) in _SIZED else None)
        for name, held in own.items()
    }


def _first_change(cls: type, before: dict[str, Any], now: dict[str, Any]) -> str:
    for name, held in now.items():
        # What a `cached_property` keeps is no change that anyone sees.
        cached = name not in before and hasattr(type(getattr_static(cls, name, None)), "__get__")
        if before.get(name) != held and not cached:
            return f".{name}"
    return next((f".{name}" for name in before if name not in now), "")
