"""What `autochron traces diff` says."""

from __future__ import annotations

from collections import Counter
from typing import Any, TextIO

from msgspec.json import encode
from msgspec.structs import asdict

from autochron.model import Comparison, Difference, Header
from autochron.report.text import Page, plural
from autochron.report.traces import command_line
from autochron.report.tree import draw_comparison

_SAID = {"missing": "in the first only", "extra": "in the second only", "reordered": "reordered"}


def write_comparison(comparison: Comparison, stream: TextIO, *, as_json: bool) -> None:
    """Say in what two traces differ."""
    if as_json:
        stream.write(encode(_as_data(comparison)).decode() + "\n")
        return
    page = Page(stream)
    page.line(f"first   {_head(comparison.first)}", "bold")
    page.line(f"second  {_head(comparison.second)}", "bold")
    if _told(comparison):
        draw_comparison(comparison).write(page)
    page.line(_counts(comparison), "green" if comparison.same else "bold red")


def _head(header: Header) -> str:
    name = f"  {header.name}" if header.name else ""
    return f"{header.id}{name}  {header.created}  {command_line(header.command)}"


def _told(comparison: Comparison) -> list[Difference]:
    return [*comparison.run, *(each for pair in comparison.pairs for each in pair.differences)]


def _counts(comparison: Comparison) -> str:
    """Count crossings by how they differ, the gravest thing each."""
    counts: Counter[str] = Counter()
    for pair in comparison.pairs:
        kinds = {each.kind for each in pair.differences}
        found = next(
            (said for kind, said in _SAID.items() if kind in kinds), "changed" if kinds else "the same"
        )
        counts[found] += 1
    same = counts.pop("the same", 0)
    said = [f"{plural(same, 'crossing')} the same", *(f"{count} {kind}" for kind, count in counts.items())]
    said += [each.kind for each in comparison.run]
    return f"{'the same' if comparison.same else 'they differ'}: {', '.join(said)}"


def _as_data(comparison: Comparison) -> dict[str, Any]:
    found = [{"lane": None, **asdict(each)} for each in comparison.run]
    for pair in comparison.pairs:
        envelope = pair.first or pair.second
        lane = None if envelope is None else envelope.lane
        found += [{"lane": lane, **asdict(each)} for each in pair.differences]
    return {
        "same": comparison.same,
        "first": comparison.first,
        "second": comparison.second,
        "crossings": len(comparison.pairs),
        "differences": found,
    }
