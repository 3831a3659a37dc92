"""Find the threads that have the same effect in any order.

They are waited for at once, count under a lock, fill places of their own in a list, or are the only one that fills a queue.
All that such threads do is known. Whatever else a module starts, or asks for meanwhile, keeps the finding.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from autochron.detect.scan.abstract_values import Plain, Produced, Routine
from autochron.detect.scan.call_effects import COMPUTING
from autochron.detect.scan.completion_order import STARTING, CompletionOrder
from autochron.detect.scan.flow import Function, ModuleFlow, Spot, Use, is_count, is_in_loop, last_name

_LOCKS = frozenset({"threading.Lock", "threading.RLock"})
_REFLECTING = ("globals", "locals", "vars", "eval", "exec", "getattr", "asdict", "deepcopy")
"""Last names of callables that reach a variable without its name."""
_ORDERED_QUEUES = frozenset({"queue.Queue", "queue.SimpleQueue"})
"""Queues that are first in, first out."""
_DEPTH = 3
"""How many calls deep a thread's function is followed."""
_ASKING_QUEUES = ("empty", "qsize", "full", "get_nowait", "put_nowait")
"""Methods of queues whose result depends on what another thread has done."""


def joined_at_once(flow: ModuleFlow) -> Iterator[int]:
    """Yield the lines that start a thread for which the next statement waits, if the module starts all so.

    Then nothing runs beside them. A limit, or another thread, would change that.
    """
    lines = list(_starts_and_joins(flow.tree))
    if _starts_threads_only(flow) and len(lines) == len(_methods(flow, "start")):
        yield from lines


class OrderlessThreads:
    """The threads of one module."""

    def __init__(self, racing: CompletionOrder) -> None:
        """Take a module."""
        self._racing = racing
        self._flow = racing.flow

    def are_all(self) -> bool:
        """Return whether all threads of the module have the same effect in any order."""
        made = self._flow.sites.get("Thread", [])
        if not _starts_threads_only(self._flow) or any(True for _ in self._racing.thread_classes()):
            return False
        if any(name in self._flow.sites for name in _REFLECTING) or "__dict__" in self._flow.attributes:
            return False
        routines: list[Routine] = []
        for use in made:
            assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
            found = [routine for routine, _ in self._racing.routines_of(use.node, use.spot)]
            if len(found) != 1:
                return False
            routines += found
        if not routines:
            return False
        is_lambda = isinstance(routines[0].node, ast.Lambda)
        if (
            len(made) == 1
            and not is_lambda
            and not is_in_loop(made[0].spot)
            and self._fills_queue(routines[0])
        ):
            return True
        counted = {
            name for use, routine in zip(made, routines, strict=True) for name in self._counted(routine, use)
        }
        return bool(counted) and "" not in counted and self._are_read_after_join(counted)

    # --- counting under a lock ----------------------------------------------------------------------------------------

    def _counted(self, routine: Routine, made: Use) -> Iterator[str]:
        """Yield the names of what a function counts under a lock; an empty one if it does something else."""
        spot = CompletionOrder.spot_of(routine.scope)
        if isinstance(routine.node, ast.Lambda):
            yield from self._counted_in([ast.Expr(routine.node.body)], spot, frozenset(), is_locked=False)
            return
        match routine.node.body:
            case [
                ast.Assign(
                    targets=[ast.Subscript(value=ast.Name(id=table), slice=ast.Name(id=place))], value=value
                )
            ]:
                is_own = self._is_own_place(routine.node, made, table, place)
                is_apart = table not in map(last_name, ast.walk(value))  # type: ignore[arg-type]
                yield table if is_own and is_apart and _computes(value) else ""
                return
        whole = self._whole_parameters(routine.node, made)
        yield from self._counted_in(routine.node.body, spot, whole, is_locked=False)

    def _is_own_place(self, function: Function, made: Use, table: str, place: str) -> bool:
        """Return whether each thread has its own place in a list that has all its places before."""
        passed = _passed(function, made)
        stored = [
            node.value
            for node in ast.walk(self._flow.tree)
            if isinstance(node, ast.Assign) and table in map(last_name, node.targets)
        ]
        is_list = (
            len(stored) == 1 and isinstance(stored[0], ast.BinOp) and isinstance(stored[0].left, ast.List)
        )
        is_same = table not in passed or last_name(passed[table]) == table
        return is_list and is_same and _counts(made.spot.scope.node, passed.get(place))

    def _counted_in(
        self,
        body: list[ast.stmt],
        spot: Spot,
        whole: frozenset[str],
        *,
        is_locked: bool,
        depth: int = _DEPTH,
    ) -> Iterator[str]:
        for statement in body:
            repeated = _repeated(statement)
            if repeated:
                yield from self._counted_in(repeated, spot, whole, is_locked=is_locked, depth=depth)
                continue
            match statement:
                case ast.Pass() | ast.Global() | ast.Expr(value=ast.Constant()):
                    pass
                case ast.Expr(value=ast.Call(func=called, args=[ast.Constant()])) if (
                    ast.unparse(called) == "time.sleep"
                ):
                    pass
                case ast.Expr(value=ast.Call(func=called, args=[], keywords=[])) if depth:
                    yield from self._counted_by(called, spot, is_locked=is_locked, depth=depth - 1)
                case ast.With(items=[ast.withitem(context_expr=lock, optional_vars=None)], body=inner) if (
                    self._is_any(lock, spot, _LOCKS)
                ):
                    yield from self._counted_in(inner, spot, whole, is_locked=True, depth=depth)
                case ast.AugAssign(
                    target=ast.Name() | ast.Attribute() as target, op=ast.Add() | ast.Sub(), value=added
                ) if is_locked and (
                    _is_whole(added)
                    or (isinstance(added, ast.Name) and added.id in whole)
                    or (is_count(added) and _computes_or_counts(added))
                ):
                    yield last_name(target)
                case _:
                    yield ""

    def _counted_by(self, called: ast.expr, spot: Spot, *, is_locked: bool, depth: int) -> Iterator[str]:
        """Yield what a function of the module counts that is called without arguments; an empty name for any other."""
        values = self._racing.evaluation.values(called, spot)
        if len(values) != 1 or not isinstance(values[0], Routine):
            yield ""
            return
        function = values[0].node
        if not isinstance(function, ast.FunctionDef) or function.decorator_list:
            yield ""
            return
        inner = CompletionOrder.spot_of(values[0].scope)
        yield from self._counted_in(function.body, inner, frozenset(), is_locked=is_locked, depth=depth)

    def _whole_parameters(self, function: Function, made: Use) -> frozenset[str]:
        """Return the parameters that are whole numbers, for a function that only threads call.

        Args:
            function: the function.
            made: the call of `Thread`, with `args`.
        """
        if getattr(function, "name", "") in self._flow.sites:
            return frozenset()
        stored = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        }
        return frozenset(
            name
            for name, argument in _passed(function, made).items()
            if name not in stored and self._is_int(argument, made.spot)
        )

    def _is_int(self, node: ast.expr, spot: Spot) -> bool:
        values = self._racing.evaluation.values(node, spot)
        return bool(values) and all(isinstance(value, Plain) and value.type == "int" for value in values)

    def _are_read_after_join(self, names: set[str]) -> bool:
        """Return whether what the threads count is read only after all have been waited for, in the same function."""
        joins, starts = _methods(self._flow, "join"), _methods(self._flow, "start")
        if len(joins) != len(starts) or not all(self._waits_for_all(join, starts) for join in joins):
            return False
        filled = {
            id(node.value)
            for node in ast.walk(self._flow.tree)
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        }
        passed = {id(part) for use in self._flow.sites.get("Thread", ()) for part in ast.walk(use.node)}
        reads = [
            node
            for node in ast.walk(self._flow.tree)
            if isinstance(node, ast.Name | ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and last_name(node) in names
            and id(node) not in filled
            and id(node) not in passed
        ]
        first = min(start.node.lineno for start in starts)
        if any(
            last_name(node) in names and node.lineno > first and not self._is_in_routine(node)
            for node in ast.walk(self._flow.tree)
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
        ):
            return False  # something else changes it meanwhile
        last = max(joins, key=lambda join: join.node.lineno)
        function = last.spot.scope.body.node
        inside = set(map(id, ast.walk(function if function is not None else self._flow.tree)))
        is_alone = not any(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            and any(read in set(ast.walk(node)) for read in reads)
            for node in ast.walk(self._flow.tree)
            if node is not function
        )
        return is_alone and all(id(read) in inside and read.lineno > last.node.lineno for read in reads)

    def _is_in_routine(self, node: ast.AST) -> bool:
        """Return whether code is in a function that is made before, as a thread's is, or is an initialiser."""
        return any(
            node is part
            for function in ast.walk(self._flow.tree)
            if isinstance(function, ast.FunctionDef)
            for part in ast.walk(function)
            if function.name not in self._flow.sites
        )

    def _waits_for_all(self, join: Use, starts: list[Use]) -> bool:
        """Return whether a call waits, without a limit, for all that a call before it has started."""
        call = join.node
        assert isinstance(call, ast.Call)  # noqa: S101 - they are calls
        if call.args or call.keywords or not isinstance(call.func, ast.Attribute):
            return False
        owner = _iterated(self._flow.tree, call) or call.func.value
        return any(
            isinstance(start.node, ast.Call)
            and isinstance(start.node.func, ast.Attribute)
            and ast.dump(_iterated(self._flow.tree, start.node) or start.node.func.value) == ast.dump(owner)
            and start.spot.scope.body is join.spot.scope.body
            and self._are_beside(start.node, call)
            and self._is_kept(owner)
            for start in starts
        )

    def _are_beside(self, first: ast.expr, second: ast.expr) -> bool:
        """Return whether two calls are in statements of the same block, or in loops that are."""
        for node in ast.walk(self._flow.tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                holding = [
                    [index for index, statement in enumerate(body) if _runs(statement, call)]
                    for call in (first, second)
                ]
                if all(holding):
                    return True
        return False

    def _is_kept(self, owner: ast.expr) -> bool:
        """Return whether nothing is taken from a list of threads: its name is only iterated and appended to."""
        if not isinstance(owner, ast.Name):
            return False
        loads = [
            node
            for node in ast.walk(self._flow.tree)
            if isinstance(node, ast.Name) and node.id == owner.id and isinstance(node.ctx, ast.Load)
        ]
        known = {
            id(part)
            for node in ast.walk(self._flow.tree)
            for part in (
                [node.iter]
                if isinstance(node, ast.For | ast.comprehension)
                else [node.value]
                if isinstance(node, ast.Attribute) and node.attr in ("append", "start", "join")
                else []
            )
        }
        stores = sum(
            isinstance(node, ast.Name) and node.id == owner.id and isinstance(node.ctx, ast.Store)
            for node in ast.walk(self._flow.tree)
        )
        return stores == 1 and all(id(load) in known for load in loads)

    # --- one producer -------------------------------------------------------------------------------------------------

    def _fills_queue(self, routine: Routine) -> bool:
        """Return whether the only thread does nothing but put values into a queue, which nothing asks how full it is."""
        sites = self._flow.sites
        if any(name in sites for name in _ASKING_QUEUES):
            return False
        if {"queue", "unfinished_tasks"} & {
            last_name(use.node) for use in self._flow.references if isinstance(use.node, ast.Attribute)
        }:
            return False
        if any(name in ("__str__", "__format__", "__repr__") for name in self._method_names()):
            return False
        spot = CompletionOrder.spot_of(routine.scope)
        inside = set(map(id, ast.walk(routine.node)))
        puts = sites.get("put", [])
        return (
            bool(puts)
            and all(id(use.node) in inside for use in puts)
            and all(_has_no_arguments(use.node) for use in sites.get("get", ()))
            and all(self._is_put(statement, spot) for statement in routine.node.body)  # type: ignore[union-attr]
        )

    def _is_put(self, statement: ast.stmt, spot: Spot) -> bool:
        match statement:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=queue, attr="put"),
                    args=[ast.Name() | ast.Constant() | ast.JoinedStr() as put],
                    keywords=[],
                )
            ):
                is_plain = not any(isinstance(part, ast.Call | ast.Attribute) for part in ast.walk(put))
                return is_plain and self._is_any(queue, spot, _ORDERED_QUEUES)
            case ast.For(iter=iterated, body=body, orelse=[]):
                return self._is_constant(iterated, spot) and all(self._is_put(inner, spot) for inner in body)
        return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)

    def _method_names(self) -> Iterator[str]:
        return (name for scope in self._flow.scopes.values() for name in scope.bindings)

    def _is_constant(self, node: ast.expr, spot: Spot) -> bool:
        """Return whether an expression is a list of constants, or a name of one that nothing else reads."""
        if isinstance(node, ast.List | ast.Tuple | ast.Constant):
            return all(
                isinstance(part, ast.List | ast.Tuple | ast.Constant | ast.Load) for part in ast.walk(node)
            )
        if not isinstance(node, ast.Name):
            return False
        made = self._flow.sites["Thread"][0]
        assert isinstance(spot.scope.node, ast.FunctionDef)  # noqa: S101 - see `are_all`
        passed = _passed(spot.scope.node, made)
        if node.id in passed:
            return not isinstance(passed[node.id], ast.Name) and self._is_constant(passed[node.id], spot)
        loads = [
            part
            for part in ast.walk(self._flow.tree)
            if isinstance(part, ast.Name) and part.id == node.id and isinstance(part.ctx, ast.Load)
        ]
        stored = [
            part.value
            for part in ast.walk(self._flow.tree)
            if isinstance(part, ast.Assign) and node.id in map(last_name, part.targets)
        ]
        return len(loads) == 1 and len(stored) == 1 and self._is_constant(stored[0], spot)

    def _is_any(self, node: ast.expr, spot: Spot, names: frozenset[str]) -> bool:
        values = self._racing.evaluation.values(node, spot)
        return bool(values) and all(isinstance(value, Produced) and value.name in names for value in values)


def _passed(function: Function, made: Use) -> dict[str, ast.expr]:
    """Return what a thread passes as `args` to its function, by the names of the parameters."""
    call, names = made.node, [parameter.arg for parameter in function.args.args]
    assert isinstance(call, ast.Call)  # noqa: S101 - they are calls
    passed = next((word.value for word in call.keywords if word.arg == "args"), None)
    given = passed.elts if isinstance(passed, ast.Tuple) else []
    return dict(zip(names[names[:1] == ["self"] :], given, strict=False))


def _counts(comprehension: ast.AST | None, node: ast.expr | None) -> bool:
    """Return whether a name is the number of the turn of a comprehension, by `range` or `enumerate`."""
    match comprehension, node:
        case ast.ListComp(generators=[ast.comprehension(target=target, iter=iterated)]), ast.Name(id=name):
            match target, iterated:
                case ast.Name(id=found), ast.Call(func=ast.Name(id="range")):
                    return found == name
                case ast.Tuple(elts=[ast.Name(id=found), *_]), ast.Call(func=ast.Name(id="enumerate")):
                    return found == name
    return False


def _methods(flow: ModuleFlow, last: str) -> list[Use]:
    """Return the calls of methods of a name."""
    return [
        use
        for use in flow.sites.get(last, ())
        if isinstance(use.node, ast.Call)
        and isinstance(use.node.func, ast.Attribute)
        and not isinstance(use.node.func.value, ast.Constant)  # such as `", ".join(names)`
    ]


def _starts_threads_only(flow: ModuleFlow) -> bool:
    """Return whether a module starts nothing beside what goes on but threads."""
    is_pooled = any(last.endswith(("Executor", "Pool")) for last in flow.sites)
    return not is_pooled and all(last == "Thread" or last not in flow.sites for last in STARTING)


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _runs(statement: ast.stmt, call: ast.expr) -> bool:
    """Return whether a statement is a call, or a loop over it."""
    inner = statement.body[0] if isinstance(statement, ast.For) and len(statement.body) == 1 else statement
    if not isinstance(inner, ast.Expr):
        return False
    return inner.value is call or (isinstance(inner.value, ast.ListComp) and inner.value.elt is call)


def _has_no_arguments(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and not node.args and not node.keywords


def _iterated(tree: ast.Module, call: ast.Call) -> ast.expr | None:
    """Return what a loop goes through whose only statement is a call of a method of its element."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.For(
                    target=ast.Name(id=name),
                    iter=iterated,
                    body=[ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=found))) as only)],
                )
                | ast.ListComp(
                    elt=ast.Call(func=ast.Attribute(value=ast.Name(id=found))) as only,
                    generators=[ast.comprehension(target=ast.Name(id=name), iter=iterated, ifs=[])],
                )
            ) if only is call and name == found:
                return iterated
    return None


def _starts_and_joins(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that start something for which the next statement waits."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for first, second in pairwise(body) if isinstance(body, list) else ():
            started, joined = _called_on(first, "start"), _called_on(second, "join")
            if started is not None and joined is not None and ast.dump(started) == ast.dump(joined):
                yield first.lineno


def _called_on(statement: ast.stmt, method: str) -> ast.expr | None:
    """Return the object of which a statement calls a method without arguments; None for another statement."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=name), args=[], keywords=[])) if (
            name == method
        ):
            return owner
    return None


def _repeated(statement: ast.stmt) -> list[ast.stmt]:
    """Return what a loop repeats, a written comprehension's call too; nothing for another statement."""
    match statement:
        case ast.For(
            target=ast.Name(),
            iter=ast.Name() | ast.Call(func=ast.Name(id="range"), args=[ast.Name() | ast.Constant()]),
            body=body,
            orelse=[],
        ):
            return body
        case ast.Expr(
            value=ast.ListComp(
                elt=ast.Call() as call,
                generators=[
                    ast.comprehension(
                        target=ast.Name(),
                        iter=ast.Call(func=ast.Name(id="range"), args=[ast.Constant()]),
                        ifs=[],
                    )
                ],
            )
        ):
            return [ast.Expr(call)]
    return []


def _computes_or_counts(node: ast.expr) -> bool:
    """Return whether an expression only computes a number, such as `len(text.split())`."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Call) and all(map(_computes, node.args)))


def _computes(node: ast.expr) -> bool:
    """Return whether an expression only computes its value."""
    return all(
        last_name(part.func) in COMPUTING
        if isinstance(part, ast.Call)
        else not isinstance(part, ast.NamedExpr | ast.Await | ast.Yield)
        for part in ast.walk(node)
    )
