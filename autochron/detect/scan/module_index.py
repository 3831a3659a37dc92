"""Index a module: the parent of each of its nodes, the uses of its names, its calls, and what is a clock or a logger.

Each name in a scope is one variable, and so are attributes of one name, whatever the object.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from typing import TypeAlias, TypeVar

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
_REFLECTING = frozenset({"locals", "globals", "eval", "exec", "vars"})
"""Builtins that reach a value without its name."""
_NO_NODES = frozenset(
    {
        "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "is_lazy", "kind", "level", "module", "name", "op",
        "ops", "rest", "simple", "tag", "type_comment", "type_ignores"
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


Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Scope: TypeAlias = Scope[None]
"""A scope of a module, function or class body. A comprehension's names count as those around it."""

Variable: TypeAlias = tuple[_Scope | None, str]
"""A name and its scope; None for an attribute. Attributes of one name are one variable, whatever the object."""

_Index = TypeVar("_Index", bound="ModuleIndex")


class ModuleIndex:
    """A module's names, its calls, and the parent of each of its nodes."""

    def __init__(self, tree: ast.Module) -> None:
        self.names: set[str] = set()
        """Every name that occurs, without attributes."""
        self.readings: list[tuple[ast.Call, tuple[str, ...]]] = []
        """The calls that read a clock, each with the names that scan and watch give it."""
        self.parents: dict[ast.AST, ast.AST] = {}
        self.imported: dict[str, str] = {}
        self._loggers: set[str] = set()
        self.scopes: dict[ast.Name, _Scope] = {}
        self.uses: dict[Variable, list[ast.Name | ast.Attribute]] = defaultdict(list)
        self.unknown: set[Variable] = set()
        """Variables that get values without an assignment: parameters, imports, definitions."""
        self._declared: set[str] = set()
        """Fields of classes with a base or a decorator, which code of others may read."""
        self.calls: list[ast.Call] = []
        self.functions: defaultdict[str, list[tuple[Function, _Scope]]] = defaultdict(list)
        """The functions by name, each with the scope of its body."""
        self._holds: dict[Variable, bool] = {}
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

    def viewed_as(self, policy: type[_Index]) -> _Index:
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

    def variable(self, node: ast.Name | ast.Attribute) -> Variable:
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


def line_of(node: ast.Call) -> int:
    """Return the line that a frame is on while it makes a call."""
    called = node.func
    if isinstance(called, ast.Attribute) and called.lineno != called.end_lineno:
        return called.end_lineno or called.lineno
    return node.lineno
