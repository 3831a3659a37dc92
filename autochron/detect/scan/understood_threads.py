"""Find the threads whose whole work is understood: what else depends on their order is found by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from autochron.detect.scan.abstract_values import Known, Routine
from autochron.detect.scan.completion_order import APPENDING, CompletionOrder, StartedRoutine
from autochron.detect.scan.flow import FlowScope, last_name

_COMPUTING = frozenset(
    {
        "len", "range", "int", "float", "str", "abs", "round", "min", "max", "sum", "sorted", "enumerate", "zip",
        "isinstance", "list", "tuple", "dict", "bool", "ord", "chr", "any", "all", "time.sleep",
    }
)  # fmt: skip
"""Callables that only compute or wait."""
_HARMLESS_METHODS = frozenset(
    {
        "put", "put_nowait", "get", "task_done", "append", "extend", "acquire", "release", "set", "is_set", "wait", "upper",
        "lower", "title", "strip", "split", "join", "replace", "startswith", "endswith", "format", "encode", "decode",
        "items", "keys", "values", "count", "index",
    }
)  # fmt: skip
"""Methods that only compute, wait, or do what the places of a module tell."""


class ThreadOrder(CompletionOrder):
    """The places of one module whose value depends on which of several comes first, and its threads."""

    def has_only_understood_threads(self) -> bool:
        """Return whether all that the module's threads do is told by its places, or has no order.

        They are waited for, and do nothing but compute, count under a lock, fill queues and append to lists.
        """
        if "join" not in self.flow.sites:
            return False
        routines: list[Routine] = []
        for use in self.flow.sites.get("Thread", ()):
            assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
            found = [routine for routine, _ in self.routines_of(use.node, use.spot)]
            if len(found) != 1:
                return False
            routines += found
        for scope in self.thread_classes():
            found = [
                value for value in self.evaluation.member(scope, "run", None) if isinstance(value, Routine)
            ]
            if len(found) != 1:
                return False
            routines += found
        started = [StartedRoutine(routine, in_any_order=True) for routine in routines]
        bodies = list(self.followed(iter(started)))
        return (
            bool(routines)
            and all(map(self._is_understood, bodies))
            and not self._is_appended_elsewhere(bodies)
        )

    def _is_appended_elsewhere(self, bodies: list[StartedRoutine]) -> bool:
        """Return whether other code appends to what a thread appends to, as the main thread may do meanwhile."""
        scopes = {id(one.routine.scope) for one in bodies}
        inside: set[str] = set()
        outside: set[str] = set()
        for last in APPENDING:
            for use in self.flow.sites.get(last, ()):
                assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
                if isinstance(use.node.func, ast.Attribute):
                    names = inside if id(use.spot.scope.body) in scopes else outside
                    names.add(last_name(use.node.func.value))
        return not inside.isdisjoint(outside)

    def _is_understood(self, one: StartedRoutine) -> bool:
        """Return whether a function that runs beside others does only what the places of this module tell."""
        scope = one.routine.scope
        spot = self.spot_of(scope)
        for call, _ in self.calls_of(one):
            last = last_name(call.func)
            values = self.evaluation.values(call.func, spot)
            is_own = bool(values) and all(isinstance(value, Routine) for value in values)
            is_pure = all(
                isinstance(value, Known) and value.name.removeprefix("builtins.") in _COMPUTING
                for value in values
            )
            if not (
                is_own or is_pure or (isinstance(call.func, ast.Attribute) and last in _HARMLESS_METHODS)
            ):
                return False
        locked = {
            id(part)
            for node in ast.walk(one.routine.node)
            if isinstance(node, ast.With)
            and any("lock" in last_name(item.context_expr).lower() for item in node.items)
            for part in ast.walk(node)
        }
        return not any(
            isinstance(part, ast.Global | ast.Nonlocal | ast.Yield | ast.Await)
            or (isinstance(part, ast.Assign | ast.AnnAssign) and self._stores_shared(part, scope))
            or (isinstance(part, ast.AugAssign) and not self._counts_under_lock(part, locked))
            for part in ast.walk(one.routine.node)
        )

    def _stores_shared(self, statement: ast.Assign | ast.AnnAssign, scope: FlowScope) -> bool:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return any(
            isinstance(part, ast.Attribute | ast.Subscript)
            and isinstance(part.ctx, ast.Store)
            and self.is_shared(part, scope)
            and not (isinstance(part, ast.Subscript) and self.is_growing_table(part.value, scope))
            for target in targets
            for part in ast.walk(target)
        )

    def _counts_under_lock(self, statement: ast.AugAssign, locked: set[int]) -> bool:
        """Return whether a statement adds to a name of its own, or to something shared while it holds a lock."""
        if isinstance(statement.target, ast.Name):
            return True
        return id(statement) in locked and isinstance(statement.op, ast.Add | ast.Sub)


def joined_at_once(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that start a thread which the next statement waits for, so that nothing runs beside it."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for first, second in pairwise(body) if isinstance(body, list) else ():
            started, joined = _called_on(first, "start"), _called_on(second, "join")
            if started is not None and joined is not None and ast.dump(started) == ast.dump(joined):
                yield first.lineno


def _called_on(statement: ast.stmt, method: str) -> ast.expr | None:
    """Return the object of which a statement calls a method without arguments; None for another statement."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=name), args=[])) if name == method:
            return owner
    return None
