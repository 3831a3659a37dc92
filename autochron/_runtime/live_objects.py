"""Find objects that the garbage collector knows, with the list of all of them alive as briefly as can be.

The collector also knows a tuple that another thread is building, as by `tuple(generator)`. Python can't finish it while
something else refers to it: the program would get a SystemError ("bad argument to internal function"). So one call of C
makes the list of all objects, searches it and drops it. No other thread runs meanwhile.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, compress, repeat
from operator import call, is_
from types import CodeType, FunctionType
from typing import Any

from autochron._runtime.bare import identity

_COLLECTS_INSIDE = sys.version_info < (3, 12)
"""Whether the collector may run inside of a call of C, and with it code that lets other threads run."""

_subclasses_of: Any = type.__dict__["__subclasses__"]


def instances_of(*bases: type) -> list[Any]:
    """Return the objects whose type is one of these classes or extends one. No code of the program runs."""
    return _of_types({identity(kind) for base in bases for kind in with_subclasses(base)})


def exact_instances_of(kind: type) -> list[Any]:
    """Return the objects whose type is a class itself."""
    return _of_types({identity(kind)})


def functions_of(code: CodeType) -> list[FunctionType]:
    """Return the functions that have this code, in a third of the time that it takes to look at all functions."""
    found = _of_types({identity(FunctionType)}, map(gc.get_referrers, [code]))
    return [function for function in found if function.__code__ is code]


def is_known(wanted: object) -> bool:
    """Return whether the collector knows an object: whether it was made after the last `gc.freeze()`."""
    # A sum goes on to the end. `any` would stop, and leave a cycle of the list and its iterator.
    return bool(_uncollected(sum, [map(is_, chain.from_iterable(_lists()), repeat(wanted))]))


_frozen_by_us = 0


def freeze_ours() -> None:
    """Set all objects so far apart from what the collector visits: before the program has any."""
    global _frozen_by_us  # noqa: PLW0603 - the collector belongs to the process
    gc.freeze()
    if sys.version_info >= (3, 14):  # nothing asks before; to count them takes a fraction of a millisecond
        _frozen_by_us = gc.get_freeze_count()


def has_frozen() -> bool:
    """Return whether the program has called `gc.freeze()`, so that the collector doesn't know all of its objects."""
    return gc.get_freeze_count() > _frozen_by_us


def _of_types(kinds: set[int], source: Iterator[list[Any]] | None = None) -> list[Any]:
    """Return the objects whose type has one of these identities.

    Args:
        kinds: the identities.
        source: makes the list of objects when it is read; by default that of all objects.

    Nothing runs before the last call, which drops all that it made. What is made before the list may keep no item of it, as
    `zip`, `tee` and `tuple` do: the list contains them, so it would be in a cycle.
    """
    lists = chain.from_iterable(map(repeat, source or _lists(), repeat(2)))  # the same list twice
    choices: Iterator[Any] = lists
    for function in (type, identity, kinds.__contains__):
        choices = map(partial(map, function), choices)
    found: list[Any] = _uncollected(list, [chain.from_iterable(map(compress, lists, choices))])
    return found


def _uncollected(read: Callable[[Any], Any], search: list[Iterator[Any]]) -> Any:
    """Return what a function of C makes of a search, which the collector must not interrupt.

    Args:
        read: the function.
        search: an iterator. It is taken out, so that only the call refers to it.
    """
    if not _COLLECTS_INSIDE or not gc.isenabled():
        return read(search.pop())
    gc.disable()
    try:
        return read(search.pop())
    finally:
        gc.enable()


def _lists() -> Iterator[list[Any]]:
    """Return an iterator whose only item is the list of all objects, made when it is read."""
    return map(call, (gc.get_objects,))


def with_subclasses(base: type) -> list[type]:
    """Return a class and all classes that extend it, each once."""
    kinds = [base]
    seen = {identity(base)}
    for kind in kinds:
        for extended in _subclasses_of(kind):
            if identity(extended) not in seen:
                seen.add(identity(extended))
                kinds.append(extended)
    return kinds
