"""The flags of code objects. Not imported from `inspect`, whose import takes 6 ms at every start."""

from __future__ import annotations

from types import CodeType

CO_OPTIMIZED = 1
CO_NEWLOCALS = 2
CO_VARARGS = 4
CO_VARKEYWORDS = 8
CO_GENERATOR = 32
CO_COROUTINE = 128
CO_ITERABLE_COROUTINE = 256
CO_ASYNC_GENERATOR = 512


def function_kind(code: CodeType) -> str:
    """Return the kind of a function with this code: `sync`, `coroutine`, `generator` or `async_generator`."""
    if code.co_flags & CO_ASYNC_GENERATOR:
        return "async_generator"
    if code.co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE):
        return "coroutine"
    return "generator" if code.co_flags & CO_GENERATOR else "sync"


def parameter_names(code: CodeType) -> tuple[tuple[str, ...], tuple[str | None, str | None]]:
    """Return the names of all parameters in the order of the frame's slots, and (name of `*args`, name of `**kwargs`)."""
    count = code.co_argcount + code.co_kwonlyargcount
    args = kwargs = None
    if code.co_flags & CO_VARARGS:
        args = code.co_varnames[count]
        count += 1
    if code.co_flags & CO_VARKEYWORDS:
        kwargs = code.co_varnames[count]
        count += 1
    return code.co_varnames[:count], (args, kwargs)
