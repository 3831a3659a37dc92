"""The report of `autochron traces diff`."""

from __future__ import annotations

from collections import Counter
from typing import Any, TextIO

from msgspec.json import encode
from msgspec.structs import asdict

from autochron.model import Comparison, Difference, Header
from autochron.report.text import Page, plural
from autochron.report.traces import command_line
from autochron.report.tree import draw_comparison

_LABELS = {"missing": "in the first only", "extra": "in the second only", "reordered": "reordered"}


def write_comparison(comparison: Comparison, stream: TextIO, *, as_json: bool) -> None:
    """Write how two traces differ, as text with a tree or as JSON."""
    if as_json:
        stream.write(encode(_as_data(comparison)).decode() + "\n")
        return
    page = Page(stream)
    page.line(f"first   {_head(comparison.first)}", "bold")
    page.line(f"second  {_head(comparison.second)}", "bold")
    if _all_differences(comparison):
        draw_comparison(comparison).write(page)
    page.line(_counts(comparison), "green" if comparison.same else "bold red")


def _head(header: Header) -> str:
    name = f"  {header.name}" if header.name else ""
    return f"{header.id}{name}  {header.created}  {command_line(header.command)}"


def _all_differences(comparison: Comparison) -> list[Difference]:
    return [*comparison.run, *(difference for pair in comparison.pairs for difference in pair.differences)]


def _counts(comparison: Comparison) -> str:
    """Return the last line: how many crossings differ in which way. Each counts once, by its gravest difference."""
    counts: Counter[str] = Counter()
    for pair in comparison.pairs:
        kinds = {difference.kind for difference in pair.differences}
        label = next(
            (label for kind, label in _LABELS.items() if kind in kinds),
            "changed" if kinds else "the same",
        )
        counts[label] += 1
    unchanged = counts.pop("the same", 0)
    counted = [
        f"{plural(unchanged, 'crossing')} the same",
        *(f"{count} {kind}" for kind, count in counts.items()),
    ]
    counted += [difference.kind for difference in comparison.run]
    return f"{'the same' if comparison.same else 'they differ'}: {', '.join(counted)}"


def _as_data(comparison: Comparison) -> dict[str, Any]:
    differences = [{"lane": None, **asdict(difference)} for difference in comparison.run]
    for pair in comparison.pairs:
        envelope = pair.first or pair.second
        lane = None if envelope is None else envelope.lane
        differences += [{"lane": lane, **asdict(difference)} for difference in pair.differences]
    return {
        "same": comparison.same,
        "first": comparison.first,
        "second": comparison.second,
        "crossings": len(comparison.pairs),
        "differences": differences,
    }
