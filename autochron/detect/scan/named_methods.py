"""Add what a call is a finding of by its last name alone, and what its statement of SQL asks for."""

from __future__ import annotations

import ast

from autochron.detect.scan.abstract_values import Known, Produced, Routine, Unknown, Value, is_command
from autochron.detect.scan.call_arguments import is_determined, may_reach, samples_table
from autochron.detect.scan.flow import ModuleFlow, Spot, Use, last_name
from autochron.detect.scan.found_calls import FoundCalls
from autochron.detect.scan.infer import Evaluation
from autochron.detect.scan.libraries import ENVIRONMENT, METHODS, UNORDERED_METHODS
from autochron.detect.scan.module_index import line_of
from autochron.detect.scan.sql_statements import SqlStatements
from autochron.detect.scan.written_times import writes_time


class NamedMethods:
    """The calls of one module whose names tell enough."""

    def __init__(self, flow: ModuleFlow, evaluation: Evaluation, found: FoundCalls) -> None:
        """Take a module: its bindings and uses, and its values; and the findings to add to."""
        self._flow = flow
        self._evaluation = evaluation
        self._found = found
        self._sql = SqlStatements(flow, evaluation)

    def add(self, use: Use, node: ast.Call) -> None:
        """Add what a call is a finding of."""
        called, spot = node.func, use.spot
        last = last_name(called)
        if last in UNORDERED_METHODS and not self._is_known(called, spot):
            self._found.add(
                line_of(node), "ordering", "concurrent.futures.as_completed", last, spot, callee=called
            )
        method = METHODS.get(last)
        if method is not None and may_reach(method, self._flow) and self._is_of_any(called, spot):
            if is_determined(method, node, 0):
                return
            self._found.add(line_of(node), method.category, method.call, last, spot, callee=called)
        if "envvar" in self._flow.keywords and any(map(is_command, self._evaluation.values(called, spot))):
            self._found.add(line_of(node), "env", ENVIRONMENT, "click", spot, callee=called)
        if last == "sample" and samples_table(node) and not self._is_known(called, spot):
            self._found.add(
                line_of(node), "random", "numpy.random.choice", "pandas.DataFrame.sample", spot, callee=called
            )
        if last in ("open", "GzipFile") and writes_time(node, self._evaluation.values(called, spot)):
            self._found.add(line_of(node), "clock", "time.time", None, spot, callee=called)
        for category, call in self._sql.asked_by(use):
            self._found.add(line_of(node), category, call, None, spot, callee=called)

    def _is_of_any(self, called: ast.expr, spot: Spot) -> bool:
        """Return whether a method may be one of a library: its object is unknown, or a decorator may have made it."""
        return any(
            isinstance(value, Unknown | Routine | Produced | Known) for value in self._owners(called, spot)
        )

    def _is_known(self, called: ast.expr, spot: Spot) -> bool:
        """Return whether it is known whose method a call calls."""
        return not any(isinstance(value, Unknown) for value in self._owners(called, spot))

    def _owners(self, called: ast.expr, spot: Spot) -> tuple[Value, ...]:
        """Return the values whose method a call may call."""
        return self._evaluation.values(called.value if isinstance(called, ast.Attribute) else called, spot)
