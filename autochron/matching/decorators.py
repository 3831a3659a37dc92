"""Which definitions stand under a decorator, by its name as imports resolve it. Read from source, with `ast`.

Not resolved: names that another module re-exports (`from shop import tool` where `shop` imports it from
`shop.registry` is `shop.tool`), and what is computed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Decoration(Struct, frozen=True):
    """One decorator of one definition."""

    function: str
    """The function's own name."""
    line: int
    """Of the first decorator, which is a code object's `co_firstlineno`."""
    names: frozenset[str]
    """The dotted names that the decorator may have."""


class _Scope:
    """The names that one module, class or function body binds, each with what it may stand for."""

    def __init__(self, prefix: str, outer: _Scope | None, *, is_class: bool = False) -> None:
        self.prefix = prefix
        self.outer = outer
        self.is_class = is_class
        self.bound: dict[str, set[str]] = {}
        self.stars: list[str] = []

    def bind(self, name: str, meaning: str) -> None:
        self.bound.setdefault(name, set()).add(meaning)

    def resolve(self, name: str) -> set[str]:
        """Give what a name may stand for; a name that nothing binds may come from a star import."""
        scope: _Scope | None = self
        stars: list[str] = []
        while scope is not None:
            # A class body's names are seen in it, and not in the functions inside it.
            if scope is self or not scope.is_class:
                if name in scope.bound:
                    return scope.bound[name]
                stars += scope.stars
            scope = scope.outer
        return {name, *(f"{module}.{name}" for module in stars)}


def mentions(source: str, decorators: Iterable[str]) -> bool:
    """Tell whether a source may use one of these decorators, before it is parsed.

    By the decorator's last name, which stands in the source under any alias, unless a star import of
    a module that renames it hides it.
    """
    return any(decorator.rpartition(".")[2] in source for decorator in decorators)


def decorations(source: str, module: str, *, is_package: bool) -> Iterator[Decoration]:
    """Give every decorator of every function, resolved; SyntaxError where the source doesn't parse."""
    package = module if is_package else module.rpartition(".")[0]
    yield from _walk(ast.parse(source).body, _Scope(module, None), package)


def _walk(body: list[ast.stmt], scope: _Scope, package: str) -> Iterator[Decoration]:
    """Go through one body; all that it binds is collected first, since order across branches says little."""
    statements = list(_statements(body))
    for statement in statements:
        _bind(statement, scope, package)
    _follow_aliases(statements, scope)
    for statement in statements:
        if isinstance(statement, Function):
            for decorator in statement.decorator_list:
                names = _names(decorator, scope)
                if names:
                    yield Decoration(statement.name, statement.decorator_list[0].lineno, frozenset(names))
            yield from _walk(
                statement.body, _Scope(f"{scope.prefix}.{statement.name}.<locals>", scope), package
            )
        elif isinstance(statement, ast.ClassDef):
            inner = _Scope(f"{scope.prefix}.{statement.name}", scope, is_class=True)
            yield from _walk(statement.body, inner, package)


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Give the statements of a body and of the blocks in it, but not those of functions and classes in it."""
    for statement in body:
        yield statement
        if isinstance(statement, Function | ast.ClassDef):
            continue
        for block in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, block, ()))
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _statements(part.body)


def _bind(statement: ast.stmt, scope: _Scope, package: str) -> None:
    match statement:
        case ast.Import(names=aliases):
            for alias in aliases:
                top = alias.name.partition(".")[0]
                scope.bind(alias.asname or top, alias.name if alias.asname else top)
        case ast.ImportFrom():
            origin = _origin(statement, package)
            for alias in statement.names:
                if alias.name == "*":
                    scope.stars.append(origin)
                else:
                    scope.bind(alias.asname or alias.name, f"{origin}.{alias.name}" if origin else alias.name)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            scope.bind(name, f"{scope.prefix}.{name}")


def _follow_aliases(statements: list[ast.stmt], scope: _Scope) -> None:
    """Bind assigned names: to what a dotted name on the right stands for, else to themselves."""
    for statement in statements:
        match statement:
            case ast.Assign(targets=targets, value=value):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                names = [name]
            case _:
                continue
        meanings = _dotted(value, scope)
        for name in names:
            for meaning in meanings or {f"{scope.prefix}.{name}"}:
                scope.bind(name, meaning)


def _origin(statement: ast.ImportFrom, package: str) -> str:
    """Give the absolute module that `from … import` reads."""
    if not statement.level:
        return statement.module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - statement.level + 1]
    return ".".join([*parts, *([statement.module] if statement.module else [])])


def _names(decorator: ast.expr, scope: _Scope) -> set[str]:
    """Give the names of a decorator; called with arguments it is the same decorator."""
    while isinstance(decorator, ast.Call):
        decorator = decorator.func
    return _dotted(decorator, scope)


def _dotted(expression: ast.expr, scope: _Scope) -> set[str]:
    attributes: list[str] = []
    while isinstance(expression, ast.Attribute):
        attributes.insert(0, expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name):
        return set()
    return {".".join([meaning, *attributes]) for meaning in scope.resolve(expression.id)}


def index(found: Iterable[Decoration]) -> Mapping[tuple[str, int], frozenset[str]]:
    """Give the decorators by (function name, first line): what a code object tells of itself."""
    table: dict[tuple[str, int], frozenset[str]] = {}
    for decoration in found:
        key = decoration.function, decoration.line
        table[key] = table.get(key, frozenset()) | decoration.names
    return table
