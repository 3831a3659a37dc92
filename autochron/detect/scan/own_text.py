"""Find the calls that read the program's own text, which is the same in every run of it."""

from __future__ import annotations

import ast

from autochron.detect.scan.abstract_values import Instance, Known, Type
from autochron.detect.scan.flow import FlowBinding, Spot, last_name
from autochron.detect.scan.infer import Evaluation

_KEEP_THE_NAME = frozenset(
    {"builtins.str", "os.fspath", "os.fsdecode", "pathlib.Path", "pathlib.PurePath"}
    | {f"os.path.{name}" for name in ("abspath", "realpath", "normpath")}
)
"""Callables that return the path that they are given."""
_READING_TEXT = frozenset({"open", "read_text", "read_bytes", "exists", "is_file", "isfile"})
"""Last names of callables that tell of a file what its text tells."""


def reads_own_text(
    evaluation: Evaluation, node: ast.Call, spot: Spot, *, is_by_default: bool = False
) -> bool:
    """Return whether a call reads the program's own text: `open(__file__)`, `Path(__file__).read_text()`.

    Args:
        evaluation: the values of the module.
        node: the call.
        spot: where it is.
        is_by_default: whether it is enough that each call in the module leaves a parameter at such a default.
    """
    called = node.func
    if last_name(called) not in _READING_TEXT:
        return False
    if isinstance(called, ast.Attribute) and _is_file_name(
        evaluation, called.value, spot, is_by_default=is_by_default
    ):
        return True
    return bool(node.args) and _is_file_name(evaluation, node.args[0], spot, is_by_default=is_by_default)


def starts_from_own_file(evaluation: Evaluation, node: ast.Call, spot: Spot) -> bool:
    """Return whether a call makes a path absolute that is built from the name of the module's own file."""
    if last_name(node.func) not in ("abspath", "absolute", "relpath"):
        return False
    base = node.args[0] if node.args else node.func.value if isinstance(node.func, ast.Attribute) else None
    return base is not None and _is_own_place(evaluation, base, spot)


def _is_own_place(evaluation: Evaluation, node: ast.expr, spot: Spot, depth: int = 8) -> bool:
    """Return whether a path is built from the name of the module's own file."""
    if _is_file_name(evaluation, node, spot):
        return True
    if not depth:
        return False
    match node:
        case (
            ast.Attribute(value=inner, attr="parent" | "parents")
            | ast.Subscript(value=inner)
            | ast.BinOp(left=inner, op=ast.Div())
            | ast.Call(func=ast.Attribute(attr="dirname" | "join"), args=[inner, *_])
            | ast.Call(
                func=ast.Attribute(value=inner, attr="joinpath" | "with_name" | "with_suffix" | "resolve")
            )
        ):
            return _is_own_place(evaluation, inner, spot, depth - 1)
        case ast.Name(id=name):
            scope = spot.scope.find(name)
            bindings = scope.bindings[name] if scope is not None else []
            return len(bindings) == 1 and (
                isinstance(bindings[0].node, ast.expr)
                and _is_own_place(evaluation, bindings[0].node, bindings[0].spot, depth - 1)
            )
    return False


def _is_left_out(evaluation: Evaluation, binding: FlowBinding) -> bool:
    """Return whether a parameter has its default in each call of the module, which has some."""
    function, outer = binding.owner, binding.spot.scope
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or outer.kind == "class":
        return False
    calls = evaluation.flow.sites.get(function.name, [])
    is_only_called = not any(last_name(use.node) == function.name for use in evaluation.flow.references)
    return (
        bool(calls)
        and is_only_called
        and not any(isinstance(use.node, ast.Call) and (use.node.args or use.node.keywords) for use in calls)
    )


def _is_file_name(
    evaluation: Evaluation, node: ast.expr, spot: Spot, depth: int = 4, *, is_by_default: bool = False
) -> bool:
    """Return whether an expression is the name of the module's own file."""
    match node:
        case ast.Name(id="__file__"):
            return True
        case ast.Name(id=name) if depth:
            scope = spot.scope.find(name)
            bindings = scope.bindings[name] if scope is not None else []
            return len(bindings) == 1 and (
                (
                    bindings[0].kind == "value"
                    or (
                        is_by_default
                        and bindings[0].kind == "parameter"
                        and _is_left_out(evaluation, bindings[0])
                    )
                )
                and isinstance(bindings[0].node, ast.expr)
                and _is_file_name(evaluation, bindings[0].node, bindings[0].spot, depth - 1)
            )
        case ast.Call(func=ast.Attribute(value=inner, attr="resolve" | "absolute" | "as_posix"), args=[]):
            return _is_file_name(evaluation, inner, spot, depth, is_by_default=is_by_default)
        case ast.Call(args=[inner]):
            names = {value.name for value in evaluation.values(node.func, spot) if isinstance(value, Known)}
            return bool(names & _KEEP_THE_NAME) and _is_file_name(
                evaluation, inner, spot, depth, is_by_default=is_by_default
            )
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if depth:
            held = [
                binding
                for value in evaluation.values(node.value, spot)
                if isinstance(value, Instance | Type)
                for binding in (*value.scope.bindings.get(name, ()), *value.scope.attributes.get(name, ()))
            ]
            return len(held) == 1 and (
                isinstance(held[0].node, ast.expr)
                and _is_file_name(evaluation, held[0].node, held[0].spot, depth - 1)
            )
    return False
