"""Find what depends on which of several threads, tasks or processes comes first.

A function counts as concurrent here if the module starts it more than once: in a loop, by a pool's `map`, or at several
places. What such functions append to a list that they share, or put into a queue, is in the order in which they got there.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from autochron.detect.scan.abstract_values import Container, Instance, Known, Plain, Produced, Routine
from autochron.detect.scan.asked_sets import is_whole
from autochron.detect.scan.flow import FlowScope, ModuleFlow, Spot, Use, is_in_loop, last_name
from autochron.detect.scan.infer import Evaluation

STARTING = frozenset(
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
    {
        "start_soon",
        "submit",
        "Thread",
        "Process",
        "add_done_callback",
        "to_thread",
        "run_in_executor",
        "apply_async",
    }
)
"""Those after which even the first steps come in any order."""
_APPENDING = frozenset({"append", "extend", "appendleft", "insert", "writelines"})
_PUTTING = frozenset({"put", "put_nowait", "send", "send_nowait"})
_TAKING = frozenset({"get", "receive", "get_nowait", "receive_nowait"})
QUEUES = frozenset(
    {
        "queue.Queue", "queue.SimpleQueue", "queue.PriorityQueue", "queue.LifoQueue", "asyncio.PriorityQueue",
        "asyncio.Queue", "multiprocessing.Queue", "multiprocessing.SimpleQueue", "anyio.create_memory_object_stream",
        "trio.open_memory_channel", "janus.Queue",
    }
)  # fmt: skip
"""Callables whose result is read in the order in which it was written."""
_GENERATORS = frozenset({"random.Random", "numpy.random.default_rng", "numpy.random.RandomState"})
"""Callables whose result draws one value after the other."""
_WORKERS = frozenset(
    {
        "threading.current_thread.name", "threading.current_thread.native_id", "multiprocessing.current_process.name",
        "multiprocessing.current_process.pid", "threading.current_thread.getName",
    }
)  # fmt: skip
"""Names of the thread, process or task that happens to run a function."""
_APPEND = "list.append"
_PRINT = "builtins.print"
_TAKE = "queue.get"
_WORKER = "threading.current_thread"
_DEPTH = 3
"""How many calls deep a concurrent function is followed."""


class RacingPlace(NamedTuple):
    """A place whose value depends on which of several comes first."""

    line: int
    call: str
    spot: Spot
    node: ast.expr
    """The expression that has the value."""


class StartedRoutine(NamedTuple):
    """A function of the module that runs beside others of its kind."""

    routine: Routine
    in_any_order: bool
    """Whether even its first steps come in any order; else those after its first `await`."""


class CompletionOrder:
    """The places of one module whose value depends on which of several comes first."""

    def __init__(self, flow: ModuleFlow, evaluation: Evaluation) -> None:
        """Take a module: its bindings and uses, and its values."""
        self.flow = flow
        self.evaluation = evaluation

    def places(self) -> Iterator[RacingPlace]:
        """Yield the places."""
        starts = [use for use in self.flow.calls if self._is_start(use)]
        if starts or "start" in self.flow.sites:
            bodies = list(self.followed(self._concurrent(starts)))
            yield from self._in_bodies(bodies)

    def reads_of(self, place: RacingPlace) -> Iterator[int]:
        """Yield the lines that read the list or the table which the function of a place fills."""
        if place.call != _APPEND:
            return
        name, function = last_name(place.node), place.spot.scope.body.node
        inside = set(map(id, ast.walk(function))) if function is not None else set[int]()
        for use in self.flow.references:
            if last_name(use.node) == name and id(use.node) not in inside:
                yield use.node.lineno

    # --- what runs beside what ----------------------------------------------------------------------------------------

    def _is_start(self, use: Use) -> bool:
        node = use.node
        assert isinstance(node, ast.Call)  # noqa: S101 - they are calls
        last = last_name(node.func)
        if last in STARTING:
            return True
        return (
            last in _STARTING_MANY
            and isinstance(node.func, ast.Attribute)
            and any(
                isinstance(value, Produced) and value.name.endswith(_POOLS)
                for value in self.evaluation.values(node.func.value, use.spot)
            )
        )

    def _concurrent(self, starts: list[Use]) -> Iterator[StartedRoutine]:
        """Yield the functions that are started more than once."""
        counts: dict[int, int] = defaultdict(int)
        started: dict[int, StartedRoutine] = {}
        for use in starts:
            node = use.node
            assert isinstance(node, ast.Call)  # noqa: S101 - they are calls
            last = last_name(node.func)
            for routine, is_repeated in self.routines_of(node, use.spot):
                is_many = is_repeated or last in _STARTING_MANY or is_in_loop(use.spot)
                key = id(routine.node)
                counts[key] += 2 if is_many else 1
                before = started.get(key)
                in_any_order = last in _ANY_ORDER or last in _STARTING_MANY
                started[key] = StartedRoutine(
                    routine, in_any_order or (before is not None and before.in_any_order)
                )
        for key, one in started.items():
            if counts[key] > 1:
                yield one
        for scope in self.thread_classes():
            made = self.flow.sites.get(scope.qualname.rpartition(".")[2], ())
            if len(made) > 1 or any(is_in_loop(use.spot) for use in made):
                for value in self.evaluation.member(scope, "run", None):
                    if isinstance(value, Routine):
                        yield StartedRoutine(value, in_any_order=True)

    def thread_classes(self) -> Iterator[FlowScope]:
        """Yield the classes of the module that are threads."""
        for scope in self.flow.scopes.values():
            if scope.kind == "class" and any(
                isinstance(base, Known) and base.name in ("threading.Thread", "multiprocessing.Process")
                for base in self.evaluation.bases(scope)
            ):
                yield scope

    def routines_of(self, call: ast.Call, spot: Spot) -> Iterator[tuple[Routine, bool]]:
        """Yield the functions of the module that a call starts, and whether it starts several of that one."""
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            inner = argument.value if isinstance(argument, ast.Starred) else argument
            is_repeated = isinstance(inner, ast.GeneratorExp | ast.ListComp)
            if isinstance(inner, ast.GeneratorExp | ast.ListComp):
                spot_inside, inner = self.flow.spots.get(id(inner), spot), inner.elt
            else:
                spot_inside = spot
            candidates = [inner]
            is_repeated = is_repeated or (isinstance(inner, ast.Call) and last_name(inner.func) == "map")
            if isinstance(inner, ast.Call):  # a coroutine, or what a partial calls
                candidates += [inner.func, *inner.args[:1]]
            if isinstance(argument, ast.Starred) and isinstance(inner, ast.Name):
                for value in self.evaluation.elements(self.evaluation.values(inner, spot_inside)):
                    if isinstance(value, Routine):
                        yield value, True
            for candidate in candidates:
                for value in self.evaluation.values(candidate, spot_inside):
                    members = (
                        self.evaluation.member(value.scope, "__call__", None)
                        if isinstance(value, Instance)
                        else (value,)
                    )
                    for member in members:
                        if isinstance(member, Routine):
                            yield member, is_repeated
                            yield from ((around, is_repeated) for around in self._wrapped_around(member))

    def _wrapped_around(self, routine: Routine) -> Iterator[Routine]:
        """Yield the functions of the module that decorators put around a function."""
        decorators = [] if isinstance(routine.node, ast.Lambda) else routine.node.decorator_list
        outer = routine.scope.outer or routine.scope
        for decorator in decorators:
            for value in self.evaluation.values(decorator, self.spot_of(outer)):
                if isinstance(value, Routine):
                    yield from (made for made in self.evaluation.returned(value) if isinstance(made, Routine))

    def followed(self, started: Iterator[StartedRoutine]) -> Iterator[StartedRoutine]:
        """Yield concurrent functions and the functions of the module that they call."""
        found: dict[int, StartedRoutine] = {}
        level = list(started)
        for _ in range(_DEPTH):
            following: list[StartedRoutine] = []
            for one in level:
                if id(one.routine.node) in found:
                    continue
                found[id(one.routine.node)] = one
                for call, is_late in self.calls_of(one):
                    spot = self.spot_of(one.routine.scope)
                    for value in self.evaluation.values(call.func, spot):
                        if isinstance(value, Routine):
                            following.append(StartedRoutine(value, is_late))  # noqa: PERF401 - it is clearer like this
            level = following
        yield from found.values()

    @staticmethod
    def spot_of(scope: FlowScope) -> Spot:
        return Spot(scope, float("inf"), scope.block)

    def calls_of(self, started: StartedRoutine) -> Iterator[tuple[ast.Call, bool]]:
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

    def _in_bodies(self, bodies: list[StartedRoutine]) -> Iterator[RacingPlace]:
        is_queued = False
        for one in bodies:
            scope = one.routine.scope
            for call, is_late in self.calls_of(one):
                called = call.func
                if is_late and self._is_first_come(call, one):
                    yield RacingPlace(call.lineno, _TAKE, self.spot_of(scope), call)
                if is_late and ast.unparse(called) in ("print", "sys.stdout.write"):
                    yield RacingPlace(call.lineno, _PRINT, self.spot_of(scope), call)
                if not isinstance(called, ast.Attribute) or not is_late:
                    continue
                if called.attr in _APPENDING and self.is_shared(called.value, scope):
                    is_numbered = any(
                        isinstance(part, ast.Name | ast.Attribute)
                        and ast.unparse(part) == ast.unparse(called.value)
                        for argument in call.args
                        for part in ast.walk(argument)
                    )  # such as `places.append((name, len(places)))`
                    node, source = (call, _TAKE) if is_numbered else (called.value, _APPEND)
                    yield RacingPlace(called.end_lineno or call.lineno, source, self.spot_of(scope), node)
                if called.attr in _TAKING and self._is_queue(called.value, self.spot_of(scope)):
                    yield RacingPlace(call.lineno, _TAKE, self.spot_of(scope), call)
                handed = (last_name(argument) for argument in call.args)
                is_queued = is_queued or called.attr in _PUTTING or any(name in _PUTTING for name in handed)
            yield from self._stored(one)
            yield from self._workers(scope)
        if is_queued:
            yield from self._taken()

    def _is_first_come(self, call: ast.Call, one: StartedRoutine) -> bool:
        """Return whether a call gets what another thread may get first: the next number, or the first value of a key."""
        called, scope = call.func, one.routine.scope
        if not one.in_any_order:
            return False
        if isinstance(called, ast.Attribute) and self._takes(called, call, scope):
            return True
        if isinstance(called, ast.Name):
            return called.id == "next" and bool(call.args) and self.is_shared(call.args[0], scope)
        is_used = any(
            use.node is call and use.position != "discarded" for use in self.flow.sites.get("setdefault", ())
        )
        is_same_key = bool(call.args) and isinstance(call.args[0], ast.Constant)
        return (
            last_name(called) == "setdefault"
            and (is_used or is_same_key)
            and self.is_shared(called.value, scope)  # type: ignore[attr-defined]
        )

    def _takes(self, called: ast.Attribute, call: ast.Call, scope: FlowScope) -> bool:
        """Return whether a call takes what is next of a shared container, or draws from a shared generator."""
        if not self.is_shared(called.value, scope):
            return False
        if called.attr in ("pop", "popleft", "popitem") and not call.args:
            return True
        return any(
            isinstance(value, Produced) and value.name in _GENERATORS
            for value in self.evaluation.values(called.value, self.spot_of(scope))
        )

    def _stored(self, one: StartedRoutine) -> Iterator[RacingPlace]:
        """Yield where a function puts something under a key of a shared table, which then has it in that order."""
        scope = one.routine.scope
        for node in ast.walk(one.routine.node) if one.in_any_order else ():
            targets: list[ast.expr] = []
            if isinstance(node, ast.Assign):
                targets = node.targets
            elif isinstance(node, ast.AugAssign):
                targets = [node.target]
                yield from self._added(one, node)
            elif isinstance(node, ast.Call) and last_name(node.func) == "update":
                assert isinstance(node.func, ast.Attribute | ast.Name)  # noqa: S101 - it has a name
                table = getattr(node.func, "value", node.func)
                if self.is_growing_table(table, scope):
                    yield RacingPlace(node.lineno, _APPEND, self.spot_of(scope), table)
            elif isinstance(node, ast.If):
                yield from self._set_by_first(node, scope)
            for target in targets:
                if isinstance(target, ast.Subscript) and self.is_growing_table(target.value, scope):
                    yield RacingPlace(target.lineno, _APPEND, self.spot_of(scope), target.value)
                elif (
                    isinstance(target, ast.Subscript)
                    and isinstance(node, ast.Assign)
                    and isinstance(target.slice, ast.Constant)
                    and not isinstance(node.value, ast.Constant)
                    and self.is_shared(target.value, scope)
                ):
                    yield RacingPlace(
                        target.lineno, _TAKE, self.spot_of(scope), target.value
                    )  # the last one's

    def _added(self, one: StartedRoutine, node: ast.AugAssign) -> Iterator[RacingPlace]:
        """Yield where a function adds to a list or a number that it shares, and where it reads that number."""
        scope = one.routine.scope
        spot = self.spot_of(scope)
        if self._is_list(node.target, scope):
            yield RacingPlace(node.lineno, _APPEND, spot, node.target)
        elif self.is_shared(node.target, scope):
            yield from self._counted(one, ast.unparse(node.target))
            if not is_whole(self.evaluation, node.value, spot):
                yield RacingPlace(node.lineno, _APPEND, spot, node.target)

    def _counted(self, one: StartedRoutine, counted: str) -> Iterator[RacingPlace]:
        """Yield where a function reads what it counts together with others: `self.number += 1; return self.number`."""
        for node in ast.walk(one.routine.node):
            if (
                isinstance(node, ast.Attribute | ast.Name)
                and isinstance(node.ctx, ast.Load)
                and ast.unparse(node) == counted
            ):
                yield RacingPlace(node.lineno, _TAKE, self.spot_of(one.routine.scope), node)

    def _set_by_first(self, node: ast.If, scope: FlowScope) -> Iterator[RacingPlace]:
        """Yield where a function sets an attribute that it has found unset, as only the first one does."""
        asked = {ast.unparse(part) for part in ast.walk(node.test) if isinstance(part, ast.Attribute)}
        for statement in node.body:
            for target in statement.targets if isinstance(statement, ast.Assign) else ():
                if ast.unparse(target) in asked and self.is_shared(target, scope):
                    yield RacingPlace(target.lineno, _TAKE, self.spot_of(scope), node.test)

    def _is_list(self, node: ast.expr, scope: FlowScope) -> bool:
        """Return whether an expression is a shared list."""
        return self.is_shared(node, scope) and any(
            (isinstance(value, Container) and value.type == "list")
            or (isinstance(value, Plain) and value.type == "list")
            for value in self.evaluation.values(node, self.spot_of(scope))
        )

    def is_growing_table(self, node: ast.expr, scope: FlowScope) -> bool:
        """Return whether an expression is a shared dictionary that is empty at first."""
        values = self.evaluation.values(node, self.spot_of(scope))
        is_empty = any(
            (isinstance(value, Container) and value.type == "dict" and not value.values)
            or (isinstance(value, Produced) and value.name == "collections.Counter")
            for value in values
        )
        return is_empty and self.is_shared(node, scope)

    def is_shared(self, node: ast.expr, scope: FlowScope) -> bool:
        """Return whether an expression names something from outside a function."""
        root = node
        while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
            if isinstance(root, ast.Call) and last_name(root.func) != "setdefault":
                return False
            root = root.func if isinstance(root, ast.Call) else root.value
        if not isinstance(root, ast.Name):
            return False
        owner = scope.find(root.id)
        if owner is not scope:
            return owner is not None
        return all(binding.kind == "parameter" for binding in scope.bindings[root.id])

    def _workers(self, scope: FlowScope) -> Iterator[RacingPlace]:
        """Yield where a function asks which thread, process or task runs it."""
        for use in (*self.flow.references, *self.flow.calls):
            if use.spot.scope.body is scope:
                node = use.node.func if isinstance(use.node, ast.Call) else use.node
                for value in self.evaluation.values(node, use.spot):
                    if isinstance(value, Known) and value.name in _WORKERS:
                        yield RacingPlace(node.lineno, _WORKER, use.spot, use.node)

    def _taken(self) -> Iterator[RacingPlace]:
        """Yield where queues are read."""
        for last in _TAKING:
            for use in self.flow.sites.get(last, ()):
                assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
                called = use.node.func
                if isinstance(called, ast.Attribute) and self._is_queue(called.value, use.spot):
                    yield RacingPlace(use.node.lineno, _TAKE, use.spot, use.node)
        for use in self.flow.iterated:
            if self._is_queue(use.node, use.spot):
                yield RacingPlace(use.node.lineno, _TAKE, use.spot, use.node)
        for use in self.flow.references:
            is_iterated = use.call is not None and last_name(use.call.func) == "iter"
            if (
                is_iterated
                and isinstance(use.node, ast.Attribute)
                and self._is_queue(use.node.value, use.spot)
            ):
                yield RacingPlace(use.node.lineno, _TAKE, use.spot, use.node)

    def _is_queue(self, node: ast.expr, spot: Spot) -> bool:
        return any(
            isinstance(value, Produced) and value.name in QUEUES
            for value in self.evaluation.values(node, spot)
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
