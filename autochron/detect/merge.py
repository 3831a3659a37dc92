"""Merge lists of findings: those of a run with those of its source, and those of several processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from autochron.model import Finding


def merged(ran: Sequence[Finding], read: Sequence[Finding]) -> list[Finding]:
    """Add the findings of the scan that the run doesn't have to those of the run, sorted by site.

    If both have a line and category, the run's findings are kept: the run has counted calls. The scan's are left out.
    """
    keys = {_key(finding) for finding in ran}
    findings = [*ran, *(finding for finding in read if _key(finding) not in keys)]
    return sorted(
        findings, key=lambda finding: (finding.site.file, finding.site.line, finding.category, finding.call)
    )


def combined(several: Iterable[Sequence[Finding]]) -> tuple[Finding, ...]:
    """Add up the findings of several processes, sorted by site. Equal findings become one, with the sum of the counts."""
    counts: dict[Finding, int] = {}
    for findings in several:
        for finding in findings:
            key = structs.replace(finding, count=0)
            counts[key] = counts.get(key, 0) + finding.count
    summed = [structs.replace(finding, count=count) for finding, count in counts.items()]
    return tuple(
        sorted(
            summed,
            key=lambda finding: (finding.site.file, finding.site.line, finding.call, finding.via or ""),
        )
    )


def _key(finding: Finding) -> tuple[str, int, str]:
    return finding.site.file, finding.site.line, finding.category
