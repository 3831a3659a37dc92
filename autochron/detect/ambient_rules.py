"""Find out which ambient values the rules of a project record."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from autochron.detect.ambient_codec import DRAWN_BY, form_of
from autochron.detect.catalogue import BY_NAME, Source
from autochron.detect.ignores import ignored, meant_by
from autochron.detect.project_sources import all_sources, named_sources
from autochron.model import AmbientRule, Finding, Rules, Site


class RequestedValues:
    """The ambient values that the rules record.

    `ambient = ["clock"]` records a whole category, except calls that an `[[ignore]]` covers. A `[[boundary]]` table of
    kind `ambient` records one call in one file, or on some of its lines.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.known = named_sources(rules)
        """The sources by their dotted names."""
        self._at: dict[tuple[str, str], list[tuple[set[int] | None, AmbientRule]]] = {}
        """By call and file: pairs of the lines, None for all, and their rule."""
        self.stale: list[str] = []
        """One message for each rule that no longer fits the source."""
        for rule in rules.ambients:
            source = self.known.get(rule.call)
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
                self._at.setdefault((_watched_call(source), file), []).append((lines, rule))

    def sources(self) -> list[Source]:
        """Return the sources of which some calls are recorded."""
        calls = {call for call, _ in self._at}
        return [
            source
            for source in all_sources(self._rules)
            if (source.category in self._rules.ambient or source.call in calls)
            and form_of(source) is not None
        ]

    def names(self, call: str, file: str) -> bool:
        """Return whether a table names this call in this file."""
        return (call, file) in self._at

    def rule_of(self, source: Source, file: str, line: int) -> AmbientRule | None:
        """Return the table that records a call at a line; None if there is none."""
        candidates = self._at.get((_watched_call(source), file), ())
        return next((rule for lines, rule in candidates if lines is None or line in lines), None)

    def includes(self, source: Source, file: str, line: int) -> bool:
        """Return whether the rules record a call at a line, by a table or by its category."""
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
    """Return whether the values of a call can be recorded."""
    source = BY_NAME.get(call)
    return source is not None and form_of(source) is not None


def _watched_call(source: Source) -> str:
    """Return the call at which the watch sees a source: the one that draws its seed, or its own."""
    return DRAWN_BY.get(source.call, source.call)


def mark_recorded(findings: Sequence[Finding], rules: Rules) -> tuple[list[Finding], list[str]]:
    """Mark the findings whose values the rules record as covered.

    Returns:
        All findings, and one message for each table that no longer fits the source.
    """
    if not (rules.ambient or rules.ambients):
        return list(findings), []
    requested = RequestedValues(rules)
    marked = [
        structs.replace(finding, covered="recorded") if _is_requested(finding, requested) else finding
        for finding in findings
    ]
    return marked, requested.stale


def _is_requested(finding: Finding, requested: RequestedValues) -> bool:
    """Return whether a finding is open, made by a line of the project itself, and recorded."""
    source = requested.known.get(finding.call)
    is_open = finding.covered is None and finding.tier == "direct"
    return is_open and source is not None and requested.includes(source, finding.site.file, finding.site.line)
