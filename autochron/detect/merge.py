"""One list of what a run met and what its source says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from autochron.model import Finding


def merged(ran: Sequence[Finding], read: Sequence[Finding]) -> list[Finding]:
    """Add what only the source shows to what ran, in order of sites.

    Of one line and category the run knows more: what it counted stands, and the scan's word for the same call is left out.
    """
    met = {_key(finding) for finding in ran}
    every = [*ran, *(finding for finding in read if _key(finding) not in met)]
    return sorted(
        every, key=lambda finding: (finding.site.file, finding.site.line, finding.category, finding.call)
    )


def combined(several: Iterable[Sequence[Finding]]) -> tuple[Finding, ...]:
    """Add up what several processes found, in order of sites."""
    found: dict[Finding, int] = {}
    for findings in several:
        for finding in findings:
            key = structs.replace(finding, count=0)
            found[key] = found.get(key, 0) + finding.count
    every = [structs.replace(finding, count=count) for finding, count in found.items()]
    return tuple(sorted(every, key=lambda each: (each.site.file, each.site.line, each.call, each.via or "")))


def _key(finding: Finding) -> tuple[str, int, str]:
    return finding.site.file, finding.site.line, finding.category
