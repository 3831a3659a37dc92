"""The helpers of a guard: the project's functions that it calls, found from what its code names."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from autochron.effects.held import cells_of

_MOST_MEMBERS = 100
"""Members of a table of policies that are looked at."""


def helpers_of(
    function: FunctionType, depth: int, is_own: Callable[[str], bool], excluded: Container[tuple[str, str]]
) -> list[FunctionType]:
    """Return the functions that a function calls, and those that these call.

    A call is found where the code names the function: a global, an attribute of a module, a method of the function's own
    class, a member of a table such as `POLICIES["refund"]`, or a variable of the function around it.

    Args:
        function: the guard.
        depth: how many calls lie between the guard and a helper at most; 0 returns none.
        is_own: returns whether a file is the project's.
        excluded: file and qualified name of functions that are no helpers, such as the tool that the guard stands before.
    """
    found: dict[int, FunctionType] = {}
    layer = [function]
    for _ in range(depth):
        called = [helper for caller in layer for helper in _called_by(caller)]
        layer = []
        for helper in called:
            code = helper.__code__
            if (
                helper is not function
                and id(helper) not in found
                and is_own(code.co_filename)
                and (code.co_filename, code.co_qualname) not in excluded
            ):
                found[id(helper)] = helper
                layer.append(helper)
    return list(found.values())


def _called_by(function: FunctionType) -> Iterator[FunctionType]:
    """Yield the functions that a function's code names."""
    names = dict.fromkeys(name for code in _codes(function.__code__) for name in code.co_names)
    space = function.__globals__
    owner = _class_of(function)
    for name in names:
        if name in space:
            yield from _functions_in(space[name], names)
        elif owner is not None and name in owner:
            yield from _functions_in(owner[name], {})
    for value in cells_of(function).values():
        yield from _functions_in(value.cell_contents, names)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _class_of(function: FunctionType) -> dict[str, Any] | None:
    """Return the namespace of the class that a method is defined in; None for a plain function."""
    path = function.__qualname__.split(".")[:-1]
    owner: Any = None
    for name in path:
        space = function.__globals__ if owner is None else vars(owner)
        owner = space.get(name) if name != "<locals>" else None
        if not isinstance(owner, type):
            return None
    return None if owner is None else dict(vars(owner))


def _functions_in(value: Any, names: Container[str]) -> Iterator[FunctionType]:
    """Yield a function, what it wraps, those of a module, a class or an object that are named, and those in a table."""
    value = _plain(value)
    if isinstance(value, FunctionType):
        yield value
        wrapped = value.__dict__.get("__wrapped__")
        if isinstance(wrapped, FunctionType):
            yield wrapped
    elif isinstance(value, ModuleType):
        yield from _members(vars(value), lambda name: name in names)
    elif type(value) is dict or type(value) is list or type(value) is tuple:
        members = list(value.values() if type(value) is dict else value)[:_MOST_MEMBERS]
        yield from (member for member in members if isinstance(member, FunctionType))
    elif isinstance(value, type):
        yield from _members(vars(value), lambda name: name in names or name == "__init__")
    else:
        yield from _members(vars(type(value)), lambda name: name in names or name == "__call__")


def _members(space: Mapping[str, Any], is_called: Callable[[str], bool]) -> Iterator[FunctionType]:
    for name, value in list(space.items()):
        member = _plain(value)
        if isinstance(member, FunctionType) and is_called(name):
            yield member


def _plain(value: Any) -> Any:
    """Return the function of a method or a property; other values as they are."""
    if isinstance(value, staticmethod | classmethod | MethodType):
        return value.__func__
    return value.fget if isinstance(value, property) else value
