"""The functions of a module's tree by their qualified names, as code objects have them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def functions_of(tree: ast.AST) -> dict[str, Definition]:
    """Return the functions of a tree by qualified name; of several with one name the last, which the name is bound to."""
    return dict(_functions(tree, ""))


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)
