"""Find what depends on which of several threads, tasks or processes comes first.

A function counts as concurrent here if the module starts it more than once: in a loop, by a pool's `map`, or at several
places. What such functions append to a list that they share, or put into a queue, is in the order in which they got there.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from autochron.detect.scan.abstract_values import Container, Instance, Known, Produced, Routine
from autochron.detect.scan.flow import Block, FlowScope, ModuleFlow, Spot, Use, last_name
from autochron.detect.scan.infer import Evaluation

_STARTING = frozenset(
    {
        "submit", "to_thread", "run_in_executor", "Thread", "Process", "create_task", "ensure_future", "gather", "start_soon",
        "add_done_callback", "apply_async", "start_new_thread", "run_sync", "Timer",
    }
)  # fmt: skip
"""Last names of callables that start what they are given beside what goes on."""
_STARTING_MANY = frozenset({"map", "imap", "imap_unordered", "map_async", "starmap", "starmap_async"})
"""Methods of pools that start what they are given for each of several arguments."""
_POOLS = ("Executor", "Pool")
_ANY_ORDER = frozenset(
    {"start_soon", "submit", "Thread", "Process", "add_done_callback", "to_thread", "run_in_executor"}
)
"""Those after which even the first steps come in any order."""
_APPENDING = frozenset({"append", "extend", "appendleft", "insert", "writelines"})
_PUTTING = frozenset({"put", "put_nowait", "send", "send_nowait"})
_TAKING = frozenset({"get", "receive", "get_nowait", "receive_nowait"})
_QUEUES = frozenset(
    {
        "queue.Queue", "queue.SimpleQueue", "asyncio.Queue", "multiprocessing.Queue", "multiprocessing.SimpleQueue",
        "anyio.create_memory_object_stream", "trio.open_memory_channel", "janus.Queue",
    }
)  # fmt: skip
"""Callables whose result is read in the order in which it was written."""
_WORKERS = frozenset(
    {
        "threading.current_thread.name", "threading.current_thread.native_id", "multiprocessing.current_process.name",
        "multiprocessing.current_process.pid", "threading.current_thread.getName",
    }
)  # fmt: skip
"""Names of the thread, process or task that happens to run a function."""
_LIMITED = frozenset(
    {"wait_for", "timeout", "timeout_at", "fail_after", "result", "get", "acquire", "exception"}
)
"""Last names of callables that raise if something takes too long."""
_APPEND = "list.append"
_TAKE = "queue.get"
_WORKER = "threading.current_thread"
_LIMIT = "asyncio.wait_for"
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
_DEPTH = 3
"""How many calls deep a concurrent function is followed."""


class RacingPlace(NamedTuple):
    """A place whose value depends on which of several comes first."""

    line: int
    call: str
    spot: Spot
    node: ast.expr
    """The expression that has the value."""


class _Started(NamedTuple):
    """A function of the module that runs beside others of its kind."""

    routine: Routine
    in_any_order: bool
    """Whether even its first steps come in any order; else those after its first `await`."""


class CompletionOrder:
    """The places of one module whose value depends on which of several comes first."""

    def __init__(self, flow: ModuleFlow, evaluation: Evaluation) -> None:
        """Take a module: its bindings and uses, and its values."""
        self._flow = flow
        self._evaluation = evaluation

    def places(self) -> Iterator[RacingPlace]:
        """Yield the places."""
        starts = [use for use in self._flow.calls if self._is_start(use)]
        if starts:
            bodies = list(self._followed(self._concurrent(starts)))
            yield from self._in_bodies(bodies)
        if any(last in self._flow.sites for last in _LIMITED):
            yield from self._limited()

    # --- what runs beside what ----------------------------------------------------------------------------------------

    def _is_start(self, use: Use) -> bool:
        node = use.node
        assert isinstance(node, ast.Call)  # noqa: S101 - they are calls
        last = last_name(node.func)
        if last in _STARTING:
            return True
        return (
            last in _STARTING_MANY
            and isinstance(node.func, ast.Attribute)
            and any(
                isinstance(value, Produced) and value.name.endswith(_POOLS)
                for value in self._evaluation.values(node.func.value, use.spot)
            )
        )

    def _concurrent(self, starts: list[Use]) -> Iterator[_Started]:
        """Yield the functions that are started more than once."""
        counts: dict[int, int] = defaultdict(int)
        started: dict[int, _Started] = {}
        for use in starts:
            node = use.node
            assert isinstance(node, ast.Call)  # noqa: S101 - they are calls
            last = last_name(node.func)
            for routine, is_repeated in self._routines(node, use.spot):
                is_many = is_repeated or last in _STARTING_MANY or _is_repeated(use.spot)
                key = id(routine.node)
                counts[key] += 2 if is_many else 1
                before = started.get(key)
                in_any_order = last in _ANY_ORDER or last in _STARTING_MANY
                started[key] = _Started(routine, in_any_order or (before is not None and before.in_any_order))
        for key, one in started.items():
            if counts[key] > 1:
                yield one

    def _routines(self, call: ast.Call, spot: Spot) -> Iterator[tuple[Routine, bool]]:
        """Yield the functions of the module that a call starts, and whether it starts several of that one."""
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            inner = argument.value if isinstance(argument, ast.Starred) else argument
            is_repeated = isinstance(inner, ast.GeneratorExp | ast.ListComp)
            if isinstance(inner, ast.GeneratorExp | ast.ListComp):
                spot_inside, inner = self._flow.spots.get(id(inner), spot), inner.elt
            else:
                spot_inside = spot
            candidates = [inner]
            if isinstance(inner, ast.Call):  # a coroutine, or what a partial calls
                candidates += [inner.func, *inner.args[:1]]
            if isinstance(argument, ast.Starred) and isinstance(inner, ast.Name):
                for value in self._evaluation.elements(self._evaluation.values(inner, spot_inside)):
                    if isinstance(value, Routine):
                        yield value, True
            for candidate in candidates:
                for value in self._evaluation.values(candidate, spot_inside):
                    members = (
                        self._evaluation.member(value.scope, "__call__", None)
                        if isinstance(value, Instance)
                        else (value,)
                    )
                    for member in members:
                        if isinstance(member, Routine):
                            yield member, is_repeated

    def _followed(self, started: Iterator[_Started]) -> Iterator[_Started]:
        """Yield concurrent functions and the functions of the module that they call."""
        found: dict[int, _Started] = {}
        level = list(started)
        for _ in range(_DEPTH):
            following: list[_Started] = []
            for one in level:
                if id(one.routine.node) in found:
                    continue
                found[id(one.routine.node)] = one
                for call, is_late in self._calls_of(one):
                    spot = self._spot_of(one.routine.scope)
                    for value in self._evaluation.values(call.func, spot):
                        if isinstance(value, Routine):
                            following.append(_Started(value, is_late))  # noqa: PERF401 - it is clearer like this
            level = following
        yield from found.values()

    @staticmethod
    def _spot_of(scope: FlowScope) -> Spot:
        return Spot(scope, float("inf"), scope.block)

    def _calls_of(self, started: _Started) -> Iterator[tuple[ast.Call, bool]]:
        """Yield the calls of a function, in the order of its text, and whether others may have come before each."""
        is_late = started.in_any_order
        body = started.routine.node.body
        pending: list[ast.AST] = [body] if isinstance(body, ast.expr) else list(body)
        pending.reverse()
        while pending:
            node = pending.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
                continue
            if isinstance(node, ast.For | ast.AsyncFor | ast.While) and _awaits(node):
                is_late = True
            if isinstance(node, ast.Call):
                yield node, is_late or any(map(_awaits, node.args))
            if _is_pause(node):
                is_late = True
            pending += reversed(list(_parts_in_order(node)))

    # --- what shows the order -----------------------------------------------------------------------------------------

    def _in_bodies(self, bodies: list[_Started]) -> Iterator[RacingPlace]:
        is_queued = False
        for one in bodies:
            scope = one.routine.scope
            for call, is_late in self._calls_of(one):
                called = call.func
                if is_late and self._is_first_come(call, one):
                    yield RacingPlace(call.lineno, _TAKE, self._spot_of(scope), call)
                if not isinstance(called, ast.Attribute) or not is_late:
                    continue
                if called.attr in _APPENDING and self._is_shared(called.value, scope):
                    yield RacingPlace(
                        called.end_lineno or call.lineno, _APPEND, self._spot_of(scope), called.value
                    )
                is_queued = is_queued or called.attr in _PUTTING
            yield from self._stored(one)
            yield from self._workers(scope)
        if is_queued:
            yield from self._taken()

    def _is_first_come(self, call: ast.Call, one: _Started) -> bool:
        """Return whether a call gets what another thread may get first: the next number, or the first value of a key."""
        called, scope = call.func, one.routine.scope
        if not one.in_any_order:
            return False
        if isinstance(called, ast.Name):
            return called.id == "next" and bool(call.args) and self._is_shared(call.args[0], scope)
        is_used = any(
            use.node is call and use.position != "discarded" for use in self._flow.sites.get("setdefault", ())
        )
        return last_name(called) == "setdefault" and is_used and self._is_shared(called.value, scope)  # type: ignore[attr-defined]

    def _stored(self, one: _Started) -> Iterator[RacingPlace]:
        """Yield where a function puts something under a key of a shared table, which then has it in that order."""
        scope = one.routine.scope
        for node in ast.walk(one.routine.node) if one.in_any_order else ():
            for target in node.targets if isinstance(node, ast.Assign) else ():
                if isinstance(target, ast.Subscript) and self._is_growing_table(target.value, scope):
                    yield RacingPlace(target.lineno, _APPEND, self._spot_of(scope), target.value)

    def _is_growing_table(self, node: ast.expr, scope: FlowScope) -> bool:
        """Return whether an expression is a shared dictionary that is empty at first."""
        values = self._evaluation.values(node, self._spot_of(scope))
        is_empty = any(
            isinstance(value, Container) and value.type == "dict" and not value.values for value in values
        )
        return is_empty and self._is_shared(node, scope)

    def _is_shared(self, node: ast.expr, scope: FlowScope) -> bool:
        """Return whether an expression names something from outside a function."""
        root = node
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        owner = scope.find(root.id)
        if owner is not scope:
            return owner is not None
        return all(binding.kind == "parameter" for binding in scope.bindings[root.id])

    def _workers(self, scope: FlowScope) -> Iterator[RacingPlace]:
        """Yield where a function asks which thread, process or task runs it."""
        for use in (*self._flow.references, *self._flow.calls):
            if use.spot.scope.body is scope:
                node = use.node.func if isinstance(use.node, ast.Call) else use.node
                for value in self._evaluation.values(node, use.spot):
                    if isinstance(value, Known) and value.name in _WORKERS:
                        yield RacingPlace(node.lineno, _WORKER, use.spot, use.node)

    def _taken(self) -> Iterator[RacingPlace]:
        """Yield where queues are read."""
        for last in _TAKING:
            for use in self._flow.sites.get(last, ()):
                assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
                called = use.node.func
                if isinstance(called, ast.Attribute) and self._is_queue(called.value, use.spot):
                    yield RacingPlace(use.node.lineno, _TAKE, use.spot, use.node)
        for use in self._flow.iterated:
            if self._is_queue(use.node, use.spot):
                yield RacingPlace(use.node.lineno, _TAKE, use.spot, use.node)

    def _is_queue(self, node: ast.expr, spot: Spot) -> bool:
        return any(
            isinstance(value, Produced) and value.name in _QUEUES
            for value in self._evaluation.values(node, spot)
        )

    # --- threads whose work is understood -----------------------------------------------------------------------------

    def has_only_understood_threads(self) -> bool:
        """Return whether all that the module's threads do is told by its places, or has no order.

        They are waited for, and do nothing but compute, count under a lock, fill queues and append to lists.
        """
        if "join" not in self._flow.sites:
            return False
        routines: list[Routine] = []
        for use in self._flow.sites.get("Thread", ()):
            assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
            found = [routine for routine, _ in self._routines(use.node, use.spot)]
            if len(found) != 1:
                return False
            routines += found
        for scope in self._flow.scopes.values():
            if scope.kind == "class" and any(
                isinstance(base, Known) and base.name == "threading.Thread"
                for base in self._evaluation.bases(scope)
            ):
                found = [
                    value
                    for value in self._evaluation.member(scope, "run", None)
                    if isinstance(value, Routine)
                ]
                if len(found) != 1:
                    return False
                routines += found
        started = [_Started(routine, in_any_order=True) for routine in routines]
        bodies = list(self._followed(iter(started)))
        return (
            bool(routines)
            and all(map(self._is_understood, bodies))
            and not self._is_appended_elsewhere(bodies)
        )

    def _is_appended_elsewhere(self, bodies: list[_Started]) -> bool:
        """Return whether other code appends to what a thread appends to, as the main thread may do meanwhile."""
        scopes = {id(one.routine.scope) for one in bodies}
        inside: set[str] = set()
        outside: set[str] = set()
        for last in _APPENDING:
            for use in self._flow.sites.get(last, ()):
                assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
                if isinstance(use.node.func, ast.Attribute):
                    names = inside if id(use.spot.scope.body) in scopes else outside
                    names.add(last_name(use.node.func.value))
        return not inside.isdisjoint(outside)

    def _is_understood(self, one: _Started) -> bool:
        """Return whether a function that runs beside others does only what the places of this module tell."""
        scope = one.routine.scope
        spot = self._spot_of(scope)
        for call, _ in self._calls_of(one):
            last = last_name(call.func)
            values = self._evaluation.values(call.func, spot)
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
            and self._is_shared(part, scope)
            and not (isinstance(part, ast.Subscript) and self._is_growing_table(part.value, scope))
            for target in targets
            for part in ast.walk(target)
        )

    def _counts_under_lock(self, statement: ast.AugAssign, locked: set[int]) -> bool:
        """Return whether a statement adds to a name of its own, or to something shared while it holds a lock."""
        if isinstance(statement.target, ast.Name):
            return True
        return id(statement) in locked and isinstance(statement.op, ast.Add | ast.Sub)

    # --- time limits --------------------------------------------------------------------------------------------------

    def _limited(self) -> Iterator[RacingPlace]:
        """Yield the calls with a time limit whose end is handled: which of two comes first decides a branch."""
        handled = {
            id(part): any(map(_does_something, limits))
            for node in self._flow.tries
            for limits in [[handler for handler in node.handlers if _catches_timeout(handler)]]
            if limits
            for statement in node.body
            for part in ast.walk(statement)
        }
        for last in _LIMITED if handled else ():
            for use in self._flow.sites.get(last, ()):
                assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
                is_branch = handled.get(id(use.node))
                if is_branch is None or not _has_limit(use.node, last):
                    continue
                if is_branch or use.position != "discarded":
                    yield RacingPlace(use.node.lineno, _LIMIT, use.spot, use.node)


def _catches_timeout(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is not None and last_name(kind) in ("TimeoutError", "Empty", "TimeoutExpired") for kind in kinds
    )


def _is_repeated(spot: Spot) -> bool:
    """Return whether a spot is in a loop or a comprehension of its function."""
    if spot.scope.kind == "comprehension":
        return True
    block: Block | None = spot.block
    while block is not None:
        if block.is_loop:
            return True
        block = block.parent
    return False


def _does_something(handler: ast.ExceptHandler) -> bool:
    return not all(isinstance(statement, ast.Pass | ast.Continue) for statement in handler.body)


def _has_limit(call: ast.Call, last: str) -> bool:
    """Return whether a call passes a time limit."""
    if last in ("wait_for", "timeout", "timeout_at", "fail_after"):
        return True
    return any(keyword.arg == "timeout" for keyword in call.keywords) or (
        last == "result" and bool(call.args)
    )


def _is_pause(node: ast.AST) -> bool:
    """Return whether a coroutine may let others run here."""
    if isinstance(node, ast.AsyncFor | ast.AsyncWith):
        return True
    if not isinstance(node, ast.Await):
        return False
    value = node.value
    if not isinstance(value, ast.Call) or last_name(value.func) != "sleep" or not value.args:
        return True
    return not isinstance(value.args[0], ast.Constant) or bool(value.args[0].value)


def _awaits(node: ast.AST) -> bool:
    return any(_is_pause(part) for part in ast.walk(node))


def _parts_in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node, in the order in which they run as far as it matters here."""
    if isinstance(node, ast.Call):
        yield from node.args
        yield from node.keywords
        yield node.func
    else:
        yield from ast.iter_child_nodes(node)
