"""Readings of clocks of which nothing can come but a line in a log: they need no finding.

`started = perf_counter()` … `logger.info("took %.2f", perf_counter() - started)` is in every program, and a finding for it
is noise. So each reading is followed through its module, by what its value may reach: names, attributes, arithmetic,
formatting and containers that are made here. It is a duration where it meets another reading in a difference, and all of
it ends in calls of loggers or nowhere. What isn't understood is no duration: a value that is compared, returned, printed
or handed to another function keeps its finding.

The order of statements doesn't count, and what has one name in one scope is one variable: that can only keep findings.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from autochron.detect.catalogue import CLOCKS, LOOP_TIME
from autochron.detect.line_hash import source_lines
from autochron.scopes import Scope, defaults, imported, parameters

_LOOP = re.compile(r"_*(?:event_)?loop")
_LOGGER = re.compile(r"(?:.*logger|(?:.*_)?log|logging|structlog|loguru|logfire)", re.IGNORECASE)
_MAKING_LOGGERS = frozenset({"getLogger", "get_logger", "getChild", "LoggerAdapter"})
_CHANGING_LOGGERS = frozenset({"bind", "new", "opt", "patch", "unbind"})
_LEVELS = "debug info warning warn error critical fatal exception log trace success notice msg"
_LOGGING = frozenset({"bind", *(f"{wait}{level}" for level in _LEVELS.split() for wait in ("", "a"))})
_PASSING = frozenset(
    {
        "abs", "dict", "divmod", "float", "format", "int", "len", "list", "max", "min", "repr",
        "round", "set", "sorted", "str", "sum", "timedelta", "tuple"
    }
)  # fmt: skip
"""Functions whose value is made of what they are given, and that do nothing else with it."""
_PARTS = frozenset(
    {
        "total_seconds", "seconds", "microseconds", "days", "timestamp", "isoformat", "strftime", "replace",
        "astimezone", "get", "pop"
    }
)  # fmt: skip
"""What is read of a date, of a difference of dates, and of a container with some."""
_FILLING = frozenset({"append", "add", "update", "setdefault", "extend", "insert", "appendleft", "clear"})
_MAKING = frozenset({"dict", "list", "set", "defaultdict", "deque", "Counter", "OrderedDict"})
_REFLECTING = frozenset({"locals", "globals", "eval", "exec", "vars"})
"""By these a value is reached without its name."""
_REFLECTING_ON_OBJECTS = frozenset({"__dict__", "attrgetter", "asdict", "astuple", "getattr"})
_COMPOSED = (
    ast.FormattedValue, ast.JoinedStr, ast.Starred, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.UnaryOp
)  # fmt: skip


class _Flow(NamedTuple):
    """A value at an expression; `spans` where it is a difference already."""

    node: ast.AST
    spans: bool


class _Escape(Exception):  # noqa: N818 - it is no error
    """The value reaches something that more may come of."""


def durations(tree: ast.Module) -> frozenset[tuple[int, str]]:
    """Return the lines of a module, with the calls on each, that only read clocks for durations in logs."""
    module = _Module(tree)
    if module.names & _REFLECTING:
        return frozenset()
    judged: dict[tuple[int, str], bool] = {}
    for node, calls in module.readings:
        is_duration = module.is_duration(node)
        for call in calls:
            key = (line_of(node), call)
            judged[key] = judged.get(key, True) and is_duration
    return frozenset(key for key, is_duration in judged.items() if is_duration)


def durations_of(path: str) -> frozenset[tuple[int, str]]:
    """Return the same for a file; nothing where it can't be read."""
    return _of_lines(source_lines(path))


@lru_cache(maxsize=64)
def _of_lines(lines: tuple[str, ...]) -> frozenset[tuple[int, str]]:
    try:
        return durations(ast.parse("\n".join(lines)))
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()


def line_of(node: ast.Call) -> int:
    """Return the line that a frame is on while it makes a call."""
    called = node.func
    if isinstance(called, ast.Attribute) and called.lineno != called.end_lineno:
        return called.end_lineno or called.lineno
    return node.lineno


_Scope: TypeAlias = Scope[None]
"""A scope of a module, function or class body. A comprehension's names count as those around it."""

_Variable: TypeAlias = tuple[_Scope | None, str]
"""A name and its scope, None for an attribute: of whose object it is, nothing is known."""


class _Module:
    """A module's names and what stands around each of its expressions."""

    def __init__(self, tree: ast.Module) -> None:
        self.names: set[str] = set()
        """Every name that is mentioned, and no attribute."""
        self.readings: list[tuple[ast.Call, tuple[str, ...]]] = []
        self._around: dict[ast.AST, ast.AST] = {}
        self._dotted: dict[str, str] = {}
        self._loggers: set[str] = set()
        self._scopes: dict[ast.Name, _Scope] = {}
        self._uses: dict[_Variable, list[ast.Name | ast.Attribute]] = defaultdict(list)
        self._unknown: set[_Variable] = set()
        """What gets values that are not assigned: parameters, imports, definitions."""
        self._declared: set[str] = set()
        """Fields that something else than the class's own methods may read."""
        self._calls: list[ast.Call] = []
        self._holding: dict[_Variable, bool] = {}
        self._inward(tree, _Scope("module"))
        for name, scope in self._scopes.items():
            self._uses[self._variable(name)].append(name)
            if _owner(scope, name.id).kind == "class":
                self._unknown.add(self._variable(name))
        for node in self._calls:
            calls = self._clocks(node)
            if calls:
                self.readings.append((node, calls))

    # --- what there is ------------------------------------------------------------------------------------------------

    def _inward(self, node: ast.AST, scope: _Scope) -> None:
        """Note what a node is made of; each of its parts knows what it is in."""
        around = self._around
        rest = [(node, scope)]
        while rest:
            node, scope = rest.pop()
            handler = self._handlers.get(type(node))
            inner = handler(self, node, scope) if handler is not None else scope
            for name, value in ast.iter_fields(node):
                # What stands in the head of a definition is read outside it.
                here = inner if name in ("body", "args") else scope
                for child in value if isinstance(value, list) else (value,):
                    if isinstance(child, ast.AST):
                        if isinstance(child, ast.arguments):
                            rest += [(each, scope) for each in defaults(child)]
                            around.update((each, child) for each in defaults(child))
                        else:
                            around[child] = node
                            rest.append((child, here if inner is not scope else scope))

    def _function(self, node: ast.AST, scope: _Scope) -> _Scope:
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)  # noqa: S101 - see `_handlers`
        if not isinstance(node, ast.Lambda):
            self._bind(node.name, scope)
        inner = _Scope("function", scope)
        for each in parameters(node.args):
            self._bind(each.arg, inner)
        return inner

    def _class(self, node: ast.AST, scope: _Scope) -> _Scope:
        assert isinstance(node, ast.ClassDef)  # noqa: S101 - see `_handlers`
        self._bind(node.name, scope)
        if node.decorator_list or node.bases:
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    self._declared.add(statement.target.id)
        return _Scope("class", scope)

    def _outside(self, node: ast.AST, scope: _Scope) -> _Scope:
        assert isinstance(node, ast.Global | ast.Nonlocal)  # noqa: S101 - see `_handlers`
        scope.declare(node)
        return scope

    def _import(self, node: ast.AST, scope: _Scope) -> _Scope:
        assert isinstance(node, ast.Import | ast.ImportFrom)  # noqa: S101 - see `_handlers`
        origin = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for name, member in imported(node):
            self._dotted[name] = f"{origin}{member}"
            self._bind(name, scope)
        return scope

    def _bind(self, name: str, scope: _Scope) -> None:
        scope.bindings[name] = []
        self._unknown.add((scope, name))

    def _name(self, node: ast.AST, scope: _Scope) -> _Scope:
        assert isinstance(node, ast.Name)  # noqa: S101 - see `_handlers`
        self.names.add(node.id)
        self._scopes[node] = scope
        if not isinstance(node.ctx, ast.Load):
            scope.bindings[node.id] = []
        return scope

    def _attribute(self, node: ast.AST, scope: _Scope) -> _Scope:
        assert isinstance(node, ast.Attribute)  # noqa: S101 - see `_handlers`
        self._uses[None, node.attr].append(node)
        return scope

    def _call(self, node: ast.AST, scope: _Scope) -> _Scope:
        assert isinstance(node, ast.Call)  # noqa: S101 - see `_handlers`
        self._calls.append(node)
        return scope

    def _assign(self, node: ast.AST, scope: _Scope) -> _Scope:
        """Note which names are those of clocks and of loggers."""
        assert isinstance(node, ast.Assign)  # noqa: S101 - see `_handlers`
        value = node.value
        for target in node.targets:
            name = _last(target)
            if isinstance(value, ast.Call) and self._makes_logger(value):
                self._loggers.add(name)
            elif isinstance(target, ast.Name) and isinstance(value, ast.Attribute):
                dotted = self._dot(value)
                if dotted in CLOCKS:
                    self._dotted[name] = dotted
        return scope

    # --- what something is --------------------------------------------------------------------------------------------

    def _variable(self, node: ast.Name | ast.Attribute) -> _Variable:
        if isinstance(node, ast.Attribute):
            return None, node.attr
        return _owner(self._scopes[node], node.id), node.id

    def _dot(self, node: ast.expr) -> str:
        """Return the dotted name that imports make of an expression."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self._dotted.get(node.id, node.id), *reversed(parts)])

    def _clocks(self, node: ast.Call) -> tuple[str, ...]:
        """Name the clock that a call reads: as a scan does, and as a watch does."""
        called = node.func
        dotted = self._dot(called)
        if dotted in CLOCKS:
            return (dotted,)
        if isinstance(called, ast.Attribute) and called.attr == "time" and not node.args:
            base = called.value
            name = self._dot(base.func) if isinstance(base, ast.Call) else _last(base)
            if name in ("asyncio.get_running_loop", "asyncio.get_event_loop") or _LOOP.fullmatch(name):
                return LOOP_TIME, "time.monotonic"
        return ()

    def _is_logger(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            return self._makes_logger(node)
        name = _last(node)
        return name in self._loggers or _LOGGER.fullmatch(name) is not None or (
            self._dot(node) in ("logging", "structlog", "loguru.logger")
        )  # fmt: skip

    def _makes_logger(self, node: ast.Call) -> bool:
        called = node.func
        if _last(called) in _MAKING_LOGGERS:
            return True
        return (
            isinstance(called, ast.Attribute)
            and called.attr in _CHANGING_LOGGERS
            and self._is_logger(called.value)
        )

    def _is_reading(self, node: ast.expr) -> bool:
        """Return whether an operand has to do with the reading of a clock."""
        for each in ast.walk(node):
            if isinstance(each, ast.Call) and self._clocks(each):
                return True
            if isinstance(each, ast.Name | ast.Attribute) and self._holds_reading(self._variable(each)):
                return True
        return False

    def _holds_reading(self, variable: _Variable) -> bool:
        """Return whether a variable, or what it holds, is given the reading of a clock."""
        if variable not in self._holding:
            self._holding[variable] = any(
                isinstance(each, ast.Call) and self._clocks(each)
                for use in self._uses.get(variable, ())
                for each in self._assigned(use)
            )
        return self._holding[variable]

    def _assigned(self, use: ast.Name | ast.Attribute) -> Iterator[ast.AST]:
        """Return all that a value is made of which is stored where this stands."""
        target: ast.AST = use
        while isinstance(around := self._around[target], ast.Subscript | ast.Tuple):
            target = around
        is_stored = isinstance(getattr(target, "ctx", None), ast.Store)
        value = getattr(around, "value", None) if is_stored else None
        return ast.walk(value) if isinstance(value, ast.AST) else iter(())

    # --- where a value goes -------------------------------------------------------------------------------------------

    def is_duration(self, reading: ast.Call) -> bool:
        """Return whether a reading meets another one in a difference, and all that it reaches is a log."""
        pending, met = [_Flow(reading, spans=False)], False
        known = set(pending)
        try:
            while pending:
                flow = pending.pop()
                met |= flow.spans
                for onward in self._onward(flow):
                    if onward not in known:
                        known.add(onward)
                        pending.append(onward)
        except _Escape:
            return False
        return met

    def _onward(self, flow: _Flow) -> list[_Flow]:
        """Return what a value is a part of, or what it is read from next; nothing where it ends."""
        node, spans = flow
        around = self._around[node]
        match around:
            case ast.Expr():
                return []
            case ast.BinOp(left=left, op=operator, right=right):
                if isinstance(operator, ast.Sub) and not spans:
                    if not self._is_reading(right if left is node else left):
                        raise _Escape
                    spans = True
                return [_Flow(around, spans)]
            case ast.IfExp(test=test) if test is not node:
                return [_Flow(around, spans)]
            case ast.keyword():
                call = self._around[around]
                return self._given(call, spans=spans) if isinstance(call, ast.Call) else self._escape()
            case ast.Call(func=called):
                return [_Flow(around, spans)] if called is node else self._given(around, spans=spans)
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
                return []  # a reading is never None, whatever it is
            case ast.Subscript(value=value, ctx=context) if value is node:
                return [_Flow(around, spans)] if isinstance(context, ast.Load) else []
            case ast.Attribute(attr=name):
                return self._part(around, name, spans=spans)
        return self._assigned_to(around, node, spans=spans)

    @staticmethod
    def _escape() -> list[_Flow]:
        raise _Escape

    def _assigned_to(self, around: ast.AST, node: ast.AST, *, spans: bool) -> list[_Flow]:
        """Go on at what gets the value, whole or in something that is composed of it."""
        match around:
            case ast.Tuple() if (target := self._paired(around, node)) is not None:
                return self._stored(target, spans=spans)
            case ast.NamedExpr(target=target):
                return [_Flow(around, spans), *self._stored(target, spans=spans)]
            case ast.Assign(targets=targets):
                return [onward for target in targets for onward in self._stored(target, spans=spans)]
            case ast.AnnAssign(target=target):
                return self._stored(target, spans=spans)
            case ast.AugAssign(target=target) if spans:
                return self._stored(target, spans=spans)
            case _ if isinstance(around, _COMPOSED):
                return [_Flow(around, spans)]
        raise _Escape

    def _paired(self, values: ast.Tuple, node: ast.AST) -> ast.expr | None:
        """Return what this one of several values is assigned to."""
        assigned = self._around[values]
        if not isinstance(assigned, ast.Assign) or len(assigned.targets) != 1:
            return None
        target = assigned.targets[0]
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(values.elts):
            return None
        return next(target for target, value in zip(target.elts, values.elts, strict=True) if value is node)

    def _stored(self, target: ast.expr | None, *, spans: bool) -> list[_Flow]:
        """Return where a variable is read that gets the value, or that holds what gets it."""
        match target:
            case ast.Name():
                variable = self._variable(target)
                if _owner(self._scopes[target], target.id).kind == "class":
                    raise _Escape
            case ast.Attribute():
                variable = self._variable(target)
                self._expect_own(target.attr)
            case ast.Subscript(value=ast.Name() | ast.Attribute() as base):
                variable = self._filled(base)
            case _:
                raise _Escape
        return [_Flow(use, spans) for use in self._uses[variable] if isinstance(use.ctx, ast.Load)]

    def _expect_own(self, attribute: str) -> None:
        """Go on only where an attribute is read nowhere but by its name."""
        if attribute in self._declared or any(
            name in self.names or (None, name) in self._uses for name in _REFLECTING_ON_OBJECTS
        ):
            raise _Escape

    def _filled(self, base: ast.Name | ast.Attribute) -> _Variable:
        """Return the variable of a container that something is put into: one that nobody else may hold."""
        variable = self._variable(base)
        if isinstance(base, ast.Attribute):
            self._expect_own(base.attr)
        stores = [use for use in self._uses[variable] if isinstance(use.ctx, ast.Store)]
        if variable in self._unknown or not stores:
            raise _Escape
        for use in stores:
            around = self._around[use]
            made = around.value if isinstance(around, ast.Assign | ast.AnnAssign) else None
            if not isinstance(made, ast.Dict | ast.List | ast.Set) and not (
                isinstance(made, ast.Call) and _last(made.func) in _MAKING
            ):
                raise _Escape
        return variable

    def _given(self, call: ast.Call, *, spans: bool) -> list[_Flow]:
        """Return what a call makes of an argument."""
        called = call.func
        if isinstance(called, ast.Attribute):
            if called.attr in _LOGGING and self._is_logger(called.value):
                return []
            if called.attr == "format" and isinstance(called.value, ast.Constant | ast.JoinedStr):
                return [_Flow(call, spans)]
            if called.attr in _FILLING and isinstance(called.value, ast.Name | ast.Attribute):
                variable = self._filled(called.value)
                return [_Flow(use, spans) for use in self._uses[variable] if isinstance(use.ctx, ast.Load)]
        dotted = self._dot(called)
        if dotted in _PASSING or dotted == "datetime.timedelta" or dotted.startswith("statistics."):
            return [_Flow(call, spans)]
        raise _Escape

    def _part(self, node: ast.Attribute, name: str, *, spans: bool) -> list[_Flow]:
        """Return what comes of asking a value for a part of it."""
        outside = self._around[node]
        if name in _PARTS:
            return [_Flow(node, spans)]
        if name in _FILLING and isinstance(outside, ast.Call) and isinstance(self._around[outside], ast.Expr):
            return []
        raise _Escape

    _handlers = {  # noqa: RUF012 - nobody changes it
        ast.FunctionDef: _function,
        ast.AsyncFunctionDef: _function,
        ast.Lambda: _function,
        ast.ClassDef: _class,
        ast.Global: _outside,
        ast.Nonlocal: _outside,
        ast.Import: _import,
        ast.ImportFrom: _import,
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.Call: _call,
        ast.Assign: _assign,
    }


def _owner(scope: _Scope, name: str) -> _Scope:
    """Return the scope that a name belongs to; the module's for one that nothing binds."""
    return scope.find(name) or scope.module


def _last(node: ast.expr) -> str:
    """Return the last name of a dotted expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
