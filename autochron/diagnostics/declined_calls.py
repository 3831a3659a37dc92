"""Find the calls that an agent declined: a boundary covers the tool, and the agent never called it.

A model may ask for three tools of which the agent runs one, and a limit of turns may end the run before the last call.
Such a call has no crossing. A call that ran outside every boundary has none either, and a replay would make that call
again. The two are told apart by whether the call would have crossed:

- A woven definition of the tool's name. Its own code is changed, so no call can avoid it. The names of the call's
  arguments must be among its parameters, the project must mention it (`mentions`), and nothing else in the project may
  be the tool of that name (`sources.has_rival`, `built_names.leads_to_another`, and what the program keeps under it).
- A boundary that dispatches: a bound call through a table, such as `TOOLS[$tool](...)`, a dispatcher of the project
  that is named after its argument, or a dispatcher of a framework that is named after the tool's object. A tool can be
  called without these. So three things must hold: the boundary answered another call in this run, it knows the tool,
  and the project's source has no other way to the tool's function.

In all other cases the tool counts as unwoven. If that is wrong, the user has to pass `--allow-unwoven`. If the opposite
were wrong, a replay would make the second refund.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any

from autochron._runtime.live_objects import instances_of
from autochron._runtime.unpatched import os
from autochron.diagnostics.built_names import leads_to_another
from autochron.diagnostics.mentions import is_mentioned
from autochron.diagnostics.sources import (
    ImportedSources,
    SourceFile,
    attributes_of,
    calls_name,
    definition_at,
    has_rival,
    has_way_around,
    reads_attribute,
)
from autochron.effects.held import cells_of
from autochron.instrument.activation import Activation
from autochron.instrument.decorators import marked
from autochron.instrument.passed_callables import function_of
from autochron.model import BoundaryRule, CallSelector
from autochron.recording.requested_tools import Unanswered
from autochron.rules.calls import Attribute, Index, Metavariable, call_pattern
from autochron.rules.names import Field, name_template
from autochron.weaving.gate import Point
from autochron.weaving.heap import every_function


def declined_tools(
    missing: Sequence[Unanswered],
    activation: Activation,
    answering: Collection[str],
    named: Callable[[str, frozenset[str] | None], Iterable[FunctionType]],
) -> frozenset[str]:
    """Return the names of the tools that a boundary covers and that were not called.

    Args:
        missing: the tools with calls that no crossing answers.
        activation: what is woven.
        answering: the packs, and the rules of the project, by which other calls were answered.
        named: returns the functions that the program keeps under a tool's name, from the name and the names of the arguments.
    """
    try:
        judge = _DeclineJudge(activation, answering, named)
        return frozenset(tool.name for tool in missing if judge.is_declined(tool))
    except Exception:  # a fault here must not fail the recording: all tools count as unwoven
        return frozenset()


class _DeclineJudge:
    """Decides on the tools of one recording."""

    def __init__(
        self,
        activation: Activation,
        answering: Collection[str],
        named: Callable[[str, frozenset[str] | None], Iterable[FunctionType]],
    ) -> None:
        self._answering = answering
        self._named = named
        # A found tool may be a helper of the same name, unless its file has one that has answered a call.
        found = [
            point
            for point in activation.ledger.points
            for rule in point.rules
            if rule.is_found and rule.id in answering
        ]
        sure_files = {point.file for point in found}
        self._sites = activation.ledger.sites
        self._points = [
            point
            for point in (*activation.ledger.points, *marked.points)
            if point.signature is None
            and point.transport is None
            and (point.file in sure_files or any(not rule.is_found for rule in point.rules))
        ]
        self._dropped = activation.found.dropped
        self._owns = activation.project.owns
        self._sources = ImportedSources(activation.planner.project_files())

    def is_declined(self, tool: Unanswered) -> bool:
        """Return whether the unanswered calls of a tool were declined."""
        if tool.is_crossed or tool.name in self._dropped:
            return False
        definitions = [point for point in self._points if _is_definition_of(point, tool.name)]
        if definitions:
            return (
                any(_takes(point, tool) for point in definitions)
                and any(self._may_be_called(point) for point in definitions)
                and not self._has_rival(tool, definitions)
            )
        if tool.is_partial:
            return False  # the dispatcher knows the tool, but it may be called in another way as well
        return (
            any(self._is_in_table(site, tool.name) for site in self._sites)
            or any(self._is_dispatched(point, tool.name) for point in self._points)
            or any(self._is_of_framework(point, tool.name) for point in self._points)
        )

    def _may_be_called(self, point: Point) -> bool:
        """Return whether the project may call a definition of its own. If not, another function is the tool."""
        place = os.path.realpath(point.file), point.line
        return not self._owns(point.file) or is_mentioned(self._sources, point.qualname, {place})

    def _has_rival(self, tool: Unanswered, definitions: Sequence[Point]) -> bool:
        """Return whether something other than the woven definitions may be the tool of this name."""
        name = tool.name
        places = {(os.path.realpath(point.file), point.line) for point in definitions}

        def is_fine(value: Any) -> bool:
            function = function_of(value)
            return function is not None and _place(function) in places

        # Code that was typed in or passed to `exec` is in no file.
        codes = (function.__code__ for function in every_function() if function.__name__ == name)
        return (
            any(code.co_filename.startswith("<") for code in codes)
            or has_rival(self._sources, name, places, is_fine, is_woven=True)
            or leads_to_another(self._sources, name, places)
            or any(
                not _leads_to(function, places, {point.qualname.rpartition(".")[2] for point in definitions})
                for function in self._named(name, _keys_of(tool))
            )
        )

    # --- a table -----------------------------------------------------------------------------------------------------

    def _is_in_table(self, site: Any, name: str) -> bool:
        """Return whether a bound call takes the tool from a table, and nothing else reaches it."""
        for candidate in site.rules:
            rule = candidate.rule
            table = _table_of(rule)
            if table is None or rule.id not in self._answering or not _answers(rule) or rule.when:
                continue
            source = self._sources.parsed(os.path.realpath(site.file))
            lines = {
                (os.path.realpath(bound.file), bound.line)
                for bound in self._sites
                if any(other.rule is rule for other in bound.rules)
            }

            def is_inside(path: str, node: ast.AST, lines: Collection[tuple[str, int]] = lines) -> bool:
                return isinstance(node, ast.Subscript) and (path, node.lineno) in lines

            if self._is_only_in(source, table, name, is_inside):
                return True
        return False

    def _is_only_in(self, source: SourceFile, table: ast.expr, name: str, is_inside: Any) -> bool:
        """Return whether a table holds the tool, and the project reaches its function in no other way.

        Args:
            source: the file that names the table.
            table: the table's expression in that file.
            name: the tool.
            is_inside: returns whether a node of a file is a woven use of the table.
        """
        content = source.value_of(table)
        if not isinstance(content, dict) or name not in content:
            return False
        function = function_of(content[name])
        table_name = table.attr if isinstance(table, ast.Attribute) else getattr(table, "id", None)
        if function is None or table_name is None:
            return False
        names = {name, function.__name__, function.__code__.co_name} - {"<lambda>"}
        if has_way_around(self._sources, table_name, names, is_inside):
            return False
        place = _place(function)

        def is_fine(value: Any) -> bool:
            candidate = function_of(value)
            return candidate is not None and _place(candidate) == place

        return not has_rival(self._sources, name, {place}, is_fine, is_woven=False)

    # --- a dispatcher of the project's ----------------------------------------------------------------------------------

    def _is_dispatched(self, point: Point, name: str) -> bool:
        """Return whether a woven function of the project looks the tool up by its name, and nothing else reaches it."""
        rule = _unconditional_rule(point)
        if rule is None or rule.pack is not None or rule.id not in self._answering:
            return False
        field = _only_field(rule)
        if field is None or field.root not in point.parameters or point.passer is not None:
            return False
        source = self._sources.parsed(os.path.realpath(point.file))
        body = definition_at(source, point.line)
        if body is None:
            return False
        first, last = body.lineno, body.end_lineno or body.lineno

        def is_inside(path: str, node: ast.AST) -> bool:
            return path == source.path and first <= getattr(node, "lineno", 0) <= last

        tables = [
            node.value
            for node in ast.walk(body)
            if (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load))
            or (isinstance(node, ast.Attribute) and node.attr == "get")
        ]
        return any(self._is_only_in(source, table, name, is_inside) for table in tables)

    # --- a framework's dispatcher ---------------------------------------------------------------------------------------

    def _is_of_framework(self, point: Point, name: str) -> bool:
        """Return whether a pack's dispatcher knows the tool's object, and the project never calls its functions."""
        rules = [rule for rule in point.rules if rule.pack in self._answering and _answers(rule)]
        for field in [_only_field(rule) for rule in rules if rule.pack is not None]:
            if field is None:
                continue
            for tool in _tools_of(point, field, name):
                if not self._is_called_past(tool, name):
                    return True
        return False

    def _is_called_past(self, tool: Any, name: str) -> bool:
        """Return whether the project may call a function of a tool's object directly."""
        functions = dict(self._functions_of(tool))
        names = {name, *(function.__name__ for function in functions.values())} - {"<lambda>"}
        places = {_place(function) for function in functions.values()}
        return (
            reads_attribute(self._sources, functions)
            or calls_name(self._sources, names)
            or has_rival(self._sources, name, places, lambda value: value is tool, is_woven=False)
        )

    def _functions_of(self, tool: Any) -> Iterator[tuple[str, FunctionType]]:
        """Yield the functions of a tool's object by attribute: its own, and those of the project in its class."""
        for attribute, value in attributes_of(tool).items():
            function = function_of(value)
            if function is not None:
                yield attribute, function
        for base in type(tool).__mro__:
            for attribute, value in vars(base).items():
                if isinstance(value, FunctionType) and self._owns(value.__code__.co_filename):
                    yield attribute, value


def _is_definition_of(point: Point, name: str) -> bool:
    """Return whether every call of a woven definition is a crossing that answers calls of this name."""
    if point.passer is not None and "<locals>" in point.qualname:
        return False  # only the closure that was passed is woven, not others of the same code
    function = point.qualname.rpartition(".")[2]
    rule = _unconditional_rule(point)
    if rule is None:
        return False
    fixed = name_template(rule.name).fixed(function, point.qualname, point.module)
    return name in {function, fixed}


def _unconditional_rule(point: Point) -> BoundaryRule | None:
    """Return the rule without a condition, by which a call crosses that no rule before it takes.

    None if there is no such rule, or if a rule before it does not answer calls.
    """
    for rule in point.rules:
        if not _answers(rule) or rule.argument is not None:
            return None
        if not rule.when:
            unconditional: BoundaryRule = rule
            return unconditional
    return None


def _answers(rule: BoundaryRule) -> bool:
    """Return whether a crossing by this rule answers a call: on a replay its body does not run."""
    return rule.kind == "tool" and not rule.observe and rule.outcome is None


def _leads_to(function: FunctionType, places: Collection[tuple[str, int]], names: Collection[str]) -> bool:
    """Return whether a function is one of these definitions, or may call one: by its name, or as what it decorates."""
    held = [cell.cell_contents for cell in cells_of(function).values()]
    inner = [function, *filter(None, map(function_of, held))]
    return any(_place(each) in places for each in inner) or not set(names).isdisjoint(
        function.__code__.co_names
    )


def _keys_of(tool: Unanswered) -> frozenset[str] | None:
    """Return the names of all arguments of a tool's unanswered calls; None if they are unknown."""
    known = [keys for keys in tool.keys if keys is not None]
    return frozenset().union(*known) if known else None


def _takes(point: Point, tool: Unanswered) -> bool:
    """Return whether a definition takes the arguments of the calls. If not, it is a helper of the same name."""
    if point.variadic[1] is not None:
        return True
    return all(keys is None or keys <= set(point.parameters) for keys in tool.keys)


def _table_of(rule: BoundaryRule) -> ast.expr | None:
    """Return the table in a pattern such as `TOOLS[$tool](...)`, if its key is the crossing's name; else None."""
    if not isinstance(rule.selector, CallSelector):
        return None
    pattern = call_pattern(rule.selector.pattern)
    field = _only_field(rule)
    last = pattern.trailers[-1] if pattern.trailers else None
    if field is None or field.steps or not isinstance(last, Index) or not isinstance(last.key, Metavariable):
        return None
    is_dotted = isinstance(pattern.root, str) and all(
        isinstance(trailer, Attribute) and isinstance(trailer.name, str) for trailer in pattern.trailers[:-1]
    )
    if last.key.name != field.root or not is_dotted:
        return None
    called = ast.parse(rule.selector.pattern.partition("[")[0], mode="eval").body
    return called if isinstance(called, ast.Name | ast.Attribute) else None


def _only_field(rule: BoundaryRule) -> Field | None:
    """Return the field that is the whole name of a rule; None if the name is anything else."""
    parts = name_template(rule.name).parts
    field = parts[0] if len(parts) == 1 else None
    return field if isinstance(field, Field) and not field.root.startswith("__") else None


def _place(function: FunctionType) -> tuple[str, int]:
    """Return the file and the first line of a function."""
    return os.path.realpath(function.__code__.co_filename), function.__code__.co_firstlineno


def _tools_of(point: Point, field: Field, name: str) -> Iterator[Any]:
    """Yield the objects that a dispatcher would take for the tool.

    If the name is read from an attribute of a parameter, these are the objects of the parameter's class with that
    attribute. Otherwise they are what the dispatcher's own objects hold in a dict under the name.
    """
    if len(field.steps) == 1 and field.steps[0].kind == "attribute":
        attribute = field.steps[0].name
        for tool in _instances(_class_of(point, field.root)):
            namespaces = [attributes_of(tool), *(attributes_of(base) for base in type(tool).__mro__)]
            value = next((namespace[attribute] for namespace in namespaces if attribute in namespace), None)
            if isinstance(value, str) and value == name:
                yield tool
    elif not field.steps:
        for dispatcher in _instances(_class_of(point, "self")):
            for value in list(attributes_of(dispatcher).values()):
                if type(value) is dict and name in value:
                    yield value[name]


def _class_of(point: Point, parameter: str) -> type | None:
    """Return the class of a dispatcher's parameter: for `self` the class around it, else the annotated one."""
    module = sys.modules.get(point.module)
    namespace: Any = {} if module is None else vars(module)
    if parameter == "self":
        cls = namespace.get(point.qualname.partition(".")[0]) if point.qualname.count(".") == 1 else None
    else:
        function = namespace.get(point.qualname)
        annotation = function.__annotations__.get(parameter) if isinstance(function, FunctionType) else None
        cls = namespace.get(annotation) if isinstance(annotation, str) else annotation
    return cls if isinstance(cls, type) else None


def _instances(wanted: type | None) -> list[Any]:
    """Return all instances of a class that the garbage collector knows."""
    return [] if wanted is None else instances_of(wanted)
