"""Hold objects of the program weakly where Python can, to look at them later if they are still alive."""

from __future__ import annotations

import types
import weakref
from typing import Any, Final

_weakrefoffset_of: Any = type.__dict__["__weakrefoffset__"].__get__

_SUSPENDED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
"""Held strongly: `crossing.ownership.is_shared` counts the weak references to these."""


class _Weak(weakref.ref[Any]):
    """A weak reference of ours; a class of its own, since an argument may itself be a `weakref.ref`."""

    __slots__ = ()


GONE: Final = object()
"""The value of `alive` for an object that has died."""


def weak(value: Any) -> Any:
    """Return a weak reference to a value; the value itself if it can't have one, as a list can't."""
    cls = type(value)
    return _Weak(value) if _weakrefoffset_of(cls) and cls not in _SUSPENDED else value


def alive(reference: Any) -> Any:
    """Return the value behind a result of `weak`; `GONE` if it has died."""
    if type(reference) is not _Weak:
        return reference
    value = reference()
    return GONE if value is None else value
