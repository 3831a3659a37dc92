"""From the rules that fit a definition to what weaving must know of them."""

from __future__ import annotations

from autochron.model import BoundaryRule
from autochron.weaving.weave import Mark

_PREFIX = "argument:"


def outcome_name(rule: BoundaryRule) -> str | None:
    """Name the parameter that is a rule's outcome."""
    return None if rule.outcome is None else rule.outcome.removeprefix(_PREFIX)


def mark_of(rules: tuple[BoundaryRule, ...]) -> Mark:
    """Say why a definition is woven: by these rules, in order of precedence."""
    outcomes = [name for rule in rules if (name := outcome_name(rule)) is not None]
    arguments = [rule.argument.partition(".")[0] for rule in rules if rule.argument is not None]
    if not (outcomes or arguments):
        return Mark(rules)
    return Mark(
        rules, replaced=outcomes[0] if outcomes else None, needed=tuple(dict.fromkeys(outcomes + arguments))
    )


def agreeing(rules: tuple[BoundaryRule, ...]) -> tuple[tuple[BoundaryRule, ...], tuple[BoundaryRule, ...]]:
    """Part the rules of one definition: a definition has one outcome that is an argument, the first rule's that names one."""
    first = next((name for rule in rules if (name := outcome_name(rule)) is not None), None)
    kept = tuple(rule for rule in rules if outcome_name(rule) in {None, first})
    return kept, tuple(rule for rule in rules if rule not in kept)
