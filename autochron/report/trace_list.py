"""The report of `autochron traces list`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, TextIO

from msgspec import structs
from msgspec.json import encode

from autochron.escaping import visible
from autochron.model import TraceSummary
from autochron.report.phrases import cells, cut
from autochron.report.text import Page
from autochron.report.trace_facts import models, tokens, user_message
from autochron.report.traces import command_line
from autochron.store.glances import Glance

_HEADINGS = {
    "id": "id",
    "when": "when",
    "name": "name",
    "command": "command",
    "message": "the user's message",
    "models": "models",
    "tokens": "tokens in/out",
    "crossings": "crossings",
    "duration": "duration",
    "status": "status",
}
"""The columns with their headings."""

_ELASTIC = {"name": 4, "command": 8, "message": 12, "models": 8}
"""The columns that are shortened to fit, each with the least width to which it is."""

_DROPPED = ("name", "models", "crossings", "tokens", "duration", "command", "message", "when")
"""The columns that a narrow terminal goes without, in the order in which they are left out."""

_RIGHT = {"tokens", "crossings", "duration", "status"}
_GAP = 2
_LEAST_ID = 6


def write_list(
    summaries: Sequence[TraceSummary], seen: Mapping[str, Glance], stream: TextIO, *, as_json: bool
) -> None:
    """Write a table of traces, in the order given, or a line of JSON for each.

    On a terminal the columns fit its width, and an id is as short as its difference from the others allows. Elsewhere there
    is a tab between the cells, and nothing is shortened.
    """
    facts = [facts_of(summary, seen.get(summary.header.id, Glance())) for summary in summaries]
    if as_json:
        stream.writelines(encode(entry).decode() + "\n" for entry in facts)
        return
    page = Page(stream)
    if not page.is_fitted:
        page.line("\t".join(_HEADINGS.values()))
        for entry in facts:
            page.line("\t".join(map(visible, _cells(entry, entry["id"]).values())))
        return
    shorts = short_ids([summary.header.id for summary in summaries])
    rows = [_cells(entry, short) for entry, short in zip(facts, shorts, strict=True)]
    widths = fitted(rows, page.width)
    page.line(_row(_HEADINGS, widths), "bold")
    for row in rows:
        is_good = row["status"] in {"0", "-"}
        page.line(_row(row, widths), None if is_good else "yellow")


def facts_of(summary: TraceSummary, glance: Glance) -> dict[str, Any]:
    """Return what is known of a trace, as data for JSON. The keys are documented in `cli.trace_parsers`."""
    header = summary.header
    tokens_in, tokens_out = tokens(glance)
    return {
        "id": header.id,
        "created": header.created,
        "name": header.name,
        "command": structs.asdict(header.command),
        "message": user_message(glance),
        "models": models(glance),
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "crossings": summary.crossings,
        "duration": round(glance.ended / 1e9, 3),
        "status": summary.status,
        "complete": summary.complete,
        "size": summary.size,
        "header": header,
    }


def short_ids(ids: Sequence[str]) -> list[str]:
    """Return for each id the beginning that tells it from the others, all of one length."""
    length, ordered = _LEAST_ID, sorted(ids)
    for first, second in pairwise(ordered):
        common = next(
            (at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first)
        )
        length = max(length, common + 1)
    return [trace_id[:length] for trace_id in ids]


def fitted(rows: Sequence[Mapping[str, str]], room: int) -> dict[str, int]:
    """Return the widths of the columns that fit into a number of terminal columns, in the columns' order."""
    empty = {name for name in _ELASTIC if not any(row[name] for row in rows)}
    natural = {
        name: max([len(_HEADINGS[name]), *(cells(row[name]) for row in rows)])
        for name in _HEADINGS
        if name not in empty
    }
    least = {name: min(width, _ELASTIC.get(name, width)) for name, width in natural.items()}
    dropped = iter(_DROPPED)
    while _total(least) > room and (drop := next(dropped, None)) is not None:
        least.pop(drop, None)
    widths = {name: natural[name] for name in least}
    while _total(widths) > room:
        widest = max(least, key=lambda name: (widths[name] - least[name], name))
        if widths[widest] <= least[widest]:
            break
        others = [widths[name] for name in least if name in _ELASTIC and name != widest]
        spare = max(1, min(_total(widths) - room, widths[widest] - max([*others, least[widest]])))
        widths[widest] = max(least[widest], widths[widest] - spare)
    return widths


def seconds_text(seconds: float) -> str:
    """Return a time as people write it: `340 ms`, `12.3 s`, `4 m 05 s`, `1 h 02 m`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} m"


def _cells(entry: Mapping[str, Any], trace_id: str) -> dict[str, str]:
    """Return the cells of a row by column."""
    header, counts = entry["header"], (entry["tokens_in"], entry["tokens_out"])
    status = "-" if entry["status"] is None else str(entry["status"])
    return {
        "id": trace_id,
        "when": _local(entry["created"]),
        "name": _line(entry["name"] or ""),
        "command": _line(command_line(header.command)),
        "message": _line(entry["message"] or ""),
        "models": _line(", ".join(entry["models"])),
        "tokens": "/".join("?" if count is None else str(count) for count in counts) if any(counts) else "-",
        "crossings": str(entry["crossings"]),
        "duration": seconds_text(entry["duration"]),
        "status": status if entry["complete"] else "cut off",
    }


def _local(created: str) -> str:
    """Return a recorded time as one of this machine's zone, to the minute; as it is if it is none."""
    try:
        return datetime.fromisoformat(created).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return created


def _line(text: str) -> str:
    return " ".join(text.split())


def _row(row: Mapping[str, str], widths: Mapping[str, int]) -> str:
    gap = " " * _GAP
    return gap.join(_cell(name, row[name], width) for name, width in widths.items()).rstrip()


def _cell(name: str, text: str, width: int) -> str:
    """Return a text in a width, cut or filled."""
    text = cut(visible(text), width)
    blanks = " " * (width - cells(text))
    return blanks + text if name in _RIGHT else text + blanks


def _total(widths: Mapping[str, int]) -> int:
    return sum(widths.values()) + _GAP * (len(widths) - 1)
