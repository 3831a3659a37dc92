"""Collect the found tools that crossed, for the footer."""

from __future__ import annotations

from typing import Any

from autochron.model import BoundaryRule, FoundTool, Target


class FoundTools:
    """The found tools that crossed in one trace; used by the thread that writes."""

    def __init__(self) -> None:
        self._rules: dict[str, tuple[BoundaryRule, bool]] = {}
        """By id, the rules and whether a result has confirmed them."""

    def note_crossing(self, rule: BoundaryRule, *, is_confirmed: bool) -> None:
        """Note a crossing of a found tool."""
        known = rule.id in self._rules and self._rules[rule.id][1]
        self._rules[rule.id] = rule, known or is_confirmed

    def found(self) -> tuple[FoundTool, ...]:
        """Return the tools that crossed."""
        return tuple(
            FoundTool(
                rule.name,
                selector.module,
                selector.qualname,
                rule.place.file,
                rule.place.line,
                _how_found(rule),
                is_confirmed,
                rule.capture,
                rule.changes,
            )
            for rule, is_confirmed in self._rules.values()
            if isinstance(selector := rule.selector, Target)
        )


def _how_found(rule: BoundaryRule) -> Any:
    return "by value" if rule.id.startswith("found by value ") else "by name"
