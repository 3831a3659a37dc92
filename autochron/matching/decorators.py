"""Which definitions stand under a decorator, by its name as imports resolve it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from autochron.matching.scopes import Names, NameScope


class Decoration(Struct, frozen=True):
    """One decorator of one definition."""

    function: str
    """The function's own name."""
    line: int
    """Of the first decorator, which is a code object's `co_firstlineno`."""
    names: frozenset[str]
    """The dotted names that the decorator may have."""


def mentions(source: str, decorators: Iterable[str]) -> bool:
    """Return whether a source may use one of these decorators, before it is parsed.

    By the decorator's last name, which stands in the source under any alias, unless a star import of
    a module that renames it hides it.
    """
    return any(decorator.rpartition(".")[2] in source for decorator in decorators)


def decorations(source: str, module: str, *, is_package: bool) -> Iterator[Decoration]:
    """Yield every decorator of every function, resolved; SyntaxError where the source doesn't parse."""
    for function, scope in Names(ast.parse(source), module, is_package=is_package).functions:
        for decorator in function.decorator_list:
            names = names_of(decorator, scope)
            if names:
                yield Decoration(function.name, function.decorator_list[0].lineno, names)


def names_of(decorator: ast.expr, scope: NameScope) -> frozenset[str]:
    """Return the names of a decorator; called with arguments it is the same decorator."""
    while isinstance(decorator, ast.Call):
        decorator = decorator.func
    return frozenset(meaning.name for meaning in scope.dotted(decorator))


def index(found: Iterable[Decoration]) -> Mapping[tuple[str, int], frozenset[str]]:
    """Return the decorators by (function name, first line): what a code object tells of itself."""
    table: dict[tuple[str, int], frozenset[str]] = {}
    for decoration in found:
        key = decoration.function, decoration.line
        table[key] = table.get(key, frozenset()) | decoration.names
    return table
