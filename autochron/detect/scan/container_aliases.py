"""Find all that reads a container which gets a value, also by the other names that it has in its module."""

from __future__ import annotations

import ast
from typing import NamedTuple

from autochron.detect.scan.call_effects import arguments_for
from autochron.detect.scan.destinations import Destinations, is_of_self, root_of
from autochron.detect.scan.value_uses import Function
from autochron.scopes import parameters

_VIEWS = frozenset(
    {"memoryview", "iter", "reversed", "enumerate", "zip", "next", "filter", "map", "list", "tuple", "sorted"}
)
"""Functions whose result has the objects of their arguments."""


class Holders(NamedTuple):
    """What reads a container."""

    reads: list[ast.AST]
    escapes: str | None
    """The name by which others may read it; None if only the module can."""


def holders_of(module: Destinations, container: ast.AST) -> Holders:
    """Return what reads a container that an expression of a module stands for, or a part of it."""
    reads: list[ast.AST] = []
    escapes: str | None = None
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
                passed, is_open = _passed(module, base)
                pending += [*module.assigned_to(base), *passed]
                escapes = escapes or (name if is_open else None)
            case ast.Attribute(attr=name):
                reads += module.loads_of_attribute(name)
                pending += module.assigned_to(base)
                if not is_of_self(base):
                    escapes = escapes or name  # an object of others holds it
            case _:
                pending += _parts(module, base)
    return Holders(reads, escapes)


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


def _passed(module: Destinations, name: ast.Name) -> tuple[list[ast.expr], bool]:
    """Return what calls pass as a parameter, and whether others may pass something; nothing for other names."""
    function = module.function_around(name)
    while function is not None and name.id not in {each.arg for each in parameters(function.args)}:
        function = module.function_around(function)  # a function inside it may use the name
    if not isinstance(function, Function) or name.id in ("self", "cls"):
        return [], False
    calls = module.calls_of_function(function)
    is_referenced = any(not module.is_callee(use) for use in module.reads_of(function.name))
    is_open = (
        is_referenced or not function.name.startswith("_") or (not calls and function.name.startswith("__"))
    )
    return list(arguments_for(function, name.id, calls)), is_open
