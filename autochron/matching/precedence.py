"""The order in which rules that fit one definition or one call are tried. Two rules without an order are refused."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from autochron.errors import RuleError
from autochron.model import BoundaryRule, Decorated, Define, Target

if TYPE_CHECKING:
    from autochron.matching.sites import CallSite


def ranked(rules: list[BoundaryRule], definition: str) -> list[BoundaryRule]:
    """Return the rules of one definition in the order in which they are tried.

    The project's rules come before a pack's, and these before those of found tools. `target` comes before `decorated` before
    `define`, and then the order in the file counts. A rule of the project without `when` ends the list: it fits every call.

    Args:
        rules: the rules that fit the definition.
        definition: the definition, as messages name it.

    Raises:
        RuleError: two rules of the project have the same kind of selector and the same `when`.
    """
    kept: list[BoundaryRule] = []
    for rule in sorted(rules, key=_weight):
        if _is_written(rule):
            refuse_twins(rule, kept, definition)
        is_closed = kept and _is_written(kept[-1]) and not kept[-1].when
        if not is_closed and not (rule.is_found and any(other.id == rule.id for other in kept)):
            kept.append(rule)
    return kept


def _is_written(rule: BoundaryRule) -> bool:
    """Return whether a rule stands in a file of the project."""
    return rule.pack is None and not rule.is_found


def refuse_twins(rule: BoundaryRule, kept: list[BoundaryRule], definition: str) -> None:
    """Refuse a rule that has the same kind of selector and the same `when` as another rule of the project.

    Args:
        rule: a rule of the project.
        kept: other rules that fit the definition.
        definition: the definition, as the message names it.

    Raises:
        RuleError: there is such a rule.
    """
    for other in kept:
        is_own = (
            isinstance(rule.selector, Define) and other.id == rule.id
        )  # patterns of one list may fit the same
        if _is_written(other) and not is_own and _weight(other) == _weight(rule) and other.when == rule.when:
            raise RuleError(
                f"{rule.place}: `{rule.selector}` fits {definition}, "
                f"as does `{other.selector}` at {other.place}; "
                "narrow one with `exclude` or `when`, or name the definition with `target`"
            )


_WEIGHTS = {Target: 0, Decorated: 1, Define: 2}


def _weight(rule: BoundaryRule) -> tuple[bool, bool, int]:
    return rule.is_found, rule.pack is not None, _WEIGHTS.get(type(rule.selector), 3)


def ranked_sites(sites: list[CallSite], module: str) -> list[CallSite]:
    """Return the sites of each call in the order in which their rules are tried.

    A rule that the source decides comes before one that has to check the callee. Then a more specific pattern comes first.

    Args:
        sites: all sites of a module, several for a call that several rules fit.
        module: the module, as messages name it.

    Raises:
        RuleError: two rules for one call are equally specific and have the same `when`.
    """
    by_call: dict[object, list[CallSite]] = {}
    for site in sites:
        by_call.setdefault(site.calls[0], []).append(site)
    kept: list[CallSite] = []
    for fitting in by_call.values():
        fitting.sort(key=lambda site: (site.check is not None, site.weight))
        for first, second in pairwise(fitting):
            is_equal = (first.check, first.weight) == (second.check, second.weight)
            if is_equal and first.rule.when == second.rule.when:
                raise RuleError(
                    f"{second.rule.place}: `{second.rule.selector}` fits the call of `{second.source}` at "
                    f"{module}:{second.line}, as does `{first.rule.selector}` at {first.rule.place}; narrow one with "
                    "`within`, `when` or its arguments"
                )
        kept += fitting
    return kept
