"""Find the wrappers that others, such as the tracers of Sentry and ddtrace, put on functions of threads and pools.

What passes through them counts as handed over by their caller.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial, partialmethod
from types import CodeType, FunctionType
from typing import Any

_HANDING_OVER = (
    "threading:Thread.start",
    "concurrent.futures.thread:ThreadPoolExecutor.submit",
    "asyncio.base_events:BaseEventLoop.create_task",
    "asyncio.base_events:BaseEventLoop.run_in_executor",
)

_MOST = 64
"""The most callables that are searched for the one that is wrapped."""


def path_to(place: str) -> list[Any]:
    """Return what is at `module:qualname` and what it wraps, from the outside down to the module's own function.

    An empty list if the module isn't imported, or its own function isn't found.
    """
    name, _, qualname = place.partition(":")
    module = sys.modules.get(name)
    owner, _, attribute = qualname.rpartition(".")
    outermost = vars(getattr(module, owner, object)).get(attribute)
    wrapper_of: dict[int, tuple[Any, Any]] = {id(outermost): (outermost, None)}
    waiting = [outermost]
    for value in waiting:  # the loop appends to it
        if type(value) is FunctionType and (value.__module__, value.__code__.co_qualname) == (name, qualname):
            return [*_outward(wrapper_of, value)][::-1]
        for inner in _wrapped_by(value):
            if id(inner) not in wrapper_of and len(waiting) < _MOST:
                wrapper_of[id(inner)] = inner, value
                waiting.append(inner)
    return []


def wrapping() -> frozenset[CodeType]:
    """Return the code of the wrappers around the functions that hand work over."""
    wrappers = (wrapper for place in _HANDING_OVER for wrapper in path_to(place)[:-1])
    functions = (value._self_wrapper if _is_wrapt(value) else value for value in wrappers)  # noqa: SLF001 - wrapt's name
    return frozenset(function.__code__ for function in functions if type(function) is FunctionType)


def _outward(wrapper_of: dict[int, tuple[Any, Any]], value: Any) -> Iterator[Any]:
    """Yield a callable and the wrappers around it, from the inside out."""
    while value is not None:
        yield value
        value = wrapper_of[id(value)][1]


def _wrapped_by(value: Any) -> Iterator[Any]:
    """Yield the callables that a callable may wrap: its `__wrapped__` and those in its closure. No foreign code runs."""
    if type(value) is FunctionType:
        wrapped = value.__dict__.get("__wrapped__")
        if wrapped is not None:
            yield wrapped
        for cell in value.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:  # the cell is still empty
                continue
            if type(content) in _CALLABLE_TYPES or _is_wrapt(content):
                yield content
    elif type(value) in (classmethod, staticmethod):
        yield value.__func__
    elif type(value) in (partial, partialmethod):
        yield value.func
    elif _is_wrapt(value):
        yield value.__wrapped__


def _is_wrapt(value: Any) -> bool:
    """Return whether this is a wrapper of the library wrapt, which most tracers use."""
    wrapper = getattr(sys.modules.get("wrapt"), "FunctionWrapper", None)
    return wrapper is not None and issubclass(type(value), wrapper)


_CALLABLE_TYPES: frozenset[type] = frozenset(
    {FunctionType, classmethod, staticmethod, partial, partialmethod}
)
