"""Stand-ins: they replace a C callable while it is watched, look like it, and call the original."""

from __future__ import annotations

import copy
import functools
import operator
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from autochron._runtime.own_frames import drop_frame
from autochron.detect.catalogue import Source

Hook = Callable[..., Any]
"""Called before a source. It returns the callable that makes the call if its value is recorded, else None."""


def _from_original(name: str) -> Any:
    """Return a property that reads an attribute of the original."""
    return property(operator.attrgetter(f"autochron_original.{name}"))


# A class statement sets these in each class's own dict, so a subclass has to repeat them.
DOC, MODULE, _CLASS, _REPR = (
    _from_original(name) for name in ("__doc__", "__module__", "__class__", "__repr__")
)
_GETATTR: Any = property(lambda self: functools.partial(getattr, self.autochron_original))
CALLED: Any = property(operator.attrgetter("autochron_called"))


class StandIn:  # noqa: D101 - `__doc__` shows the original's
    # Replaces a callable in a module, and looks like it. An operation that fails on it fails on the original, which the
    # interpreter calls: no frame of ours is in the traceback.

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
    __hash__ = _from_original("__hash__")
    __reduce__ = _from_original("__reduce__")

    def __eq__(self, other: object) -> Any:
        return self.autochron_original.__eq__(
            other.autochron_original if isinstance(other, StandIn) else other
        )

    def __copy__(self) -> Any:
        copied = copy.copy(self.autochron_original)
        return self if copied is self.autochron_original else copied

    def __deepcopy__(self, memo: Any) -> Any:
        copied = copy.deepcopy(self.autochron_original, memo)
        return self if copied is self.autochron_original else copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        reduced = self.autochron_original.__reduce_ex__(protocol)
        if isinstance(reduced, str) and not self._is_found_as(reduced):
            # Pickle finds the original by its name, and not this object. A copy of a C function is the function itself.
            return copy.copy, (self.autochron_original,)
        return reduced

    def _is_found_as(self, name: str) -> bool:
        module = sys.modules.get(self.autochron_original.__module__ or "builtins")
        return module is not None and getattr(module, name, None) is self


def framed(original: Any, hook: Hook) -> Callable[..., Any]:
    """Return a function that calls a hook with the arguments, and then the original.

    It calls the original from a frame of ours, beneath which no source is counted.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        through = hook(args, kwargs)
        try:
            return original(*args, **kwargs) if through is None else through(original, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise

    return call


class MethodStandIn:  # noqa: D101 - `__doc__` shows the original's
    # Replaces a class method of a C type in the type's dict. Attribute access returns a stand-in for the bound method.

    __slots__ = ("_called", "_hook", "_kind", "_owner", "autochron_original", "autochron_source")

    def __init__(self, original: Any, source: Source, owner: type, kind: type[StandIn], hook: Hook) -> None:
        self.autochron_original = original
        self.autochron_source = source
        self._kind = kind
        self._owner = owner
        self._hook = hook
        self._called = framed(original.__get__(None, owner), hook) if source.calls_source else None

    __class__ = _CLASS
    __doc__ = DOC
    __getattr__ = _GETATTR
    __repr__ = _REPR

    def __get__(self, instance: Any, owner: Any = None) -> StandIn:
        bound = self.autochron_original.__get__(instance, owner)
        called = self._called
        if called is not None and owner is not self._owner:
            called = framed(bound, self._hook)
        return self._kind(bound, self.autochron_source, self._hook, called)


CALLING = next(constant for constant in framed.__code__.co_consts if isinstance(constant, CodeType))
"""The code object that calls originals."""


class DiscardMarker:
    """Replaces a method in the dict of a type, and calls `notify` when the method is looked up on an instance.

    The lookup returns the method itself, so no frame of ours is in the tracebacks of its errors.
    """

    __slots__ = ("_notify", "_original")

    def __init__(self, original: Any, notify: Callable[[], None]) -> None:
        self._original = original
        self._notify = notify

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is not None:
            self._notify()
        return self._original.__get__(instance, owner)
