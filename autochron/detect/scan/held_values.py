"""Evaluate what values hold that the module puts together elsewhere: under keys, in exceptions, in `*args` and `**kwargs`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autochron.detect.scan.abstract_values import (
    UNKNOWN,
    Holding,
    Instance,
    Known,
    Plain,
    Produced,
    Set,
    Unknown,
    Value,
    handles_in,
)
from autochron.detect.scan.flow import FlowBinding, FlowScope, Spot, Use, last_name
from autochron.detect.scan.library_results import Evaluator, Values, is_number, is_stable, unique
from autochron.detect.scan.passed_arguments import further_arguments

_HANDLE_TYPES = (
    "io.", "typing.TextIO", "typing.IO", "typing.BinaryIO", "subprocess.Popen", "sqlite3.Connection", "asyncio.StreamReader",
    "asyncio.subprocess.Process", "weakref.",
)  # fmt: skip
"""How the names of types begin that say how something is read, and not what has opened it."""


def rest_values(evaluation: Evaluator, binding: FlowBinding) -> Values:
    """Return the value of a parameter that takes all further arguments."""
    function, outer = binding.owner, binding.spot.scope
    assert function is not None  # noqa: S101 - a parameter has a function
    held: list[Value] = []
    if binding.annotation is not None:
        declared = evaluation.annotated(binding.annotation, binding.spot)
        held += () if any(isinstance(value, Unknown) for value in declared) else declared
    if not held:
        for passed, spot in further_arguments(evaluation.flow, function, outer, binding.dotted):
            held += evaluation.values(passed, spot)
    return (Holding(unique(tuple(held))),) if held else UNKNOWN


def raised_values(evaluation: Evaluator, kinds: ast.expr, spot: Spot) -> Values:
    """Return the value of an exception that is caught: with what the module passes to exceptions of these names."""
    names = {last_name(kind) for kind in (kinds.elts if isinstance(kinds, ast.Tuple) else [kinds])}
    passed = (
        value
        for name in sorted(names)
        for use in evaluation.flow.sites.get(name, ())
        if isinstance(use.node, ast.Call)
        for argument in use.node.args
        if isinstance(argument, ast.Name | ast.Call)
        for value in evaluation.values(argument, use.spot)
    )
    held = unique(tuple(value for value in passed if isinstance(value, Instance)))
    return (Holding(held),) if held else UNKNOWN


def stored_under_keys(evaluation: Evaluator, name: str) -> Values:
    """Return what is known of what a module stores under keys of a table: sets, instances, and what is read later."""
    stored = [*evaluation.flow.items.get(name, ())]
    for use in evaluation.flow.sites.get("setdefault", ()):
        match use.node:
            case ast.Call(func=ast.Attribute(value=table), args=[_, default]) if last_name(table) == name:
                stored.append((default, use.spot))
    values = tuple(value for each, spot in stored for value in evaluation.values(each, spot))
    return tuple(value for value in values if isinstance(value, Set | Instance) or handles_in((value,)))


def appended_to(evaluation: Evaluator, node: ast.expr) -> Values:
    """Return what is known of what a module appends to a list, by its name: sets, instances, threads and the like."""
    name = last_name(node)
    appended = [
        value
        for use in evaluation.flow.sites.get("append", ())
        if name and isinstance(use.node, ast.Call) and isinstance(use.node.func, ast.Attribute)
        if last_name(use.node.func.value) == name
        for argument in use.node.args
        for value in evaluation.values(argument, use.spot)
    ]
    return tuple(value for value in appended if isinstance(value, Set | Instance | Produced))


def is_told_more_by_calls(value: Value) -> bool:
    """Return whether the arguments that calls pass may tell more of a value than its annotation does."""
    if isinstance(value, Produced):
        return value.name.startswith(_HANDLE_TYPES)
    return isinstance(value, Plain) and value.type in ("list", "dict", "tuple", "object")


def gets_numbers(evaluation: Evaluator, name: str, spot: Spot) -> bool:
    """Return whether the set of a name is created empty and gets only numbers."""
    scope = spot.scope.find(name)
    if scope is None or not all(
        isinstance(value, Set) and value.is_empty
        for binding in scope.bindings[name]
        for value in evaluation.binding_values(binding)
    ):
        return False
    if any(isinstance(node, ast.AugAssign) and last_name(node.target) == name for node in _body_of(scope)):
        return False
    if any(_may_fill(evaluation, use) for use in evaluation.flow.references if last_name(use.node) == name):
        return False
    added = [
        (use, method, argument)
        for method in ("add", "update")
        for use in evaluation.flow.sites.get(method, ())
        if isinstance(use.node, ast.Call) and isinstance(called := use.node.func, ast.Attribute)
        if isinstance(called.value, ast.Name) and called.value.id == name
        if use.spot.scope.find(name) is scope
        for argument in use.node.args
    ]
    return bool(added) and all(
        is_number(evaluation, argument, use.spot)
        if method == "add"
        else is_stable(evaluation, argument, use.spot)
        for use, method, argument in added
    )


def _body_of(scope: FlowScope) -> Iterator[ast.AST]:
    return iter(()) if scope.node is None else ast.walk(scope.node)


def _may_fill(evaluation: Evaluator, use: Use) -> bool:
    """Return whether a use hands a container to code that may put something into it."""
    if use.position != "argument" or use.call is None:
        return False
    called = evaluation.values(use.call.func, use.spot)
    return not all(
        isinstance(value, Known) and value.name.startswith("builtins.") for value in called
    ) and not (isinstance(use.call.func, ast.Attribute) and isinstance(use.call.func.value, ast.Constant))
