"""Find objects that the garbage collector knows, with the list of all of them alive as briefly as can be.

The collector also knows a tuple that another thread is building, as by `tuple(generator)`. Python can't finish it while
something else refers to it: the program would get a SystemError ("bad argument to internal function"). So the list of all
objects is searched by one call of C, which drops it before another thread runs. Between the call that makes the list and
that call other threads may still run; there is no way to do both in one.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from itertools import chain, compress, repeat
from operator import call, is_
from typing import Any

from autochron._runtime.bare import identity

_subclasses_of: Any = type.__dict__["__subclasses__"]


def instances_of(*bases: type) -> list[Any]:
    """Return the objects whose type is one of these classes or extends one. No code of the program runs."""
    kinds = {identity(kind) for base in bases for kind in _with_subclasses(base)}
    return _chosen(lambda types: map(kinds.__contains__, map(identity, types)))


def exact_instances_of(kind: type) -> list[Any]:
    """Return the objects whose type is a class itself."""
    return _chosen(lambda types: map(is_, types, repeat(kind)))


def is_known(wanted: object) -> bool:
    """Return whether the collector knows an object: whether it was made after the last `gc.freeze()`."""
    # A sum goes on to the end. `any` would stop, and leave a cycle of the list and its iterator.
    return bool(sum(map(is_, chain.from_iterable(map(call, (gc.get_objects,))), repeat(wanted))))


def _chosen(choose: Callable[[Iterator[type]], Iterator[bool]]) -> list[Any]:
    """Return the objects that are chosen by their types."""
    objects = gc.get_objects()
    search = [compress(iter(objects), choose(map(type, iter(objects))))]
    del objects
    return list(search.pop())  # nothing refers to the search but this call


def _with_subclasses(base: type) -> list[type]:
    kinds = [base]
    for kind in kinds:
        kinds += _subclasses_of(kind)
    return kinds
