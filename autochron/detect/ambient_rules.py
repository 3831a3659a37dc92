"""Which ambient values a project's rules ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import structs

from autochron.detect.ambient_codec import DRAWN_BY, form_of
from autochron.detect.catalogue import BY_NAME, SOURCES, Source
from autochron.detect.ignores import ignored, meant_by
from autochron.model import AmbientRule, Finding, Rules, Site


class RequestedValues:
    """What rules ask for: all of a category, but for what is ignored, and single calls at single lines."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._at: dict[tuple[str, str], list[tuple[set[int] | None, AmbientRule]]] = {}
        """By call and file: the lines and their rule."""
        self.stale: list[str] = []
        """The rules that are for nothing any more, a line each."""
        for rule in rules.ambients:
            source = BY_NAME.get(rule.call)
            file, reason, lines = meant_by(rule, rules.root)
            if source is None:
                reason = f"`{rule.call}` is no call whose value is known to be ambient"
            elif form_of(source) is None:
                reason = f"the value of `{rule.call}` can't be recorded where it is asked for"
            if source is None or reason is not None:
                self.stale.append(
                    f"{rule.place}: [[boundary]] is stale: {reason}; correct it or take it out (stale-ambient)"
                )
            else:
                self._at.setdefault((_seen_as(source), file), []).append((lines, rule))

    def sources(self) -> list[Source]:
        """Return the sources that are asked for."""
        calls = {call for call, _ in self._at}
        return [
            source
            for source in SOURCES
            if (source.category in self._rules.ambient or source.call in calls)
            and form_of(source) is not None
        ]

    def names(self, call: str, file: str) -> bool:
        """Return whether a table is of this call in this file."""
        return (call, file) in self._at

    def rule_of(self, source: Source, file: str, line: int) -> AmbientRule | None:
        """Return the table that asks for a call at a line."""
        found = self._at.get((_seen_as(source), file), ())
        return next((rule for lines, rule in found if lines is None or line in lines), None)

    def asks(self, source: Source, file: str, line: int) -> bool:
        """Return whether a call at a line is asked for."""
        if form_of(source) is None:
            return False
        if self.rule_of(source, file, line) is not None:
            return True
        if source.category not in self._rules.ambient:
            return False
        finding = Finding(
            site=Site(file, line, "", ""), category=source.category, call=source.call, count=1, tier="direct"
        )
        marked, _ = ignored([finding], self._rules, lambda _file: False)
        return marked[0].covered is None


def is_recordable(call: str) -> bool:
    """Return whether a call's values can be recorded where they are asked for."""
    source = BY_NAME.get(call)
    return source is not None and form_of(source) is not None


def _seen_as(source: Source) -> str:
    return DRAWN_BY.get(source.call, source.call)


def mark_recorded(findings: Sequence[Finding], rules: Rules) -> tuple[list[Finding], list[str]]:
    """Mark the findings whose values are asked for; gives also a line for each table that is for nothing any more."""
    if not (rules.ambient or rules.ambients):
        return list(findings), []
    asked = RequestedValues(rules)
    marked = [
        structs.replace(finding, covered="recorded") if _is_asked(finding, asked.asks) else finding
        for finding in findings
    ]
    return marked, asked.stale


def _is_asked(finding: Finding, asks: Callable[[Source, str, int], bool]) -> bool:
    source = BY_NAME.get(finding.call)
    is_open = finding.covered is None and finding.tier == "direct" and source is not None
    return is_open and source is not None and asks(source, finding.site.file, finding.site.line)
