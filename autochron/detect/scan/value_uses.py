"""Follow the values of expressions through a module: to names, attributes, arithmetic, formatting and containers.

The order of statements is ignored, and each name in a scope is one variable. What is not understood is an escape: a value
that is compared, returned, printed or passed to another function. `harmless_uses` knows more of what is no escape.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias, TypeVar

from autochron.detect.catalogue import CLOCKS, LOOP_TIME
from autochron.detect.scan.flow import last_name
from autochron.scopes import Scope, defaults, imported, parameters

_CLOCK_NAMES = frozenset({name.rpartition(".")[2] for name in CLOCKS} | {"time"})
"""Last names of what reads a clock."""
_LOOP = re.compile(r"_*(?:event_)?loop")
_LOGGER = re.compile(r"(?:.*logger|(?:.*_)?log|logging|structlog|loguru|logfire)", re.IGNORECASE)
_LOGGER_FACTORIES = frozenset({"getLogger", "get_logger", "getChild", "LoggerAdapter"})
_LOGGER_MODIFIERS = frozenset({"bind", "new", "opt", "patch", "unbind"})
_LEVELS = "debug info warning warn error critical fatal exception log trace success notice msg"
_LEVELS_SET = frozenset(_LEVELS.split())
LOGGING = frozenset({"bind", *(f"{wait}{level}" for level in _LEVELS.split() for wait in ("", "a"))})
_PASSING = frozenset(
    {
        "abs", "dict", "divmod", "float", "format", "int", "len", "list", "max", "min", "repr",
        "round", "set", "sorted", "str", "sum", "timedelta", "tuple"
    }
)  # fmt: skip
"""Functions that only compute a result from their arguments."""
_PART_NAMES = frozenset(
    {
        "total_seconds", "seconds", "microseconds", "days", "timestamp", "isoformat", "strftime", "replace",
        "astimezone", "get", "pop"
    }
)  # fmt: skip
"""Attributes and methods that read a part of a date, of a difference of dates, or of a container of these."""
FILLING_METHODS = frozenset(
    {"append", "add", "update", "setdefault", "extend", "insert", "appendleft", "clear"}
)
_CONTAINER_TYPES = frozenset({"dict", "list", "set", "defaultdict", "deque", "Counter", "OrderedDict"})
_REFLECTING = frozenset({"locals", "globals", "eval", "exec", "vars"})
"""Builtins that reach a value without its name."""
_REFLECTING_ON_OBJECTS = frozenset({"__dict__", "attrgetter", "asdict", "astuple", "getattr"})
"""Names by which an attribute is reached without its name."""
_NO_NODES = frozenset(
    {
        "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module", "name", "op", "ops",
        "rest", "simple", "tag", "type_comment", "type_ignores"
    }
)  # fmt: skip
"""Fields of nodes that hold no expression or statement."""
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    kind: ()
    if kind in (ast.Constant, ast.alias, ast.Global, ast.Nonlocal, ast.MatchSingleton)
    else tuple(name for name in kind._fields if name not in _NO_NODES)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
"""The other fields, by the kind of node."""
_COMPOSED = (
    ast.FormattedValue, ast.JoinedStr, ast.Starred, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.UnaryOp
)  # fmt: skip
"""Expressions that hold the values of their parts."""


class ValueFlow(NamedTuple):
    """A value at an expression; `spans` says whether it is a difference of readings already."""

    node: ast.AST
    spans: bool


class Escape(Exception):  # noqa: N818 - it is no error
    """The value reaches something that is not known to be harmless."""


def line_of(node: ast.Call) -> int:
    """Return the line that a frame is on while it makes a call."""
    called = node.func
    if isinstance(called, ast.Attribute) and called.lineno != called.end_lineno:
        return called.end_lineno or called.lineno
    return node.lineno


Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Scope: TypeAlias = Scope[None]
"""A scope of a module, function or class body. A comprehension's names count as those around it."""

_Variable: TypeAlias = tuple[_Scope | None, str]
"""A name and its scope; None for an attribute. Attributes of one name are one variable, whatever the object."""


_Uses = TypeVar("_Uses", bound="ValueUses")


class ValueUses:
    """A module's names, and the parent of each of its expressions."""

    def __init__(self, tree: ast.Module) -> None:
        self.names: set[str] = set()
        """Every name that occurs, without attributes."""
        self.readings: list[tuple[ast.Call, tuple[str, ...]]] = []
        """The calls that read a clock, each with the names that scan and watch give it."""
        self.parents: dict[ast.AST, ast.AST] = {}
        self.imported: dict[str, str] = {}
        self._loggers: set[str] = set()
        self.scopes: dict[ast.Name, _Scope] = {}
        self.uses: dict[_Variable, list[ast.Name | ast.Attribute]] = defaultdict(list)
        self.unknown: set[_Variable] = set()
        """Variables that get values without an assignment: parameters, imports, definitions."""
        self._declared: set[str] = set()
        """Fields of classes with a base or a decorator, which code of others may read."""
        self.calls: list[ast.Call] = []
        self.functions: defaultdict[str, list[tuple[Function, _Scope]]] = defaultdict(list)
        """The functions by name, each with the scope of its body."""
        self._holds: dict[_Variable, bool] = {}
        self._owners: dict[tuple[_Scope, str], _Scope] = {}
        """The scope that a name belongs to, by the scope that it is used in."""
        self._index(tree, _Scope("module"))
        self._owners.clear()  # not all bindings were known until now
        for name, scope in self.scopes.items():
            variable = self._owner(scope, name.id), name.id
            self.uses[variable].append(name)
            if variable[0].kind == "class":
                self.unknown.add(variable)
        for node in self.calls:
            calls = self.clocks(node)
            if calls:
                self.readings.append((node, calls))

    def viewed_as(self, policy: type[_Uses]) -> _Uses:
        """Return an object of another class that shares what was read of the module."""
        view = policy.__new__(policy)
        view.__dict__ = self.__dict__
        return view

    @property
    def reflects(self) -> bool:
        """Whether the module may reach a value without its name."""
        return not self.names.isdisjoint(_REFLECTING)

    # --- what there is ------------------------------------------------------------------------------------------------

    def _index(self, node: ast.AST, scope: _Scope) -> None:
        """Index a tree: the parent, the scope and the uses of its nodes."""
        parents, handlers, names, scopes = self.parents, self._handlers, self.names, self.scopes
        pending = [(node, scope)]
        while pending:
            node, scope = pending.pop()
            kind = node.__class__
            handler = handlers.get(kind)
            body_scope = handler(self, node, scope) if handler is not None else scope
            for field in _FIELDS[kind]:
                value = getattr(node, field, None)
                if value is None:
                    continue
                # The head of a definition, such as its decorators, is evaluated in the scope around it.
                child_scope = body_scope if field in ("body", "args") else scope
                for child in value if value.__class__ is list else (value,):
                    child_kind = child.__class__
                    if (
                        child_kind is ast.Name
                    ):  # half of all nodes are names and constants, which have no parts
                        parents[child] = node
                        names.add(child.id)
                        scopes[child] = child_scope
                        if child.ctx.__class__ is not ast.Load:
                            child_scope.bindings[child.id] = []
                    elif child_kind is ast.Constant:
                        parents[child] = node
                    elif child is None or child_kind is str:
                        continue
                    elif child_kind is ast.arguments:
                        parents[child] = node
                        pending += [(default, scope) for default in defaults(child)]
                        parents.update((default, child) for default in defaults(child))
                    else:
                        parents[child] = node
                        pending.append((child, child_scope))

    def _function(self, node: ast.AST, scope: _Scope) -> _Scope:
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)  # noqa: S101 - see `_handlers`
        inner = _Scope("function", scope)
        if not isinstance(node, ast.Lambda):
            self._bind(node.name, scope)
            self.functions[node.name].append((node, inner))
        for parameter in parameters(node.args):
            self._bind(parameter.arg, inner)
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
            self.imported[name] = f"{origin}{member}"
            self._bind(name, scope)
        return scope

    def _bind(self, name: str, scope: _Scope) -> None:
        """Note a name that gets its value without an assignment."""
        scope.bindings[name] = []
        self.unknown.add((scope, name))

    def _name(self, node: ast.AST, scope: _Scope) -> _Scope:
        assert isinstance(node, ast.Name)  # noqa: S101 - see `_handlers`
        self.names.add(node.id)
        self.scopes[node] = scope
        if not isinstance(node.ctx, ast.Load):
            scope.bindings[node.id] = []
        return scope

    def _attribute(self, node: ast.AST, scope: _Scope) -> _Scope:
        assert isinstance(node, ast.Attribute)  # noqa: S101 - see `_handlers`
        self.uses[None, node.attr].append(node)
        return scope

    def _call(self, node: ast.AST, scope: _Scope) -> _Scope:
        assert isinstance(node, ast.Call)  # noqa: S101 - see `_handlers`
        self.calls.append(node)
        return scope

    def _assign(self, node: ast.AST, scope: _Scope) -> _Scope:
        """Note the names that are assigned a clock or a logger."""
        assert isinstance(node, ast.Assign)  # noqa: S101 - see `_handlers`
        value = node.value
        for target in node.targets:
            name = last_name(target)
            if isinstance(value, ast.Call) and self.makes_logger(value):
                self._loggers.add(name)
            elif isinstance(target, ast.Name) and isinstance(value, ast.Attribute):
                dotted = self.dotted_name(value)
                if dotted in CLOCKS:
                    self.imported[name] = dotted
        return scope

    # --- what something is --------------------------------------------------------------------------------------------

    def variable(self, node: ast.Name | ast.Attribute) -> _Variable:
        """Return the variable that a name or an attribute stands for."""
        if isinstance(node, ast.Attribute):
            return None, node.attr
        return self._owner(self.scopes[node], node.id), node.id

    def _owner(self, scope: _Scope, name: str) -> _Scope:
        """Return the scope that a name belongs to; the module if nothing binds it."""
        key = scope, name
        owner = self._owners.get(key)
        if owner is None:
            owner = self._owners[key] = scope.find(name) or scope.module
        return owner

    def dotted_name(self, node: ast.expr) -> str:
        """Return the dotted name of an expression, with imports resolved; an empty text if it has none."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self.imported.get(node.id, node.id), *reversed(parts)])

    def clocks(self, node: ast.Call) -> tuple[str, ...]:
        """Return the names of the clock that a call reads: as the scan calls it, and as the watch does."""
        called = node.func
        if isinstance(called, ast.Attribute):
            may_read = called.attr in _CLOCK_NAMES
        else:
            may_read = isinstance(called, ast.Name) and called.id in self.imported
        if not may_read:
            return ()
        dotted = self.dotted_name(called)
        if dotted in CLOCKS:
            return (dotted,)
        if isinstance(called, ast.Attribute) and called.attr == "time" and not node.args:
            base = called.value
            name = self.dotted_name(base.func) if isinstance(base, ast.Call) else last_name(base)
            if name in ("asyncio.get_running_loop", "asyncio.get_event_loop") or _LOOP.fullmatch(name):
                return LOOP_TIME, "time.monotonic"
        return ()

    def is_logger(self, node: ast.expr) -> bool:
        """Return whether an expression is a logger, by its name or by the call that makes it."""
        if isinstance(node, ast.Call):
            return self.makes_logger(node)
        name = last_name(node)
        if name in self._loggers or self.dotted_name(node) in ("logging", "structlog", "loguru.logger"):
            return True
        return _LOGGER.fullmatch(name) is not None and not self._is_no_logger(node)

    def _is_no_logger(self, node: ast.expr) -> bool:
        """Return whether a variable that is named like a logger is assigned something else: `log = Console()`."""
        if not _LEVELS_SET.isdisjoint(self.functions):
            return True  # the module has a class of its own with such methods
        if not isinstance(node, ast.Attribute) and node not in self.scopes:
            return False  # an expression, or the module is not read to its end
        for use in self.uses.get(self.variable(node), ()):
            value = getattr(self.parents[use], "value", None) if isinstance(use.ctx, ast.Store) else None
            called = value.func if isinstance(value, ast.Call) else value
            if isinstance(value, ast.Call) and self.makes_logger(value):
                continue
            if isinstance(called, ast.Name) and (
                self.variable(called) in self.unknown and called.id not in self.imported
                if isinstance(value, ast.Call)
                else called.id == "print"
            ):
                return True  # a class or a function of the module, or `print`
            if isinstance(value, ast.Call) and "log" not in self.dotted_name(value.func).lower():
                return True
        return False

    def makes_logger(self, node: ast.Call) -> bool:
        """Return whether a call returns a logger."""
        called = node.func
        if last_name(called) in _LOGGER_FACTORIES:
            return True
        return (
            isinstance(called, ast.Attribute)
            and called.attr in _LOGGER_MODIFIERS
            and self.is_logger(called.value)
        )

    def is_reading(self, node: ast.expr) -> bool:
        """Return whether an operand contains the reading of a clock, or a variable that holds one."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and self.clocks(part):
                return True
            if isinstance(part, ast.Name | ast.Attribute) and self.holds_reading(self.variable(part)):
                return True
        return False

    def holds_reading(self, variable: _Variable) -> bool:
        """Return whether a variable, or a part of its value, is assigned the reading of a clock."""
        if variable not in self._holds:
            self._holds[variable] = any(
                isinstance(part, ast.Call) and self.clocks(part)
                for use in self.uses.get(variable, ())
                for part in self._assigned(use)
            )
        return self._holds[variable]

    def _assigned(self, use: ast.Name | ast.Attribute) -> Iterator[ast.AST]:
        """Yield all nodes of the value that is assigned to a variable here; none if this is no assignment."""
        target: ast.AST = use
        while isinstance(parent := self.parents[target], ast.Subscript | ast.Tuple):
            target = parent
        is_stored = isinstance(getattr(target, "ctx", None), ast.Store)
        value = getattr(parent, "value", None) if is_stored else None
        return ast.walk(value) if isinstance(value, ast.AST) else iter(())

    # --- where a value goes -------------------------------------------------------------------------------------------

    def onward(self, flow: ValueFlow) -> list[ValueFlow]:
        """Return the expressions that get a value next; none where it ends. Raise Escape if something else gets it."""
        node, spans = flow
        parent = self.parents[node]
        match parent:
            case ast.Expr():
                return []
            case ast.BinOp(left=left, op=operator, right=right):
                if isinstance(operator, ast.Sub) and not spans:
                    if not self.is_reading(right if left is node else left):
                        raise Escape
                    spans = True
                return [ValueFlow(parent, spans)]
            case ast.IfExp(test=test) if test is not node:
                return [ValueFlow(parent, spans)]
            case ast.keyword():
                call = self.parents[parent]
                return self.through_call(call, spans=spans) if isinstance(call, ast.Call) else self._escape()
            case ast.Call(func=called):
                return (
                    [ValueFlow(parent, spans)] if called is node else self.through_call(parent, spans=spans)
                )
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
                return []  # a reading is never None, so no clock decides
            case ast.Subscript(value=value, ctx=context) if value is node:
                return [ValueFlow(parent, spans)] if isinstance(context, ast.Load) else []
            case ast.Attribute(attr=name):
                return self.part(parent, name, spans=spans)
        return self._assigned_to(parent, node, spans=spans)

    @staticmethod
    def _escape() -> list[ValueFlow]:
        raise Escape

    def _assigned_to(self, parent: ast.AST, node: ast.AST, *, spans: bool) -> list[ValueFlow]:
        """Return where a value goes that is assigned, or that is a part of a composed expression."""
        match parent:
            case ast.Tuple() if (target := self.paired(parent, node)) is not None:
                return self.stored(target, spans=spans)
            case ast.NamedExpr(target=target):
                return [ValueFlow(parent, spans), *self.stored(target, spans=spans)]
            case ast.Assign(targets=targets):
                return [onward for target in targets for onward in self.stored(target, spans=spans)]
            case ast.AnnAssign(target=target):
                return self.stored(target, spans=spans)
            case ast.AugAssign(target=target) if spans:
                return self.stored(target, spans=spans)
            case _ if isinstance(parent, _COMPOSED):
                return [ValueFlow(parent, spans)]
        raise Escape

    def paired(self, values: ast.Tuple, node: ast.AST) -> ast.expr | None:
        """Return the target of one of several values that are assigned at once; None if it has none of its own."""
        assigned = self.parents[values]
        if not isinstance(assigned, ast.Assign) or len(assigned.targets) != 1:
            return None
        target = assigned.targets[0]
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(values.elts):
            return None
        return next(target for target, value in zip(target.elts, values.elts, strict=True) if value is node)

    def stored(self, target: ast.expr | None, *, spans: bool) -> list[ValueFlow]:
        """Return where the variable is read that gets a value, or that holds the container which gets it."""
        match target:
            case ast.Name():
                variable = self.variable(target)
                if self.variable(target)[0].kind == "class":  # type: ignore[union-attr]
                    raise Escape
            case ast.Attribute():
                variable = self.variable(target)
                self._expect_own(target.attr)
            case ast.Subscript(value=ast.Name() | ast.Attribute() as base):
                variable = self.filled(base)
            case _:
                raise Escape
        return [ValueFlow(use, spans) for use in self.uses[variable] if isinstance(use.ctx, ast.Load)]

    def _expect_own(self, attribute: str) -> None:
        """Raise Escape if an attribute may be read in another way than by its name."""
        if attribute in self._declared or any(
            name in self.names or (None, name) in self.uses for name in _REFLECTING_ON_OBJECTS
        ):
            raise Escape

    def filled(self, base: ast.Name | ast.Attribute) -> _Variable:
        """Return the variable of a container that gets a value. Raise Escape unless the container is created here."""
        variable = self.variable(base)
        if isinstance(base, ast.Attribute):
            self._expect_own(base.attr)
        stores = [use for use in self.uses[variable] if isinstance(use.ctx, ast.Store)]
        if variable in self.unknown or not stores:
            raise Escape
        for use in stores:
            parent = self.parents[use]
            value = parent.value if isinstance(parent, ast.Assign | ast.AnnAssign) else None
            if not isinstance(value, ast.Dict | ast.List | ast.Set) and not (
                isinstance(value, ast.Call) and last_name(value.func) in _CONTAINER_TYPES
            ):
                raise Escape
        return variable

    def through_call(self, call: ast.Call, *, spans: bool) -> list[ValueFlow]:
        """Return where an argument of a call goes."""
        called = call.func
        if isinstance(called, ast.Attribute):
            if called.attr in LOGGING and self.is_logger(called.value):
                return []
            if called.attr == "format" and isinstance(called.value, ast.Constant | ast.JoinedStr):
                return [ValueFlow(call, spans)]
            if called.attr in FILLING_METHODS and isinstance(called.value, ast.Name | ast.Attribute):
                variable = self.filled(called.value)
                return [ValueFlow(use, spans) for use in self.uses[variable] if isinstance(use.ctx, ast.Load)]
        dotted = self.dotted_name(called)
        if dotted in _PASSING or dotted == "datetime.timedelta" or dotted.startswith("statistics."):
            return [ValueFlow(call, spans)]
        raise Escape

    def part(self, node: ast.Attribute, name: str, *, spans: bool) -> list[ValueFlow]:
        """Return where a part of a value goes that is read from it by an attribute."""
        parent = self.parents[node]
        if name in _PART_NAMES:
            return [ValueFlow(node, spans)]
        if (
            name in FILLING_METHODS
            and isinstance(parent, ast.Call)
            and isinstance(self.parents[parent], ast.Expr)
        ):
            return []
        raise Escape

    _handlers = {  # noqa: RUF012 - it is never changed
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
