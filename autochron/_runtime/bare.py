"""Read the attributes of objects and classes without running any code of theirs.

`getattr` and `vars` run `__getattribute__`, `__getattr__`, properties and methods of a metaclass, and `isinstance` reads an
object's `__class__`.
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

`id` raises an audit event. With our hook it takes 0.17 µs, and this takes 0.06 µs.
"""

bases_of: Any = type.__dict__["__mro__"].__get__
"""Return a class and its bases, in the order in which attributes are looked up."""
space_of: Any = type.__dict__["__dict__"].__get__
"""Return the namespace of a class, without those of its bases."""

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
    """Return an attribute of a class or its bases, unbound; None if there is none."""
    for base in bases_of(cls):
        namespace = space_of(base)
        if name in namespace:
            return namespace[name]
    return None


def dictionary_of(value: Any) -> dict[Any, Any] | None:
    """Return the dictionary with an object's attributes; None if it has none, or its class defines another `__dict__`."""
    if _shows_another.find(type(value), _has_property):
        return None
    try:
        dictionary = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return dictionary if issubclass(type(dictionary), dict) else None


def _has_property(cls: type) -> bool:
    attribute = class_attribute(cls, "__dict__")
    return attribute is not None and type(attribute) not in _MADE_IN_C


_shows_another: ClassTable[bool] = ClassTable()


def slot(value: Any, name: str) -> Any:
    """Return the value in a slot of an object; None if it has no such slot or the slot is empty."""
    descriptor = class_attribute(type(value), name)
    if type(descriptor) not in _MADE_IN_C:
        return None
    try:
        return descriptor.__get__(value)
    except AttributeError:
        return None


def key_text(key: Any) -> str:
    """Return a dictionary's key as text.

    That is `str` of a key of a scalar type or of a subclass of `str`, `int` or `float`, and the type's name of any other key.
    """
    kind = type(key)
    if kind in _SCALAR_KEYS:
        return str(key)
    for base, write in ((str, str.__str__), (int, int.__repr__), (float, float.__repr__)):
        if issubclass(kind, base):
            return write(key)
    return f"({text(kind, '__qualname__')})"


_SCALAR_KEYS = frozenset({str, int, float, bool, bytes, complex, type(None)})


def of_error(error: BaseException, name: str) -> Any:
    """Return an exception's `args`, or one of the attributes that Python sets when it is raised, such as `__cause__`."""
    return _of_errors[name](error)


def text(value: Any, name: str) -> str:
    """Return the `__module__`, `__name__` or `__qualname__` of a class, function or other object; empty if it has none."""
    kind = type(value)
    try:
        if issubclass(kind, type):
            value_text = _names_of[name](value)
        elif kind is types.MethodType:
            return text(value.__func__, name)
        elif not _flags_of(kind) & _HEAP_TYPE and kind not in _FORWARDING:
            value_text = getattr(value, name, "")  # made in C
        else:
            wrapped = slot(value, "__wrapped__")
            if wrapped is not None:  # a proxy of wrapt's
                return text(wrapped, name)
            value_text = (dictionary_of(value) or {}).get(name, "")
            if name == "__module__" and not value_text:
                value_text = _names_of[name](kind)
    except Exception:
        return ""
    return value_text if issubclass(type(value_text), str) else ""


factory_of: Any = vars(defaultdict)["default_factory"].__get__
"""Return the `default_factory` of a `defaultdict`."""
maxlen_of: Any = vars(deque)["maxlen"].__get__
"""Return the `maxlen` of a `deque`; None if it is unbounded."""


def mapping_of(proxy: types.MappingProxyType[Any, Any]) -> dict[Any, Any]:
    """Return a copy of the dictionary behind a read-only view; a view of another mapping is read by its own methods."""
    [mapping] = get_referents(proxy)
    return dict(dict.items(mapping)) if issubclass(type(mapping), dict) else dict(proxy)
