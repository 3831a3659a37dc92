"""What stands in the place of a callable of C while it is watched, looks like it, and calls the original.

Its frames are left out of tracebacks: `weaving.gate.THROUGH` has the name of this module.
"""

from __future__ import annotations

import copy
import functools
import operator
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from autochron.detect.catalogue import Source

Hook = Callable[..., Any]
"""Called before a source; it gives how the call is to go where its value is recorded, else None."""


def _shown(name: str) -> Any:
    """Return an attribute that is the original's."""
    return property(operator.attrgetter(f"autochron_original.{name}"))


# What every class statement sets anew in the class's own dict, in front of what it would inherit.
DOC, MODULE, _CLASS, _REPR = (_shown(name) for name in ("__doc__", "__module__", "__class__", "__repr__"))
_GETATTR: Any = property(lambda self: functools.partial(getattr, self.autochron_original))
CALLED: Any = property(operator.attrgetter("autochron_called"))


class Stand:  # noqa: D101 - it shows the original's
    # Stands in the place of a callable in a module, and looks like it. What fails on it fails on the original, and is called
    # by the interpreter: there is no frame of ours in the traceback.

    __slots__ = ("__weakref__", "autochron_called", "autochron_hit", "autochron_original", "autochron_source")

    def __init__(
        self, original: Any, source: Source, hit: Hook | None = None, called: Callable[..., Any] | None = None
    ) -> None:
        self.autochron_original = original
        self.autochron_source = source
        self.autochron_hit = hit
        self.autochron_called = called

    __class__ = _CLASS
    __doc__ = DOC
    __module__ = MODULE
    __getattr__ = _GETATTR
    __repr__ = _REPR
    __hash__ = _shown("__hash__")
    __reduce__ = _shown("__reduce__")

    def __eq__(self, other: object) -> Any:
        return self.autochron_original.__eq__(other.autochron_original if isinstance(other, Stand) else other)

    def __copy__(self) -> Any:
        copied = copy.copy(self.autochron_original)
        return self if copied is self.autochron_original else copied

    def __deepcopy__(self, memo: Any) -> Any:
        copied = copy.deepcopy(self.autochron_original, memo)
        return self if copied is self.autochron_original else copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        reduced = self.autochron_original.__reduce_ex__(protocol)
        if isinstance(reduced, str) and not self._stands_as(reduced):
            # By name pickle finds the original, which this isn't. A copy of a function of C is that function.
            return copy.copy, (self.autochron_original,)
        return reduced

    def _stands_as(self, name: str) -> bool:
        module = sys.modules.get(self.autochron_original.__module__ or "builtins")
        return module is not None and getattr(module, name, None) is self


def framed(original: Any, hook: Hook) -> Callable[..., Any]:
    """Return what calls a hook with the arguments and then the original, from our frame: what lies beneath is nested."""

    def call(*args: Any, **kwargs: Any) -> Any:
        through = hook(args, kwargs)
        return original(*args, **kwargs) if through is None else through(original, *args, **kwargs)

    return call


class StandMethod:  # noqa: D101 - it shows the original's
    # Stands in the place of a class method of C in the dict of its type, and gives what stands for the bound one.

    __slots__ = ("_called", "_hook", "_kind", "_owner", "autochron_original", "autochron_source")

    def __init__(self, original: Any, source: Source, owner: type, kind: type[Stand], hook: Hook) -> None:
        self.autochron_original = original
        self.autochron_source = source
        self._kind = kind
        self._owner = owner
        self._hook = hook
        self._called = checked(original.__get__(None, owner), hook) if source.asks else None

    __class__ = _CLASS
    __doc__ = DOC
    __getattr__ = _GETATTR
    __repr__ = _REPR

    def __get__(self, instance: Any, owner: Any = None) -> Stand:
        bound = self.autochron_original.__get__(instance, owner)
        called = self._called
        if called is not None and owner is not self._owner:
            called = checked(bound, self._hook)
        return self._kind(bound, self.autochron_source, self._hook, called)


_AGAIN = (TypeError, ValueError, OverflowError)
"""What these raise when their arguments are no good."""


def checked(original: Any, hook: Hook) -> type:
    """Return what calls a hook with the arguments and then the original, whose value they decide, and whether it raises.

    Where it raises, it is called once more, by the interpreter: a class whose `__new__` gives an instance has its
    `__init__` called with the same arguments. So no frame of ours is in the traceback.
    """

    def make(cls: type, /, *args: Any, **kwargs: Any) -> Any:
        through = hook(args, kwargs)
        if through is not None:
            return through(original, *args, **kwargs)
        try:
            return original(*args, **kwargs)
        except _AGAIN:
            return object.__new__(cls)

    return type(original.__name__, (), {"__slots__": (), "__new__": make, "__init__": original})


CALLING = tuple(
    constant
    for function in (framed, checked)
    for constant in function.__code__.co_consts
    if isinstance(constant, CodeType)
)
"""The code that calls originals."""


class Forsaking:
    """Stands in the dict of a type for a method, and tells that someone asked for it.

    Gives the method itself: no frame of ours is in the tracebacks of what it raises.
    """

    __slots__ = ("_original", "_tell")

    def __init__(self, original: Any, tell: Callable[[], None]) -> None:
        self._original = original
        self._tell = tell

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is not None:
            self._tell()
        return self._original.__get__(instance, owner)
