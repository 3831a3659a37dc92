"""Find what the calls of a module pass for the parameters of its functions, and what they leave out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autochron.detect.scan.flow import (
    FlowBinding,
    FlowScope,
    Function,
    ModuleFlow,
    Spot,
    Use,
    in_force,
    is_made_command,
    is_static,
    last_name,
)


def passed_arguments(
    flow: ModuleFlow, function: Function, outer: FlowScope, name: str, index: int
) -> Iterator[tuple[ast.expr, Spot]]:
    """Yield what calls in a module pass for a parameter, each with the spot of the call.

    Args:
        flow: the module.
        function: the function that has the parameter.
        outer: the scope that the function is defined in.
        name: the parameter.
        index: its position in a call; negative for one that is passed by keyword only.
    """
    if isinstance(function, ast.Lambda):
        return
    for use in _calls_of(flow, function, outer):
        call = use.node
        assert isinstance(call, ast.Call)  # noqa: S101 - the sites are calls
        yield from ((keyword.value, use.spot) for keyword in call.keywords if keyword.arg == name)
        is_starred = any(isinstance(argument, ast.Starred) for argument in call.args)
        if 0 <= index < len(call.args) and not is_starred:
            yield call.args[index], use.spot


def further_arguments(
    flow: ModuleFlow, function: Function, outer: FlowScope, name: str
) -> Iterator[tuple[ast.expr, Spot]]:
    """Yield what calls in a module pass for a parameter that takes all further arguments, as `passed_arguments` does."""
    if isinstance(function, ast.Lambda):
        return
    own = function.args
    positional = [*own.posonlyargs, *own.args]
    is_method = outer.kind == "class" and not is_static(function)
    named = {parameter.arg for parameter in (*positional, *own.kwonlyargs)}
    for use in _calls_of(flow, function, outer):
        call = use.node
        assert isinstance(call, ast.Call)  # noqa: S101 - the sites are calls
        if own.vararg is not None and own.vararg.arg == name:
            rest = call.args[len(positional) - is_method :]
            yield from ((argument, use.spot) for argument in rest if not isinstance(argument, ast.Starred))
        else:
            yield from (
                (keyword.value, use.spot) for keyword in call.keywords if keyword.arg not in (None, *named)
            )


def may_be_left_out(flow: ModuleFlow, name: ast.Name, spot: Spot) -> bool:
    """Return whether a name is a parameter with the default None that a call may leave out.

    It may where a call in this module does, or where the module has no call of the function.
    """
    scope = spot.scope.find(name.id)
    if scope is None:
        return False
    for binding in in_force(scope.bindings[name.id], scope, spot if scope.body is spot.scope.body else None):
        function, default = binding.owner, binding.node
        if binding.kind != "parameter" or isinstance(function, ast.Lambda | None):
            continue
        is_none = isinstance(default, ast.Constant) and default.value is None
        is_called = _calls_of(flow, function, scope) and not is_made_command(function)
        may_be_none = default is None and _names_none(binding.annotation) and not is_called
        if may_be_none or (is_none and not _is_always_passed(flow, binding, function)):
            return True
    return False


def is_default_unused(flow: ModuleFlow, node: ast.expr | None) -> bool:
    """Return whether an expression is the default of a parameter that each call in the module passes."""
    binding = flow.defaults.get(id(node)) if node is not None else None
    if binding is None or not isinstance(binding.owner, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    outer = binding.spot.scope
    name = outer.qualname.rpartition(".")[2] if binding.owner.name == "__init__" else binding.owner.name
    is_only_called = not any(last_name(use.node) == name for use in flow.references)
    return is_only_called and _is_always_passed(flow, binding, binding.owner)


def _names_none(annotation: ast.expr | None) -> bool:
    """Return whether an annotation allows None: `int | None`, `Optional[int]`."""
    if annotation is None:
        return False
    return any(
        (isinstance(part, ast.Constant) and part.value is None)
        or (isinstance(part, ast.Name | ast.Attribute) and last_name(part) == "Optional")
        for part in ast.walk(annotation)
    )


def _is_always_passed(
    flow: ModuleFlow, binding: FlowBinding, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> bool:
    """Return whether the module has calls of a function, and all of them pass a parameter."""
    calls = _calls_of(flow, function, binding.spot.scope)
    return bool(calls) and all(_passes(use, binding, function) for use in calls)


def _calls_of(
    flow: ModuleFlow, function: ast.FunctionDef | ast.AsyncFunctionDef, outer: FlowScope
) -> list[Use]:
    """Return the calls in a module of a function, or of the class that it initializes, by its name."""
    is_init = outer.kind == "class" and function.name == "__init__"
    return flow.sites.get(outer.qualname.rpartition(".")[2] if is_init else function.name, [])


def _passes(use: Use, binding: FlowBinding, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a call passes an argument for a parameter, or may do so."""
    call = use.node
    assert isinstance(call, ast.Call)  # noqa: S101 - the sites are calls
    positional = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
    if binding.spot.scope.kind == "class" and not is_static(function):
        positional = positional[1:]
    index = positional.index(binding.dotted) if binding.dotted in positional else len(call.args)
    return (
        index < len(call.args)
        or any(isinstance(argument, ast.Starred) for argument in call.args)
        or any(keyword.arg in (None, binding.dotted) for keyword in call.keywords)
    )
