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
    warnings = [each for each in summary.divergences if each.severity in {"warning", "notice"}]
    served = summary.crossings - len(summary.live)
    what = f"{plural(served, 'crossing')} of trace {summary.trace} served"
    if summary.live:
        what += f", {len(summary.live)} live ({_few(summary.live)})"
    if not errors:
        same = "as planned" if summary.live else "the same"
        same += "" if summary.complete else " as far as it was recorded"
        is_said = summary.live or any(each.kind == "child" for each in warnings)
        live = "" if is_said else ", none live"
        page.line(f"autochron: {same}: {what}{live}, exit status {summary.status}", "green")
    else:
        page.line(f"autochron: diverged: {what}, exit status {summary.status}", "bold red")
        page.line(f"  first: {errors[0].message} ({errors[0].kind})", "red")
        for each in errors[1:_FEW]:
            page.line(f"  then: {each.message} ({each.kind})")
        if len(errors) > _FEW:
            page.line(f"  … and {len(errors) - _FEW} more; --json lists all")
    for each in warnings[:_FEW]:
        page.line(f"  {each.message} ({each.kind})", "yellow")
    if len(warnings) > _FEW:
        page.line(f"  … and {len(warnings) - _FEW} more warnings; --json lists all", "yellow")
    followed = [each for each in summary.divergences if each.severity == "consequence"]
    for each in followed[:_FEW]:
        page.line(f"  {each.message} (follows from what is live)", "dim")
    if len(followed) > _FEW:
        page.line(
            f"  … and {len(followed) - _FEW} more that follow from what is live; --json lists all", "dim"
        )
    if not summary.complete:
        page.line(
            "  the trace was cut off before its end: exit status and output could not be compared (no-footer)",
            "yellow",
        )
    for problem in summary.problems:
        page.line(f"  {problem}", "yellow")


def _few(addresses: tuple[str, ...]) -> str:
    more = len(addresses) - _FEW
    return ", ".join(addresses[:_FEW]) + (f" and {more} more" if more > 0 else "")
