"""Find what a module does with a value after it has asked whether it is a set, or how many elements it has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autochron.detect.scan.abstract_values import Known, Plain
from autochron.detect.scan.annotations import SETS
from autochron.detect.scan.flow import ModuleFlow, Spot, Use, is_count
from autochron.detect.scan.infer import Evaluation


def listed_sets(flow: ModuleFlow, evaluation: Evaluation) -> Iterator[tuple[Use, ast.expr]]:
    """Yield where a function makes a list of what it has found to be a set, as encoders for JSON do, and the set."""
    tests = [use for use in flow.sites.get("isinstance", ()) if _asks_for_set(evaluation, use)]
    for last in ("list", "tuple") if tests else ():
        for use in flow.sites.get(last, ()):
            match use.node:
                case ast.Call(args=[ast.Name(id=name) as listed]) if not use.order_lost and any(
                    _is_asked_just_before(test, name, use) for test in tests
                ):
                    yield use, listed


def _asks_for_set(evaluation: Evaluation, use: Use) -> bool:
    """Return whether a call is `isinstance(value, set)`."""
    node = use.node
    if not isinstance(node, ast.Call) or len(node.args) != 2:
        return False
    kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
    return all(
        isinstance(value, Known) and value.name in SETS
        for kind in kinds
        for value in evaluation.values(kind, use.spot)
    )


def _is_asked_just_before(test: Use, name: str, use: Use) -> bool:
    """Return whether a call of `isinstance` asks for a name on the line of a use or the one before."""
    match test.node:
        case ast.Call(args=[ast.Name(id=asked), _]):
            lines = use.node.lineno - test.node.lineno
            return asked == name and test.spot.scope is use.spot.scope and 0 <= lines <= 1
    return False


def has_one_element(node: ast.expr, spot: Spot) -> bool:
    """Return whether a function has left, by `if len(found) != 1: raise`, unless a set has just one element."""
    function = spot.scope.body.node
    if function is not None and _is_in_test(function, node):
        return True
    body = function.body if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else []
    name = node.id if isinstance(node, ast.Name) else ""
    is_asked = False
    for statement in body:
        if statement.lineno <= node.lineno <= (statement.end_lineno or statement.lineno):
            return is_asked and isinstance(statement, ast.Assign | ast.Return | ast.Expr)
        if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Raise | ast.Return):
            is_asked = ast.unparse(statement.test) in (f"len({name}) != 1", f"len({name}) > 1") or (
                is_asked and not _may_change(statement)
            )
        else:
            is_asked = is_asked and not _may_change(statement)
    return False


def _is_in_test(function: ast.AST, node: ast.expr) -> bool:
    """Return whether an expression is evaluated only where a set has just one element."""
    wanted = f"len({ast.unparse(node)}) == 1"
    for part in ast.walk(function):
        match part:
            case ast.IfExp(test=test, body=body) if ast.unparse(test) == wanted:
                if any(inner is node for inner in ast.walk(body)):
                    return True
            case ast.If(test=test, body=[ast.Return() | ast.Assign() | ast.Expr() as first, *_]) if (
                ast.unparse(test) == wanted
            ):
                if any(inner is node for inner in ast.walk(first)):
                    return True
    return False


def _may_change(statement: ast.stmt) -> bool:
    """Return whether a statement may change a set, by any of its names."""
    return any(isinstance(part, ast.Call | ast.AugAssign | ast.Assign) for part in ast.walk(statement))


def is_whole(evaluation: Evaluation, node: ast.expr, spot: Spot) -> bool:
    """Return whether an expression is a whole number, as far as its form or its values tell."""
    if is_count(node):
        return True
    if isinstance(node, ast.BinOp) and isinstance(
        node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod
    ):
        return is_whole(evaluation, node.left, spot) and is_whole(evaluation, node.right, spot)
    values = evaluation.values(node, spot)
    return bool(values) and all(
        isinstance(value, Plain) and value.type in ("int", "bool") for value in values
    )
