"""Find what the statements of SQL that a module runs ask of the database's clock, or draw by chance."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from autochron.detect.scan.flow import ModuleFlow, Use, last_name
from autochron.detect.scan.infer import Evaluation
from autochron.detect.scan.sql_text import STATEMENTS, Schema, chance_in
from autochron.detect.scan.statement_runs import DEFAULTS
from autochron.detect.scan.written_text import text_of
from autochron.model import Category

_TAKING_SQL = STATEMENTS | {"literal_column"}


class SqlStatements:
    """The statements of one module."""

    def __init__(self, flow: ModuleFlow, evaluation: Evaluation) -> None:
        """Take a module: its bindings and uses, and its values."""
        self._flow = flow
        self._evaluation = evaluation

    @cached_property
    def _schema(self) -> Schema:
        """What the module creates in databases."""
        statements = (
            text_of(self._evaluation, use.node.args[0], use.spot)
            for last in STATEMENTS & self._flow.sites.keys()
            for use in self._flow.sites[last]
            if isinstance(use.node, ast.Call) and use.node.args
        )
        connections = [use.node for use in self._flow.sites.get("connect", ())]
        is_private = bool(connections) and all(map(_is_in_memory, connections))
        return Schema({*self._flow.texts, *statements}, is_private=is_private)

    def asked_by(self, use: Use) -> Iterator[tuple[Category, str]]:
        """Yield the category and the name of what the statement of a call asks for."""
        node = use.node
        assert isinstance(node, ast.Call)  # noqa: S101 - they are calls
        last = last_name(node.func)
        if last not in _TAKING_SQL or not node.args:
            return
        statement = text_of(self._evaluation, node.args[0], use.spot)
        if last == "literal_column" or (last == "text" and _is_default(node, use.call)):
            statement = f"select {statement}"
        yield from self._schema.asked_by(statement)
        if not self._schema.is_unread(statement):
            yield from chance_in(statement)


def _is_in_memory(node: ast.expr) -> bool:
    match node:
        case ast.Call(args=[ast.Constant(value=":memory:"), *_]):
            return True
    return False


def _is_default(node: ast.Call, outer: ast.Call | None) -> bool:
    """Return whether a text is the default of a column, such as `server_default=text("CURRENT_TIMESTAMP")`."""
    return outer is not None and any(
        keyword.arg in DEFAULTS and keyword.value is node for keyword in outer.keywords
    )
