"""Compile the rules of a definition."""

from __future__ import annotations

from typing import Any

from autochron.crossing.arguments import reader
from autochron.crossing.conditions import condition, http_condition
from autochron.model import BoundaryRule, Http
from autochron.rules.compiled_boundary import CompiledBoundary
from autochron.rules.names import name_template
from autochron.weaving.gate import Point


def compile_rules(point: Point) -> tuple[CompiledBoundary, ...]:
    """Compile the rules of a definition, in their order.

    Raises:
        RuleError: a rule does not go with the definition; other exceptions are possible, too.
    """
    return tuple([_compile(rule, point) for rule in point.rules])


def _compile(rule: BoundaryRule, point: Point) -> CompiledBoundary:
    fits = (
        http_condition(rule.selector, point)
        if isinstance(rule.selector, Http)
        else condition(rule.when, point)
    )
    template, called = name_template(rule.name), point.called
    name = template.fixed(called.rpartition(".")[2], called, point.module, point.captured.get(rule.id, {}))
    passed = None
    if rule.is_found:
        fits = fits or _always  # the kernel asks whether the model has asked for the call
    if rule.argument is not None:
        passed = reader(rule.argument, point)
        # The kernel takes a rule without conditions for a crossing at once, and such a call must be none.
        fits = fits or _always
    paths = [path.removeprefix("input.") for path in rule.meta.model if path.startswith("input.")]
    return CompiledBoundary(
        rule,
        template,
        name,
        fits=fits,
        passed=passed,
        outcome=rule.outcome if point.replaced else None,
        models=[reader(path, point) for path in paths],
    )


def _always(_arguments: tuple[Any, ...]) -> bool:
    return True
