"""Put together the text of an expression as far as it is written out: a statement of SQL is often made of parts."""

from __future__ import annotations

import ast

from autochron.detect.scan.abstract_values import Text
from autochron.detect.scan.flow import Spot
from autochron.detect.scan.infer import Evaluation

_UNKNOWN = "x"
"""What stands for a part that is not written out."""
_MAX_DEPTH = 6


def text_of(evaluation: Evaluation, node: ast.expr, spot: Spot, depth: int = _MAX_DEPTH) -> str:
    """Return the text of an expression, with an `x` for each part that is not written out."""
    texts = [
        value.value for value in evaluation.values(node, spot) if isinstance(value, Text) and value.value
    ]
    if texts or not depth:
        return " ".join(texts) or _UNKNOWN
    match node:
        case ast.JoinedStr(values=parts):
            return "".join(text_of(evaluation, part, spot, depth - 1) for part in parts)
        case ast.FormattedValue(value=inner) | ast.Await(value=inner):
            return text_of(evaluation, inner, spot, depth - 1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return "".join(text_of(evaluation, part, spot, depth - 1) for part in (left, right))
        case (
            ast.BinOp(left=left, op=ast.Mod())
            | ast.Call(func=ast.Attribute(value=left, attr="format" | "strip"))
        ):
            return text_of(evaluation, left, spot, depth - 1)
        case ast.Call(func=ast.Attribute(attr="join"), args=[ast.List(elts=parts) | ast.Tuple(elts=parts)]):
            return " ".join(text_of(evaluation, part, spot, depth - 1) for part in parts)
        case ast.Name(id=name):
            scope = spot.scope.find(name)
            bindings = scope.bindings[name] if scope is not None else []
            return (
                " ".join(
                    text_of(evaluation, binding.node, binding.spot, depth - 1)
                    for binding in bindings
                    if binding.kind == "value" and isinstance(binding.node, ast.expr)
                )
                or _UNKNOWN
            )
    return _UNKNOWN
