"""Wrappers that others put on what hands work over: tracers such as Sentry's and ddtrace's stand on threads and pools.

What passes through them is handed over by whoever called them.
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
"""So many callables are looked through for one that is wrapped."""


def path_to(place: str) -> list[Any]:
    """Return what stands at `module:qualname` and what that wraps, down to the module's own function of that name.

    Nothing where the module isn't imported or where its own function isn't found.
    """
    name, _, qualname = place.partition(":")
    module = sys.modules.get(name)
    owner, _, attribute = qualname.rpartition(".")
    standing = vars(getattr(module, owner, object)).get(attribute)
    outer: dict[int, tuple[Any, Any]] = {id(standing): (standing, None)}
    waiting = [standing]
    for value in waiting:  # grows as it goes
        if type(value) is FunctionType and (value.__module__, value.__code__.co_qualname) == (name, qualname):
            return [*_back(outer, value)][::-1]
        for inner in _inside(value):
            if id(inner) not in outer and len(waiting) < _MOST:
                outer[id(inner)] = inner, value
                waiting.append(inner)
    return []


def wrapping() -> frozenset[CodeType]:
    """Return the code of what stands on functions that hand work over, and is not theirs."""
    wrappers = (each for place in _HANDING_OVER for each in path_to(place)[:-1])
    functions = (value._self_wrapper if _is_wrapt(value) else value for value in wrappers)  # noqa: SLF001 - wrapt's name
    return frozenset(each.__code__ for each in functions if type(each) is FunctionType)


def _back(outer: dict[int, tuple[Any, Any]], value: Any) -> Iterator[Any]:
    while value is not None:
        yield value
        value = outer[id(value)][1]


def _inside(value: Any) -> Iterator[Any]:
    """Yield what a callable may wrap: what it says it does, and what it closes over. No code of others runs for that."""
    if type(value) is FunctionType:
        yield from (each for each in (value.__dict__.get("__wrapped__"),) if each is not None)
        for cell in value.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:  # nothing is in it yet
                continue
            if type(held) in _KINDS or _is_wrapt(held):
                yield held
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


_KINDS: frozenset[type] = frozenset({FunctionType, classmethod, staticmethod, partial, partialmethod})
