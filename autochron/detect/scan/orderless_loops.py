"""Find the loops that have the same effect in any order of what they go through."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from autochron.detect.scan.abstract_values import Plain
from autochron.detect.scan.flow import Spot, Use
from autochron.detect.scan.infer import Evaluation


def loses_order(evaluation: Evaluation, use: Use) -> bool:
    """Return whether the code around a call makes nothing of the order of its results."""
    return use.order_lost or loses_order_in(evaluation, use.body, use.spot)


def loses_order_in(evaluation: Evaluation, body: Sequence[ast.stmt], spot: Spot) -> bool:
    """Return whether the body of a loop has the same effect in any order of the elements."""
    return bool(body) and all(_is_orderless(evaluation, statement, spot) for statement in body)


def _is_orderless(evaluation: Evaluation, statement: ast.stmt, spot: Spot) -> bool:
    """Return whether a statement has the same effect in any order of the elements."""
    match statement:
        case ast.Pass() | ast.Continue() | ast.Assert() | ast.Raise() | ast.Delete():
            return True
        case ast.Return(value=value):
            return value is None or isinstance(value, ast.Constant)
        case ast.Expr():
            return _is_commutative(statement)
        case ast.AugAssign(target=target, op=operator, value=value):
            is_merged = isinstance(operator, ast.BitOr | ast.BitAnd | ast.BitXor)
            return is_merged or is_count(value) or _is_number(evaluation, target, spot)
        case ast.Assign(targets=[ast.Subscript(value=ast.Name() as filled)]):
            return _is_filled_list(filled, spot)
        case ast.If(body=body, orelse=else_body):
            return all(_is_orderless(evaluation, inner, spot) for inner in (*body, *else_body))
        case _:
            return False


def _is_filled_list(node: ast.Name, spot: Spot) -> bool:
    """Return whether a name is bound to a list that has all its places: `[None] * 3`."""
    scope = spot.scope.find(node.id)
    bindings = scope.bindings[node.id] if scope is not None else []
    return bool(bindings) and all(
        isinstance(binding.node, ast.BinOp)
        and isinstance(binding.node.op, ast.Mult)
        and isinstance(binding.node.left, ast.List)
        for binding in bindings
    )


def _is_number(evaluation: Evaluation, target: ast.expr, spot: Spot) -> bool:
    """Return whether the target of an augmented assignment is a number."""
    if not isinstance(target, ast.Name):
        return False
    values = evaluation.named(target.id, spot)
    # Sums of floats depend on the order of what is added.
    return all(isinstance(value, Plain) and value.type in ("int", "bool") for value in values)


def _is_commutative(statement: ast.Expr) -> bool:
    """Return whether a statement has an effect that does not depend on the order of its repetitions."""
    value = statement.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr in ("add", "discard", "remove", "update", "pop")
    return isinstance(value, ast.Constant)


def is_count(value: ast.expr) -> bool:
    """Return whether an expression is a number by its form."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("len", "int", "ord")
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float)
