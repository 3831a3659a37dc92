"""What `autochron replay` says."""

from __future__ import annotations

from typing import TextIO

from msgspec.json import encode

from autochron.model import ReplaySummary
from autochron.report.text import Page, plural

_FEW = 5


def write_replay(summary: ReplaySummary, stream: TextIO, *, quiet: bool, as_json: bool) -> None:
    """Say whether replay and record agree, and where they first don't."""
    try:
        if as_json:
            stream.write(encode(summary).decode() + "\n")
        elif not (summary.same and quiet):
            _write(summary, Page(stream))
        stream.flush()
    except (OSError, ValueError):  # nobody reads
        return


def _write(summary: ReplaySummary, page: Page) -> None:
    errors = [each for each in summary.divergences if each.severity == "error"]
    what = f"{plural(summary.crossings, 'crossing')} of trace {summary.trace} served"
    if not errors:
        page.line(f"autochron: the same: {what}, none live, exit status {summary.status}", "green")
    else:
        page.line(f"autochron: diverged: {what}, exit status {summary.status}", "bold red")
        page.line(f"  first: {errors[0].message} ({errors[0].kind})", "red")
        for each in errors[1:_FEW]:
            page.line(f"  then: {each.message} ({each.kind})")
        if len(errors) > _FEW:
            page.line(f"  … and {len(errors) - _FEW} more; --json lists all")
    if not summary.complete:
        page.line(
            "  the trace was cut off before its end: exit status and output could not be compared (no-footer)",
            "yellow",
        )
    for problem in summary.problems:
        page.line(f"  {problem}", "yellow")
