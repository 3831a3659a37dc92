"""Which types and functions of the program a stored value may name, and what may be set on an object.

A trace is data, and may come from anyone. What it names was imported by the program, or it isn't found; it is never called
while a value is decoded. Beyond that:

- A function is one of a project's module, defined at its top level.
- A type that stands for itself is one of the project, a value type, or an exception.
- An object is made without its class's code. Only classes of the project run hooks (`__post_init__`, `_missing_`,
  `__del__`), and those only in a replay, which runs the project anyway.
- What is set on an object stands before no method of its class.

Nothing that the trace says about itself widens this. What would be refused here is told as opaque when it is recorded.
"""

from __future__ import annotations

import enum
import functools
import sys
import types
from collections.abc import Iterable
from typing import Any

from autochron.envelope import shapes
from autochron.envelope.objects import is_own_file
from autochron.errors import CodecError

_VALUE_TYPES = {
    "builtins": frozenset({"NoneType", "bool", "object", "range", "slice"}),
    "types": frozenset(
        {"NoneType", "EllipsisType", "NotImplementedType", "MappingProxyType", "SimpleNamespace"}
    ),
    "datetime": frozenset({"date", "datetime", "time", "timedelta", "timezone"}),
    "zoneinfo": frozenset({"ZoneInfo"}),
    "decimal": frozenset({"Decimal"}),
    "fractions": frozenset({"Fraction"}),
    "uuid": frozenset({"UUID"}),
    "pathlib": frozenset(
        {"PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath", "Path", "PurePath"}
    ),
}
"""Value types that are told by no other sign, by the module that has them."""

_HOOKS = ("__post_init__",)
_CACHED = functools.cached_property


def is_own_module(name: object) -> bool:
    """Return whether an imported module of that name is the project's."""
    module = sys.modules.get(name) if isinstance(name, str) else None
    file = vars(module).get("__file__") if type(module) is types.ModuleType else None
    return isinstance(file, str) and is_own_file(file)


def is_own_type(cls: type) -> bool:
    """Return whether a class is defined in a module of the project."""
    return is_own_module(type.__getattribute__(cls, "__module__"))


def refusal_of_reference(value: Any) -> str | None:
    """Return why a type or a function may not stand in a stored value; None where it may."""
    if isinstance(value, type):
        if is_own_type(value) or shapes.kind_of(value) != "none" or _is_value_type(value):
            return None
        return "it is a type of a library, and no value type"
    if not is_own_module(getattr(value, "__module__", None)):
        return "it is a function of a library"
    if "." in getattr(value, "__qualname__", "."):
        return "it is not defined at the top level of its module"
    return None


def refusal_of_type(cls: type) -> str | None:
    """Return why no object of a class may be made, for it would run code that is not the project's; None where it may."""
    if is_own_type(cls):
        return None
    if hasattr(cls, "__del__"):
        return "its class belongs to a library and runs code when it is forgotten"
    if any(hasattr(cls, hook) for hook in _HOOKS) and shapes.kind_of(cls) == "struct":
        return "its class belongs to a library and runs code when it is made"
    return None


def refusal_of_member(cls: type[enum.Enum]) -> str | None:
    """Return why no member of an enumeration may be found by its value; None where it may. A name needs no code."""
    missing = getattr(cls, "_missing_", None)
    if is_own_type(cls) or getattr(missing, "__func__", None) in _ENUM_MISSING:
        return None
    return "its enumeration belongs to a library and runs code to find a member"


_ENUM_MISSING = frozenset(
    vars(base)["_missing_"].__func__ for base in (enum.Enum, enum.Flag) if "_missing_" in vars(base)
)


def _is_value_type(cls: type) -> bool:
    for module, names in _VALUE_TYPES.items():
        space = vars(sys.modules.get(module, types))
        if cls.__name__ in names and space.get(cls.__name__, getattr(types, cls.__name__, cls)) is cls:
            return True
    return False


def refuse_shadowing(cls: type, names: Iterable[object], fields: Iterable[str] = ()) -> None:
    """Raise CodecError where an attribute that is no field would stand before a method of the class."""
    known = frozenset(fields)
    for name in names:
        if name in known or not isinstance(name, str):
            continue
        held = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
        if held is None or isinstance(held, (_CACHED, types.MemberDescriptorType)):
            continue
        if callable(held) or hasattr(type(held), "__get__"):
            raise CodecError(
                f"a stored {cls.__qualname__} has an attribute {name}, which would stand before what its class defines;"
                " record the trace again"
            )
