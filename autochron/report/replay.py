"""The report of `autochron replay`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

from msgspec.json import encode

from autochron.model import Divergence, ReplaySummary
from autochron.report.text import Page, plural

if TYPE_CHECKING:
    from autochron.report.tree import Drawing

_FEW = 5
_LINES = 40
"""The most lines of the tree."""


def write_replay(
    summary: ReplaySummary,
    stream: TextIO,
    *,
    quiet: bool,
    as_json: bool,
    draw: Callable[[Sequence[Divergence]], Drawing],
    whole: bool = False,
) -> None:
    """Write whether replay and record agree, and where they don't. A closed stream is no error.

    Args:
        summary: the result of the replay.
        stream: where to write it.
        quiet: write nothing if they agree; has no effect on JSON.
        as_json: write JSON, not text.
        draw: draws the crossings with these divergences. It is called only if the tree is shown.
        whole: leave nothing out of long lists.
    """
    try:
        if as_json:
            stream.write(encode(summary).decode() + "\n")
        elif not (summary.same and quiet):
            _write(summary, Page(stream, whole=whole), draw)
        stream.flush()
    except (OSError, ValueError):  # nobody reads
        return


def _write(
    summary: ReplaySummary,
    page: Page,
    draw: Callable[[Sequence[Divergence]], Drawing],
) -> None:
    errors = [divergence for divergence in summary.divergences if divergence.severity == "error"]
    warnings = [divergence for divergence in summary.divergences if divergence.severity == "warning"]
    _write_verdict(summary, page, errors)
    if summary.crossings and (summary.live or errors):
        draw([divergence for divergence in summary.divergences if divergence.severity != "notice"]).write(
            page, limit=_LINES, whole=page.is_whole
        )
    else:
        _write_list(page, errors[1:], "errors", "  then: ")
        _write_list(page, warnings, "warnings", "  ", "yellow")
    hints = [divergence for divergence in summary.divergences if divergence.severity == "notice"]
    _write_list(page, hints, "hints", "  note: ", "yellow")
    if not summary.complete:
        page.line(
            "  the trace was cut off before its end: exit status and output could not be compared (no-footer)",
            "yellow",
        )
    if not summary.typed and summary.crossings:
        page.line(
            "  an older version recorded the trace: inputs were compared as JSON, without types; record it again to compare"
            " these, too (no-types)",
            "yellow",
        )
    for finding in summary.findings[: page.few(_FEW)]:
        where = f"{finding.call} at {finding.site}, outside every boundary"
        page.line(f"  not there when it was recorded: {where} ({finding.category}; unmarked-call)", "yellow")
    if len(summary.findings) > page.few(_FEW):
        page.line(f"  … and {len(summary.findings) - page.few(_FEW)} more like it", "yellow")
    for problem in summary.problems:
        page.line(f"  {problem}", "yellow")


def verdict(summary: ReplaySummary, *, few: int = _FEW) -> str:
    """Return in one line whether replay and record agree, and what was served and live, with `few` names at most."""
    errors = any(divergence.severity == "error" for divergence in summary.divergences)
    if errors:
        return f"diverged: {_counted(summary, few)}, {_status(summary)}"
    words = "as planned" if summary.live else "the same"
    words += "" if summary.complete else " as far as it was recorded"
    words += f", except {plural(summary.not_compared, 'value')} not compared" if summary.not_compared else ""
    return f"{words}: {_counted(summary, few)}, {_status(summary)}"


def _status(summary: ReplaySummary) -> str:
    recorded = summary.recorded_status
    words = f"exit status {summary.status}"
    if recorded is None or recorded == summary.status == 0:
        return words
    return (
        f"{words} as when it was recorded"
        if recorded == summary.status
        else f"{words}, {recorded} when it was recorded"
    )


def _counted(summary: ReplaySummary, few: int) -> str:
    served = summary.crossings - len(summary.live) - summary.opened - summary.invented
    counted = f"{plural(served, 'crossing')} of trace {summary.trace} served"
    counted += f", {summary.opened} opened" if summary.opened else ""
    counted += f", {summary.invented} invented" if summary.invented else ""
    if summary.live:
        more = len(summary.live) - few
        named = ", ".join(summary.live[:few]) + (f" and {more} more" if more > 0 else "")
        counted += f", {len(summary.live)} live ({named})"
    elif not any(
        divergence.severity == "error" or (divergence.severity == "warning" and divergence.kind == "child")
        for divergence in summary.divergences
    ):
        counted += ", none live"
    if summary.effects:
        counted += f", {plural(summary.effects, 'changed file')} outside every boundary on a scratch copy"
    if summary.allowed:
        counted += f", {plural(summary.allowed, 'effect')} let be"
    return counted


def _write_verdict(summary: ReplaySummary, page: Page, errors: Sequence[Divergence]) -> None:
    page.line(f"autochron: {verdict(summary, few=page.few(_FEW))}", "bold red" if errors else "green")
    if errors:
        page.line(f"  first: {errors[0].message} ({errors[0].kind})", "red")


def _write_list(
    page: Page, divergences: Sequence[Divergence], noun: str, lead: str, style: str | None = None
) -> None:
    for divergence in divergences[: page.few(_FEW)]:
        page.line(f"{lead}{divergence.message} ({divergence.kind})", style)
    if len(divergences) > page.few(_FEW):
        page.line(f"  … and {len(divergences) - page.few(_FEW)} more {noun}; --json lists all", style)
