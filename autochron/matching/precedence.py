"""In which order rules that fit one definition, or one call, are tried; two of which neither comes first are refused."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from autochron.errors import RuleError
from autochron.model import BoundaryRule, Decorated, Define, Target

if TYPE_CHECKING:
    from autochron.matching.sites import CallSite


def ranked(rules: list[BoundaryRule], definition: str) -> list[BoundaryRule]:
    """Put the rules of one definition in the order in which they are tried.

    The project's before a pack's, then `target` before `decorated` before `define`, then as they stand in the
    file. A rule of the project without `when` ends the list, since it fits every call. Two of the project
    that are alike in weight and `when` are refused.
    """
    kept: list[BoundaryRule] = []
    for rule in sorted(rules, key=_weight):
        if rule.pack is None:
            refuse_twins(rule, kept, definition)
        closed = kept and kept[-1].pack is None and not kept[-1].when
        if not closed:
            kept.append(rule)
    return kept


def refuse_twins(rule: BoundaryRule, kept: list[BoundaryRule], definition: str) -> None:
    """Raise RuleError where a rule of the project fits a definition just as another one does."""
    for other in kept:
        if other.pack is None and _weight(other) == _weight(rule) and other.when == rule.when:
            raise RuleError(
                f"{rule.place}: `{rule.selector}` fits {definition}, "
                f"as does `{other.selector}` at {other.place}; "
                "narrow one with `exclude` or `when`, or name the definition with `target`"
            )


_WEIGHTS = {Target: 0, Decorated: 1, Define: 2}


def _weight(rule: BoundaryRule) -> tuple[bool, int]:
    return rule.pack is not None, _WEIGHTS.get(type(rule.selector), 3)


def ranked_sites(sites: list[CallSite], module: str) -> list[CallSite]:
    """Put the rules of each call in the order in which they are tried, as `ranked` does for definitions."""
    by_call: dict[object, list[CallSite]] = {}
    for site in sites:
        by_call.setdefault(site.calls[0], []).append(site)
    kept: list[CallSite] = []
    for several in by_call.values():
        several.sort(key=lambda site: (site.check is not None, site.weight))
        for first, second in pairwise(several):
            alike = (first.check, first.weight) == (second.check, second.weight)
            if alike and first.rule.when == second.rule.when:
                raise RuleError(
                    f"{second.rule.place}: `{second.rule.selector}` fits the call of `{second.source}` at "
                    f"{module}:{second.line}, as does `{first.rule.selector}` at {first.rule.place}; narrow one with "
                    "`within`, `when` or its arguments"
                )
        kept += several
    return kept
