"""Admission: which types and functions of the program a stored value may name, and what may be set on an object.

A trace is data, and may come from anyone. A name in it is found only if the program has imported its module, and
nothing found is called while a value is decoded. Beyond that:

- A function must be defined at the top level of a module of the project.
- A type that stands for itself must be one of the project, a value type, or an exception.
- An object is made without its class's code. Only classes of the project run hooks (`__post_init__`, `_missing_`,
  `__del__`), and those only in a replay, which runs the project anyway.
- An attribute that is set on an object must not hide a method of its class.

Nothing that the trace says about itself widens this. A value that would be refused here is written as opaque when it is
recorded.
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
"""Value types that no other sign tells, by module."""

_HOOKS = ("__post_init__",)
_CACHED = functools.cached_property


def is_own_module(name: object) -> bool:
    """Return whether a name is that of an imported module of the project."""
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
    """Return why no instance of a class may be made: making one would run foreign code. None where one may."""
    if is_own_type(cls):
        return None
    if hasattr(cls, "__del__"):
        return "its class belongs to a library and runs code when it is forgotten"
    if any(hasattr(cls, hook) for hook in _HOOKS) and shapes.kind_of(cls) == "struct":
        return "its class belongs to a library and runs code when it is made"
    return None


def refusal_of_member(cls: type[enum.Enum]) -> str | None:
    """Return why no member of an enumeration may be found by its value; None where it may. By name it needs no code."""
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
    """Refuse attributes that would hide a method or another descriptor of a class.

    Args:
        cls: the class of the object that is made.
        names: the names of the attributes.
        fields: the fields of the class, which may be set.

    Raises:
        CodecError: a name would hide what the class defines.
    """
    declared = frozenset(fields)
    for name in names:
        if name in declared or not isinstance(name, str):
            continue
        attribute = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
        if attribute is None or isinstance(attribute, (_CACHED, types.MemberDescriptorType)):
            continue
        if callable(attribute) or hasattr(type(attribute), "__get__"):
            raise CodecError(
                f"a stored {cls.__qualname__} has an attribute {name}, which would stand before what its class defines;"
                " record the trace again"
            )
