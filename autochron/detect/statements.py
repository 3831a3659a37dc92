"""Find the statement that a line of a module belongs to, and tell it by what it says and not by how it is laid out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autochron.detect.line_hash import hash_of

_INNER = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
"""The fields of a statement that hold others."""
_LAYOUT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


class Statements:
    """The statements of a module."""

    def __init__(self, source: str) -> None:
        """Parse a module; without statements if it doesn't parse."""
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            tree = ast.Module([], [])
        self._nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]

    def at(self, line: int) -> ast.stmt | None:
        """Return the innermost statement that a line is in; None if it is in none."""
        around = [node for node in self._nodes if _first(node) <= line <= _last(node)]
        return min(around, key=lambda node: _last(node) - _first(node), default=None)

    def digest_at(self, line: int) -> str:
        """Return a digest of what the statement of a line says: of one with a body, without it; empty if there is none."""
        node = self.at(line)
        return "" if node is None else hash_of(" ".join(_shape(node, is_outermost=True)))

    def lines_of(self, line: int) -> tuple[int, int]:
        """Return the first and the last line of the statement without a body that a line is in; else the line itself."""
        node = self.at(line)
        return (line, line) if node is None or hasattr(node, "body") else (_first(node), _last(node))


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _shape(node: ast.AST, *, is_outermost: bool = False) -> Iterator[str]:
    """Yield the words of a tree. What a version of Python leaves out where it is empty is left out in all."""
    yield type(node).__name__
    for name, value in ast.iter_fields(node):
        if name in _LAYOUT or (is_outermost and name in _INNER):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield f"{name}("
                yield from _shape(part)
                yield ")"
            elif part is not None:
                yield f"{name}={part!r}"
