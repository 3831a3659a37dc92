"""Find all that reads a container which gets a value, also by the other names that it has in its module."""

from __future__ import annotations

import ast
from typing import NamedTuple

from autochron.detect.scan.call_effects import arguments_for, handed_on
from autochron.detect.scan.destinations import Destinations, is_of_self, root_of
from autochron.detect.scan.module_index import Function
from autochron.scopes import parameters

_VIEWS = frozenset(
    {"memoryview", "iter", "reversed", "enumerate", "zip", "next", "filter", "map", "list", "tuple", "sorted"}
)
"""Functions whose result has the objects of their arguments."""


class Holders(NamedTuple):
    """What reads a container."""

    reads: list[ast.AST]
    escapes: str | None
    """The name by which code outside the module reads it; None if none does."""
    public: str | None
    """The public name by which another module may read it; None if only this one can."""


def holders_of(module: Destinations, container: ast.AST) -> Holders:
    """Return what reads a container that an expression of a module stands for, or a part of it."""
    reads: list[ast.AST] = []
    escapes: str | None = None
    public: str | None = None
    pending, seen = [container], set[ast.AST]()
    variables: set[tuple[object, str]] = set()
    while pending:
        base = root_of(pending.pop())
        if base in seen:
            continue
        seen.add(base)
        if isinstance(base, ast.Name | ast.Attribute):
            variable = module.variable(base)
            if variable in variables:
                continue
            variables.add(variable)
        match base:
            case ast.Name(id=name):
                if name in ("self", "cls"):
                    escapes = escapes or name
                reads += module.loads_of(base)
                passed = _passed(module, base)
                pending += [*module.assigned_to(base), *passed.arguments]
                escapes = escapes or (name if passed.is_by_others else None)
                public = public or (name if passed.is_public else None)
            case ast.Attribute(attr=name):
                reads += module.loads_of_attribute(name)
                pending += module.assigned_to(base)
                if not is_of_self(base):
                    escapes = escapes or name  # an object of others holds it
            case _:
                pending += _parts(module, base)
    return Holders(reads, escapes, public)


def _parts(module: Destinations, node: ast.AST) -> list[ast.expr]:
    """Return the expressions whose objects an expression may stand for."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=arguments):
            returned = [part for function in module.named(name) for part in module.returned_by(function)]
            return [*returned, *(arguments if name in _VIEWS else ())]
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            return parts
        case ast.Await(value=inner) | ast.NamedExpr(value=inner) | ast.Starred(value=inner):
            return [inner]
    return []


class _Passed(NamedTuple):
    """What calls pass as a parameter."""

    arguments: list[ast.expr]
    is_by_others: bool
    """Whether code outside the module calls the function: it is handed over, or it is a special method."""
    is_public: bool
    """Whether other modules may call it by its name."""


def _passed(module: Destinations, name: ast.Name) -> _Passed:
    """Return what calls pass as a parameter; nothing for other names."""
    function = module.function_around(name)
    while function is not None and name.id not in {each.arg for each in parameters(function.args)}:
        function = module.function_around(function)  # a function inside it may use the name
    if not isinstance(function, Function) or name.id in ("self", "cls"):
        return _Passed([], is_by_others=False, is_public=False)
    calls = module.calls_of_function(function)
    started: list[ast.Call] = []
    is_by_others = not calls and function.name.startswith("__")
    for use in module.reads_of(function.name):
        if not module.is_callee(use):
            start = _call_of(module, use)
            if start is None:
                is_by_others = True
            else:
                started.append(start)
    return _Passed(
        list(arguments_for(function, name.id, [*calls, *started])),
        is_by_others,
        is_public=not function.name.startswith("_"),
    )


def _call_of(module: Destinations, use: ast.AST) -> ast.Call | None:
    """Return the call of a function that a thread, a task or a pool will make; None if it is unknown."""
    parent = module.parents.get(use)
    if isinstance(parent, ast.keyword):
        parent = module.parents.get(parent)
    call = handed_on(parent) if isinstance(parent, ast.Call) else None
    return call if call is not None and call.func is use else None
