"""Find the loops that take from a set until it is empty and end with the same sets, whatever they take first."""

from __future__ import annotations

import ast

from autochron.detect.scan.abstract_values import Container, Set
from autochron.detect.scan.flow import Spot
from autochron.detect.scan.infer import Evaluation

_LOOKING_UP = frozenset({"get", "neighbors", "successors", "predecessors"})
"""Methods that a loop may call to find what comes next."""


def is_closure(evaluation: Evaluation, popped: ast.Call, spot: Spot) -> bool:
    """Return whether a `pop` is that of a loop which collects all that is reached from the first elements.

    Such a loop only adds to sets: the one that it takes from, and the one of what it has seen. What is seen is left out.
    """
    if spot.scope.node is None or evaluation.flow.tries:
        return False  # what is missed first, or how far it came, may show
    for loop in ast.walk(spot.scope.node):
        match loop:
            case ast.While(
                test=ast.Name(id=todo),
                body=[ast.Assign(targets=[ast.Name(id=taken)], value=value), *rest],
                orelse=[],
            ) if value is popped:
                match popped.func:
                    case ast.Attribute(value=ast.Name(id=name)) if name == todo:
                        return _Closure(evaluation, spot, loop, todo).holds(rest) and not _is_read_after(
                            spot.scope.node, loop, taken
                        )
    return False


class _Closure:
    """One loop, and the sets that it adds to."""

    def __init__(self, evaluation: Evaluation, spot: Spot, loop: ast.While, todo: str) -> None:
        self._evaluation = evaluation
        self._spot = spot
        self._sets = {todo}
        self._loop = loop

    def holds(self, statements: list[ast.stmt]) -> bool:
        """Return whether statements only add to at most two sets what is not seen yet."""
        return all(map(self._adds, statements)) and len(self._sets) < 3

    def _adds(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Continue() | ast.Pass() | ast.Expr(value=ast.Constant()):
                return True
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name() as filled, attr="add" | "update"),
                    args=added,
                    keywords=[],
                )
            ):
                return self._is_set(filled) and all(map(self._is_plain, added))
            case ast.AugAssign(
                target=ast.Name() as filled,
                op=ast.BitOr(),
                value=ast.BinOp(left=added, op=ast.Sub(), right=ast.Name() as left_out),
            ):
                inner = added.args[0] if _makes_set(added) else added  # type: ignore[attr-defined]
                return self._is_set(filled) and self._is_set(left_out) and self._is_plain(inner)
            case ast.If(test=test, body=[ast.Continue()], orelse=[]):
                return self._asks(test, ast.In)
            case ast.If(test=test, body=body, orelse=[]):
                return self._asks(test, ast.NotIn) and all(map(self._adds, body))
            case ast.For(target=ast.Name(), iter=iterated, body=body, orelse=[]):
                return self._is_plain(iterated) and all(map(self._adds, body))
        return False

    def _is_table(self, node: ast.expr) -> bool:
        """Return whether an expression is a dictionary that makes nothing for a missing key."""
        values = self._evaluation.values(node, self._spot)
        return bool(values) and all(isinstance(value, Container) and value.type == "dict" for value in values)

    def _is_set(self, name: ast.Name) -> bool:
        values = self._evaluation.values(name, self._spot)
        self._sets.add(name.id)
        return bool(values) and all(isinstance(value, Set) for value in values)

    def _asks(self, test: ast.expr, operator: type[ast.cmpop]) -> bool:
        """Return whether a test asks whether something is in a set, or is not, and nothing else."""
        match test:
            case ast.Compare(left=left, ops=[asked], comparators=[ast.Name() as searched]):
                return isinstance(asked, operator) and self._is_plain(left) and self._is_set(searched)
        return False

    def _is_plain(self, node: ast.expr) -> bool:
        """Return whether an expression only looks something up, and leaves out what is in one of the sets."""
        if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp):
            return self._is_plain(node.elt) and all(
                self._is_plain(each.iter) and all(self._asks(test, ast.NotIn) for test in each.ifs)
                for each in node.generators
            )
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and getattr(part.func, "attr", "") not in _LOOKING_UP:
                return False
            if isinstance(part, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom | ast.Compare):
                return False
            if isinstance(part, ast.Name) and part.id in self._sets:
                return False
            if isinstance(part, ast.Subscript) and not self._is_table(part.value):
                return False
            if isinstance(part, ast.Attribute) and part.attr not in _LOOKING_UP:
                return False  # a property may count
        return True


def _makes_set(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="set"), args=[_], keywords=[]):
            return True
    return False


def _is_read_after(function: ast.AST, loop: ast.While, name: str) -> bool:
    """Return whether a name is read outside a loop, where it has what was taken last."""
    inside = set(map(id, ast.walk(loop)))
    return any(
        isinstance(part, ast.Name)
        and part.id == name
        and isinstance(part.ctx, ast.Load)
        and id(part) not in inside
        for part in ast.walk(function)
    )
