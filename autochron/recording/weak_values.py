"""Objects of the program that are held weakly, where Python lets them be: what is looked at later, if it still lives then."""

from __future__ import annotations

import types
import weakref
from typing import Any, Final

_weakrefoffset_of: Any = type.__dict__["__weakrefoffset__"].__get__

_SUSPENDED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
"""Who holds a weak reference to one of these is asked for (see `crossing.ownership.is_shared`)."""


class _Weak(weakref.ref[Any]):
    """A reference of ours: an argument may be a `weakref.ref` itself."""

    __slots__ = ()


GONE: Final = object()
"""Stands for an object that has died."""


def weak(value: Any) -> Any:
    """Return what holds a value weakly; the value where that can't be done, as with a list."""
    cls = type(value)
    return _Weak(value) if _weakrefoffset_of(cls) and cls not in _SUSPENDED else value


def alive(held: Any) -> Any:
    """Return the value that `weak` returned something for; `GONE` where it has died."""
    if type(held) is not _Weak:
        return held
    value = held()
    return GONE if value is None else value
