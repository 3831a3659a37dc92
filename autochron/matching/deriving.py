"""Find the classes of a module that derive from a named one, by the names that imports resolve to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from autochron.matching.scopes import Names


def mentions(source: str, classes: Iterable[str]) -> bool:
    """Return whether a source may derive from one of these classes, without parsing it."""
    return any(name.rpartition(".")[2] in source for name in classes)


def derived(source: str, module: str, known: set[str], *, is_package: bool) -> Iterator[tuple[str, str]]:
    """Yield (qualified name, dotted name) of each class of a module that derives from a known one.

    Args:
        source: the module's source.
        module: its name.
        known: dotted names of classes. A class that was yielded counts as known for those below it.
        is_package: whether the module is a package.

    Raises:
        SyntaxError: the source doesn't parse.
    """
    bases = known.copy()
    for node, scope in Names(ast.parse(source), module, is_package=is_package).classes:
        names = {meaning.name for base in node.bases for meaning in scope.dotted(_plain(base))}
        if names & bases:
            dotted = f"{scope.prefix}.{node.name}"
            bases.add(dotted)
            yield scope.qualname_of(node.name), dotted


def _plain(base: ast.expr) -> ast.expr:
    """Return a base class without its type arguments: `Tool` for `Tool[str]`."""
    return base.value if isinstance(base, ast.Subscript) else base
