"""Make the mark of a definition, by which weaving knows the rules that fit it."""

from __future__ import annotations

from autochron.model import BoundaryRule
from autochron.weaving.weave import Mark

_PREFIX = "argument:"


def outcome_name(rule: BoundaryRule) -> str | None:
    """Return the name of the parameter that is a rule's outcome; None if the outcome is the result."""
    return None if rule.outcome is None else rule.outcome.removeprefix(_PREFIX)


def mark_of(rules: tuple[BoundaryRule, ...]) -> Mark:
    """Return the mark of a definition that these rules fit, in order of precedence."""
    outcomes = [name for rule in rules if (name := outcome_name(rule)) is not None]
    arguments = [rule.argument.partition(".")[0] for rule in rules if rule.argument is not None]
    if not (outcomes or arguments):
        return Mark(rules)
    return Mark(
        rules, replaced=outcomes[0] if outcomes else None, needed=tuple(dict.fromkeys(outcomes + arguments))
    )


def split_by_outcome(
    rules: tuple[BoundaryRule, ...],
) -> tuple[tuple[BoundaryRule, ...], tuple[BoundaryRule, ...]]:
    """Split the rules of one definition into those that agree on its outcome and the others.

    Only one argument of a definition can be its outcome: that of the first rule that names one.
    """
    first = next((name for rule in rules if (name := outcome_name(rule)) is not None), None)
    accepted = tuple(rule for rule in rules if outcome_name(rule) in {None, first})
    return accepted, tuple(rule for rule in rules if rule not in accepted)
