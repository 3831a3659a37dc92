"""Find the lines that run what SQLAlchemy was only told: a statement with `func.now()`, a default of a column."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from autochron.detect.scan.flow import ModuleFlow, Use, last_name

_COLUMNS = ("Column", "mapped_column")
DEFAULTS = frozenset(
    {"server_default", "default", "onupdate", "server_onupdate", "insert_default", "default_factory"}
)
"""Keywords of a column that say which value a new or changed row gets."""
_RUNNING = ("execute", "scalar", "scalars", "stream", "stream_scalars", "exec")
_SAVING = ("flush", "commit")
_CHANGING = frozenset({"insert", "update", "values", "add"})
_DEPTH = 2
"""How many names deep a statement is looked up."""


class StatementRuns:
    """The lines of one module that run statements."""

    def __init__(self, flow: ModuleFlow) -> None:
        """Take the bindings and uses of a module."""
        self._flow = flow
        self._defaults = {
            id(part)
            for column in _COLUMNS
            for use in flow.sites.get(column, ())
            if isinstance(use.node, ast.Call)
            for keyword in use.node.keywords
            if keyword.arg in DEFAULTS
            for part in ast.walk(keyword.value)
        }

    def lines(self, nodes: Iterable[ast.AST]) -> Iterator[int]:
        """Yield the lines that run a statement with one of some expressions, or that use it as the default of a column."""
        wanted = {id(node) for node in nodes}
        is_default = not wanted.isdisjoint(self._defaults)
        for use in self._uses(_RUNNING):
            assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
            parts = list(self._parts(use.node.args[0], use, _DEPTH)) if use.node.args else []
            changes = any(isinstance(part, ast.Call) and last_name(part.func) in _CHANGING for part in parts)
            is_asked = not is_default and any(id(part) in wanted for part in parts)
            if is_asked or (is_default and changes):
                yield use.node.lineno
        if is_default:
            yield from (use.node.lineno for use in self._uses(_SAVING))

    def _uses(self, names: Iterable[str]) -> Iterator[Use]:
        for name in names:
            yield from self._flow.sites.get(name, ())

    def _parts(self, node: ast.expr, use: Use, depth: int) -> Iterator[ast.AST]:
        """Yield the parts of an expression, and of what its names are bound to."""
        for part in ast.walk(node):
            yield part
            if not depth:
                continue
            bindings = []
            if isinstance(part, ast.Name):
                scope = use.spot.scope.find(part.id)
                bindings = scope.bindings[part.id] if scope is not None else []
            elif isinstance(part, ast.Attribute):
                bindings = self._flow.assigned.get(part.attr, [])
            for binding in bindings:
                if binding.kind == "value" and isinstance(binding.node, ast.expr):
                    yield from self._parts(binding.node, use, depth - 1)
