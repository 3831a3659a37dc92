"""What an object and a class hold, read without running any code of theirs.

`getattr` and `vars` run `__getattribute__`, `__getattr__`, properties and what a metaclass defines; `isinstance` asks an
object for its `__class__`.
"""

from __future__ import annotations

import types
import weakref
from collections import defaultdict, deque
from collections.abc import Callable
from gc import get_referents
from typing import Any

from autochron._runtime.class_table import ClassTable

identity: Callable[[object], int] = object.__hash__
"""Return a number that no other living object has, as `id` does.

`id` raises an audit event, which our hook hears: then it takes 0.17 µs, and this takes 0.06.
"""

bases_of: Any = type.__dict__["__mro__"].__get__
"""Return a class and its bases, in the order in which attributes are looked up."""
space_of: Any = type.__dict__["__dict__"].__get__
"""Return what a class itself defines, by name."""

_MADE_IN_C = (types.MemberDescriptorType, types.GetSetDescriptorType)
_HEAP_TYPE = 1 << 9
_FORWARDING = (weakref.ProxyType, weakref.CallableProxyType, super, types.MethodType)
_flags_of: Any = type.__dict__["__flags__"].__get__
_names_of = {name: type.__dict__[name].__get__ for name in ("__module__", "__qualname__", "__name__")}
_of_errors = {
    name: vars(BaseException)[name].__get__
    for name in ("args", "__cause__", "__context__", "__suppress_context__", "__traceback__")
}


def class_attribute(cls: type, name: str) -> Any:
    """Return what an attribute of a class is defined as, unbound; None where it has none."""
    for base in bases_of(cls):
        space = space_of(base)
        if name in space:
            return space[name]
    return None


def dictionary_of(value: Any) -> dict[Any, Any] | None:
    """Return the dictionary that keeps an object's attributes; None where it has none, or shows another in its place."""
    if _shows_another.find(type(value), _has_property):
        return None
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return own if issubclass(type(own), dict) else None


def _has_property(cls: type) -> bool:
    held = class_attribute(cls, "__dict__")
    return held is not None and type(held) not in _MADE_IN_C


_shows_another: ClassTable[bool] = ClassTable()


def slot(value: Any, name: str) -> Any:
    """Return what stands in a slot of an object; None where it has no such slot, or nothing stands there."""
    held = class_attribute(type(value), name)
    if type(held) not in _MADE_IN_C:
        return None
    try:
        return held.__get__(value)
    except AttributeError:
        return None


def key_text(key: Any) -> str:
    """Return a key of a dictionary as text: as `str` does for those of Python's own types, else the name of its type."""
    kind = type(key)
    if kind in _SCALAR_KEYS:
        return str(key)
    for base, write in ((str, str.__str__), (int, int.__repr__), (float, float.__repr__)):
        if issubclass(kind, base):
            return write(key)
    return f"({text(kind, '__qualname__')})"


_SCALAR_KEYS = frozenset({str, int, float, bool, bytes, complex, type(None)})


def of_error(error: BaseException, name: str) -> Any:
    """Return `args`, or what Python notes of an exception that is raised."""
    return _of_errors[name](error)


def text(value: Any, name: str) -> str:
    """Return the `__module__`, the `__name__` or the `__qualname__` of a class, a function or another object; or ""."""
    kind = type(value)
    try:
        if issubclass(kind, type):
            found = _names_of[name](value)
        elif kind is types.MethodType:
            return text(value.__func__, name)
        elif not _flags_of(kind) & _HEAP_TYPE and kind not in _FORWARDING:
            found = getattr(value, name, "")  # made in C
        else:
            wrapped = slot(value, "__wrapped__")
            if wrapped is not None:  # a proxy of wrapt's
                return text(wrapped, name)
            found = (dictionary_of(value) or {}).get(name, "")
            if name == "__module__" and not found:
                found = _names_of[name](kind)
    except Exception:
        return ""
    return found if issubclass(type(found), str) else ""


factory_of: Any = vars(defaultdict)["default_factory"].__get__
"""Return what a `defaultdict` makes its values with."""
maxlen_of: Any = vars(deque)["maxlen"].__get__
"""Return how many items a `deque` may hold; None for any number."""


def mapping_of(proxy: types.MappingProxyType[Any, Any]) -> dict[Any, Any]:
    """Return a copy of the dictionary behind a read-only view; of another mapping what it says of itself."""
    [held] = get_referents(proxy)
    return dict(dict.items(held)) if issubclass(type(held), dict) else dict(proxy)
