"""Find the decorators of a module's definitions, by the names that imports resolve to."""

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
    """The line of the first decorator, which is also the code object's `co_firstlineno`."""
    names: frozenset[str]
    """The dotted names that the decorator may resolve to."""


def mentions(source: str, decorators: Iterable[str]) -> bool:
    """Return whether a source may use one of these decorators, without parsing it.

    The source is searched for the decorator's last name, which an import with an alias has as well. Only a star import of
    a module that renames the decorator is missed.
    """
    return any(decorator.rpartition(".")[2] in source for decorator in decorators)


def decorations(source: str, module: str, *, is_package: bool) -> Iterator[Decoration]:
    """Yield every decorator of every function of a module.

    Raises:
        SyntaxError: the source doesn't parse.
    """
    for function, scope in Names(ast.parse(source), module, is_package=is_package).functions:
        for decorator in function.decorator_list:
            names = names_of(decorator, scope)
            if names:
                yield Decoration(function.name, function.decorator_list[0].lineno, names)


def names_of(decorator: ast.expr, scope: NameScope) -> frozenset[str]:
    """Return the dotted names of a decorator; one that is called with arguments has the name of its callee."""
    while isinstance(decorator, ast.Call):
        decorator = decorator.func
    return frozenset(meaning.name for meaning in scope.dotted(decorator))


def index(all_decorations: Iterable[Decoration]) -> Mapping[tuple[str, int], frozenset[str]]:
    """Return the dotted names of decorators by (function name, first line), which a code object also has."""
    table: dict[tuple[str, int], frozenset[str]] = {}
    for decoration in all_decorations:
        key = decoration.function, decoration.line
        table[key] = table.get(key, frozenset()) | decoration.names
    return table
