"""Find the conditions that the value of one site decides, so that `impact` can seek values that turn them.

`if draw == 42`, `now.hour in (2, 3)` and `int(token, 16) % 1000 < 5` are rarely met by values that are drawn at random. Names
that are assigned once are replaced by what they are assigned, parameters by what the module passes, and functions that only
return something by that. What then depends on one site and on constants is a condition of that site.
"""

from __future__ import annotations

import ast
import binascii
import builtins
import copy
import datetime as dt
import hashlib
import importlib
import math
import os
import re
import subprocess
import time
import uuid
import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from autochron._runtime import unpatched

_VALUE = "_value"
_SAFE = (
    "abs all any bin bool bytes chr divmod enumerate float format frozenset hex int isinstance len list max min ord "
    "range repr reversed round set sorted str sum tuple zip"
)


def _import(name: str, *_: object) -> Any:
    """Return a module that methods of dates import by themselves, as `timetuple` does."""
    if name not in ("time", "_strptime", "datetime"):
        raise ImportError(name)
    return importlib.import_module(name)


_NAMES: dict[str, Any] = {
    "__builtins__": {"__import__": _import, **{name: getattr(builtins, name) for name in _SAFE.split()}},
    "math": math,
    "zlib": zlib,
    "hashlib": hashlib,
    "binascii": binascii,
    "datetime": dt,
    "timedelta": dt.timedelta,
    "date": dt.date,
}
"""What conditions may use: nothing of it changes anything or asks for anything."""
_DEPTH = 6
"""How many names and calls are replaced one inside another."""
_CALLERS = 4
"""The most calls of a function whose arguments are put in place of its parameters."""
_LONGEST = 600
"""The most nodes of a condition."""

_Environment: TypeAlias = Mapping[str, ast.expr]
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Sites: TypeAlias = Mapping[int, str]
"""Maps the id of an expression that has the value of a site to the site's key."""


def conditions_of(tree: ast.Module, sites: _Sites) -> dict[str, list[Condition]]:
    """Return the conditions that single sites of a module decide, by the key of the site.

    Args:
        tree: the module.
        sites: the key of each site, by the id of its expression in the tree.
    """
    return _Conditions(tree, sites).find()


_PLAIN = (
    str, bytes, int, float, bool, type(None), uuid.UUID, dt.date, dt.time, dt.timedelta, time.struct_time, os.stat_result
)  # fmt: skip
_TIME = 200_000_000
"""Nanoseconds in which a value is sought."""
_COSTLY = re.compile(r"\*\*|<<|\brange\(|pbkdf2|scrypt|\* *_value|_value *\*")
"""What may take for ever, or all memory, with another value."""


def _is_plain(value: Any) -> bool:
    """Return whether a value can't be changed, and is of a type of Python's own."""
    if isinstance(value, subprocess.CompletedProcess):
        return _is_plain(value.stdout)
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return type(value) in _PLAIN or type(value) is dt.datetime


class Condition:
    """An expression of a site's value that a branch tests.

    Attributes:
        texts: the texts in it.
    """

    def __init__(self, source: str) -> None:
        self.texts = tuple(
            dict.fromkeys(
                node.value
                for node in ast.walk(ast.parse(source, mode="eval"))
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            )
        )
        if _COSTLY.search(source):
            raise ValueError(source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python has warned of this source before
            self._code = compile(source, "<condition>", "eval")

    def holds(self, value: Any) -> bool | None:
        """Return whether the condition is true for a value; None where that can't be told.

        An object of the program is not asked: its methods may change it, or do anything.
        """
        if not _is_plain(value):
            return None
        try:
            return bool(eval(self._code, {**_NAMES, _VALUE: value}))  # noqa: S307 - see `_NAMES`
        except Exception:
            return None

    def other_value(self, kept: Any, candidates: Iterable[Any], rebuild: Callable[[Any], Any]) -> Any:
        """Return the first candidate for which the condition turns out otherwise than for a kept value.

        Args:
            kept: the value as it is recorded.
            candidates: others, in the same form.
            rebuild: makes the program's value of a recorded one.

        Raises:
            LookupError: there is none.
        """
        now = self.holds(rebuild(kept))
        if now is None:
            raise LookupError
        end = unpatched.perf_counter_ns() + _TIME
        for candidate in candidates:
            if unpatched.perf_counter_ns() > end:
                break
            if self.holds(rebuild(candidate)) is (not now):
                return candidate
        raise LookupError


class _TooLongError(Exception):
    """A condition has too many nodes."""


class _Conditions:
    """The conditions of one module."""

    def __init__(self, tree: ast.Module, sites: _Sites) -> None:
        self._tree = tree
        self.budget = 0
        """How many nodes the current condition may still get."""
        self._sites = sites
        self._functions: dict[str, list[_Function]] = defaultdict(list)
        self._calls: dict[str, list[tuple[ast.Call, _Function | None]]] = defaultdict(list)
        self._tests: list[tuple[ast.expr, _Function | None]] = []
        self._stores: dict[_Function | None, dict[str, list[ast.expr | None]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._attributes: dict[str, list[ast.expr | None]] = defaultdict(list)
        self._read(tree, None)
        self._global = self._settled(None)

    def _read(self, node: ast.AST, function: _Function | None) -> None:
        """Note assignments, calls, functions and tests, each with the function that it is in."""
        for child in ast.iter_child_nodes(node):
            inner = function
            match child:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._functions[child.name].append(child)
                    inner = child
                case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
                    self._calls[name].append((child, function))
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._store(target, value, function)
                case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                    self._store(target, value, function)
                case ast.AugAssign(target=target) | ast.For(target=target) | ast.AsyncFor(target=target):
                    self._store(target, None, function)
                case ast.comprehension(target=target):
                    self._store(target, None, function)
                case ast.withitem(optional_vars=ast.expr() as target):
                    self._store(target, None, function)
            self._note_test(child, function)
            self._read(child, inner)

    def _note_test(self, node: ast.AST, function: _Function | None) -> None:
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
                self._tests.append((test, function))
            case ast.Compare():
                self._tests.append((node, function))
            case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_]):
                self._tests.append((_is_in(key, table), function))
            case ast.Subscript(value=table, slice=key, ctx=ast.Load()):
                self._tests.append((_is_in(key, table), function))
            case ast.Call(func=ast.Attribute(attr="startswith" | "endswith" | "isdigit" | "isdecimal")):
                self._tests.append((node, function))
            case ast.comprehension(ifs=tests):
                self._tests += [(test, function) for test in tests]

    def _store(self, target: ast.expr, value: ast.expr | None, function: _Function | None) -> None:
        match target:
            case ast.Name(id=name):
                self._stores[function][name].append(value)
            case ast.Attribute(attr=name):
                self._attributes[name].append(value)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._store(part, None, function)
            case ast.Starred(value=inner):
                self._store(inner, None, function)

    def _settled(self, function: _Function | None) -> dict[str, ast.expr]:
        """Return the names of a function, or of the module, that have one value only."""
        return {
            name: values[0]
            for name, values in self._stores[function].items()
            if len(values) == 1 and values[0] is not None
        }

    def find(self) -> dict[str, list[Condition]]:
        """Return the conditions by site."""
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for test, function in self._tests:
            for environment in self._environments(function, _DEPTH):
                resolver, self.budget = _Resolver(self, environment, _DEPTH), _LONGEST
                try:
                    resolved = resolver.resolved(test)
                except _TooLongError:
                    continue
                if len(resolver.met) == 1:
                    found[next(iter(resolver.met))][ast.unparse(resolved)] = None
        return {key: list(_compiled(sources)) for key, sources in found.items()}

    def _environments(self, function: _Function | None, depth: int) -> Iterator[_Environment]:
        """Yield what the names in a function stand for: once as it is, and once for each call that passes something."""
        if function is None:
            yield self._global
            return
        arguments = function.args
        names = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)]
        own = {
            **{name: value for name, value in self._global.items() if name not in names},
            **dict(zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True)),
            **self._settled(function),
        }
        yield own
        if depth <= 0:
            return
        if names[:1] in (["self"], ["cls"]):
            names = names[1:]
        for call, caller in self._calls.get(function.name, ())[:_CALLERS]:
            passed = _passed(names, call)
            if passed and caller is not function:
                for around in self._environments(caller, 0):
                    yield {**own, **{name: _Bound(value, around) for name, value in passed.items()}}

    def body_of(self, call: ast.Call, around: _Environment) -> tuple[ast.expr, _Environment] | None:
        """Return what a function of the module returns for a call in some environment, if it has one `return` only."""
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        functions = self._functions.get(name, [])
        if len(functions) != 1:
            return None
        function = functions[0]
        returned = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
        if len(returned) != 1 or returned[0].value is None:
            return None
        names = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
        if names[:1] in (["self"], ["cls"]):
            names = names[1:]
        own = {name: value for name, value in self._settled(function).items() if name not in names}
        passed = _passed(names, call)
        return returned[0].value, {
            **self._global,
            **own,
            **{name: _Bound(value, around) for name, value in passed.items()},
        }

    def attribute(self, name: str) -> ast.expr | None:
        """Return the only value that attributes of a name are assigned; None where there are several or none."""
        values = self._attributes.get(name, []) + [
            value for scope, names in self._stores.items() if scope is None for value in names.get(name, ())
        ]
        return values[0] if len(values) == 1 else None

    def site_of(self, node: ast.AST) -> str | None:
        """Return the key of the site whose value an expression has."""
        return self._sites.get(id(node))


class _Bound(ast.expr):
    """An argument, with what the names of its caller stand for."""

    _fields = ()

    def __init__(self, value: ast.expr, environment: _Environment) -> None:
        super().__init__()
        self.value = value
        self.environment = environment


class _Resolver:
    """Replaces names and calls in one expression.

    Attributes:
        met: the sites whose values the expression has.
    """

    def __init__(self, module: _Conditions, environment: _Environment, depth: int) -> None:
        self._module = module
        self._environment = environment
        self._depth = depth
        self.met: set[str] = set()

    def resolved(self, node: Any) -> Any:
        """Return an expression with what its names stand for. The tree stays as it is."""
        site = self._module.site_of(node)
        if site is not None:
            self.met.add(site)
            return ast.Name(id=_VALUE, ctx=ast.Load())
        match node:
            case _Bound():
                return self._inside(node.value, node.environment)
            case ast.Name(id=name, ctx=ast.Load()) if self._depth and name in self._environment:
                return self._inside(
                    self._environment[name], {k: v for k, v in self._environment.items() if k != name}
                )
            case ast.NamedExpr(value=value):
                return self.resolved(value)
            case ast.Await(value=value):
                return self.resolved(value)
            case ast.Call() if (
                self._depth and (body := self._module.body_of(node, self._environment)) is not None
            ):
                return self._inside(*body)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if (
                self._depth and (only := self._module.attribute(name)) is not None
            ):
                return self._inside(only, self._environment)
            case ast.AST():
                return self._copied(node)
            case list():
                return [self.resolved(part) for part in node]
        return node

    def _inside(self, node: ast.expr, environment: _Environment) -> Any:
        inner = _Resolver(self._module, environment, self._depth - 1)
        result = inner.resolved(node)
        self.met |= inner.met
        return result

    def _copied(self, node: ast.AST) -> ast.AST:
        self._module.budget -= 1
        if self._module.budget < 0:
            raise _TooLongError
        made = copy.copy(node)
        for name in node._fields:
            setattr(made, name, self.resolved(getattr(node, name, None)))
        return made


def _is_in(key: ast.expr, table: ast.expr) -> ast.expr:
    """Return the condition that a table has a key."""
    return ast.Compare(left=key, ops=[ast.In()], comparators=[table])


def _passed(names: list[str], call: ast.Call) -> dict[str, ast.expr]:
    """Return the arguments of a call by the parameter."""
    return {
        **dict(zip(names, call.args, strict=False)),
        **{word.arg: word.value for word in call.keywords if word.arg is not None},
    }


def _compiled(sources: Iterable[str]) -> Iterator[Condition]:
    for source in sources:
        try:
            yield Condition(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
