"""Find the calls of sources whose arguments determine the value."""

from __future__ import annotations

import ast

from autochron.detect.catalogue import Source
from autochron.detect.scan.abstract_values import Produced, Text, is_none
from autochron.detect.scan.call_arguments import argument_of, is_determined
from autochron.detect.scan.flow import Spot, is_static
from autochron.detect.scan.infer import Evaluation
from autochron.detect.scan.library_call import LibraryCall
from autochron.detect.scan.passed_arguments import may_be_left_out, passed_arguments


def may_be_determined(
    evaluation: Evaluation, source: Source | LibraryCall, node: ast.Call, skip: int, spot: Spot
) -> bool:
    """Return whether the arguments of a call determine its value; not by a parameter that may be None."""
    if source.call == "weakref.ref" and node.args and is_held(evaluation, node.args[0], spot):
        return True
    if isinstance(source, LibraryCall) and source.unless_of and node.args:
        given_first = evaluation.values(node.args[0], spot)
        return any(isinstance(value, Produced) and value.name == source.unless_of for value in given_first)
    if isinstance(source, LibraryCall) and source.only_of:
        given = evaluation.values(node.args[0], spot) if node.args else ()
        return not any(isinstance(value, Produced) and value.name in source.only_of for value in given)
    if source.category == "files" and node.args and _is_in_memory(evaluation, node.args[0], spot):
        return True
    if (
        isinstance(source, LibraryCall)
        and node.args
        and _is_any_of(evaluation, node.args[0], spot, source.harmless)
    ):
        return True
    if not is_determined(source, node, skip):
        return False
    determining = argument_of(source.determined_by, node, skip) if source.determined_by is not None else None
    is_made = not source.call.endswith("seed")  # of a seed that may be None, the draws after it are told
    if is_made and determining is not None and any(map(is_none, evaluation.values(determining, spot))):
        return False
    return not (isinstance(determining, ast.Name) and may_be_left_out(evaluation.flow, determining, spot))


def _is_any_of(evaluation: Evaluation, node: ast.expr, spot: Spot, texts: tuple[str, ...]) -> bool:
    """Return whether an expression is one of some texts, whichever of its values it has."""
    values = evaluation.values(node, spot) if texts else ()
    return bool(values) and all(isinstance(value, Text) and value.value in texts for value in values)


def _is_in_memory(evaluation: Evaluation, node: ast.expr, spot: Spot) -> bool:
    """Return whether what is opened is a buffer of the program."""
    values = evaluation.values(node, spot)
    return all(
        isinstance(value, Produced) and value.name in ("io.BytesIO", "io.StringIO") for value in values
    )


def is_held(evaluation: Evaluation, node: ast.expr, spot: Spot, depth: int = 3) -> bool:
    """Return whether an object lives as long as the module: a name of the module has it that is bound once and never deleted.

    A parameter counts where each call passes such a name, or None.
    """
    if isinstance(node, ast.Constant):
        return node.value is None
    flow = evaluation.flow
    scope = spot.scope.find(node.id) if isinstance(node, ast.Name) else None
    if scope is None or not isinstance(node, ast.Name):
        return False
    bindings = scope.bindings[node.id]
    if len(bindings) != 1:
        return False
    binding = bindings[0]
    if scope is flow.module:
        return binding.kind == "value" and not any(
            isinstance(part, ast.Name) and part.id == node.id and isinstance(part.ctx, ast.Del)
            for part in ast.walk(flow.tree)
        )
    function, outer = binding.owner, binding.spot.scope
    if binding.kind != "parameter" or not isinstance(function, ast.FunctionDef) or not depth:
        return False
    names = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
    is_method = outer.kind == "class" and not is_static(function)
    passed = list(
        passed_arguments(flow, function, outer, node.id, names.index(node.id) - is_method)
        if node.id in names
        else ()
    )
    return bool(passed) and all(is_held(evaluation, given, place, depth - 1) for given, place in passed)
