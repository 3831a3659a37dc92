"""Find the plain function in an object that a framework made of it, such as a tool under a decorator.

No code of the program or of the library runs: attributes are read from dictionaries and slots, and closures from cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from autochron.envelope import shapes

_DEEP = 6
"""How many attributes and closures lie at most between the object and its function."""

_MANY = 2_000
"""The most objects that are looked at."""

_NAMES = ("func", "coroutine", "function", "fn")
"""Attributes in which tools hold a function that has another name."""


def held_function(value: Any, qualname: str = "") -> FunctionType | None:
    """Return the function of which a framework made an object.

    That is the one function of this qualified name in the object, however deep, since a decorator leaves the name to the
    object. If there is none, it is the one function in an attribute that tools use for it.

    Args:
        value: the object.
        qualname: the qualified name by which the user found the object; empty if there is none.

    Returns:
        The function; None if there is none, or more than one.
    """
    named = {
        id(function.__code__): function
        for function in _functions_in(value)
        if function.__qualname__ == qualname
    }
    if not named:
        attributes = _attributes_of(value)
        functions = (attributes.get(name) for name in _NAMES)
        named = {id(each.__code__): each for each in functions if type(each) is FunctionType}
    return next(iter(named.values())) if len(named) == 1 else None


def _functions_in(value: Any) -> Iterator[FunctionType]:
    """Yield the functions in an object, those that are nearest to it first."""
    seen: dict[int, Any] = {}  # with the objects, so that no id is used twice
    level = [value]
    for _ in range(_DEEP):
        following: list[Any] = []
        for each in level:
            if id(each) in seen or len(seen) >= _MANY:
                continue
            seen[id(each)] = each
            if type(each) is FunctionType:
                yield each
            following += _parts_of(each)
        level = following


def _parts_of(value: Any) -> Iterator[Any]:
    """Yield what an object holds: attributes of instances, and the closure, the attributes and the receiver of functions."""
    if type(value) is MethodType:
        yield value.__func__
        yield value.__self__
    elif type(value) is FunctionType:
        yield from value.__dict__.values()
        for cell in value.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # it has no value yet
                continue
    elif not isinstance(value, type):
        yield from _attributes_of(value).values()


def _attributes_of(value: Any) -> dict[str, Any]:
    return shapes.attributes(value, shapes.slots_of(type(value)))
