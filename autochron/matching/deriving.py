"""Which classes of a module derive from a named one, by its name as imports resolve it; without importing anything."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from autochron.matching.scopes import Names


def mentions(source: str, classes: Iterable[str]) -> bool:
    """Return whether a source may derive from one of these classes, before it is parsed."""
    return any(name.rpartition(".")[2] in source for name in classes)


def derived(source: str, module: str, known: set[str], *, is_package: bool) -> Iterator[tuple[str, str]]:
    """Yield (qualified name, dotted name) of each class that derives from a known one; SyntaxError where it doesn't parse.

    What is found is known from then on: a class may derive from one above it.
    """
    found = known.copy()
    for node, scope in Names(ast.parse(source), module, is_package=is_package).classes:
        names = {meaning.name for base in node.bases for meaning in scope.dotted(_plain(base))}
        if names & found:
            dotted = f"{scope.prefix}.{node.name}"
            found.add(dotted)
            yield scope.qualname_of(node.name), dotted


def _plain(base: ast.expr) -> ast.expr:
    """Return a base without its type arguments: `Tool[str]` is `Tool`."""
    return base.value if isinstance(base, ast.Subscript) else base
