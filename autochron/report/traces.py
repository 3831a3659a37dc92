"""The reports of `autochron traces show` and `prune`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from msgspec import DecodeError, Raw
from msgspec.json import decode, encode
from msgspec.json import format as format_json

from autochron.envelope.type_trees import without_types
from autochron.model import (
    Envelope,
    Footer,
    Header,
    Raised,
    Returned,
    Snapshot,
    Streamed,
    Trace,
    TraceSummary,
)
from autochron.ports import Record
from autochron.report.text import Page, plural
from autochron.report.tree import draw_trace

_WIDE = 72
"""The most characters of JSON that are written on one line."""


def write_summaries(summaries: Sequence[TraceSummary], stream: TextIO) -> None:
    """Write a table of traces, in the order given."""
    page = Page(stream)
    rows = [
        (
            summary.header.id,
            summary.header.created,
            str(summary.crossings),
            "cut off" if not summary.complete else "-" if summary.status is None else str(summary.status),
            summary.header.name or "",
            command_line(summary.header.command),
        )
        for summary in summaries
    ]
    page.table(("id", "created", "crossings", "status", "name", "command"), rows)


def write_pruned(
    dropped: Sequence[TraceSummary],
    left: Sequence[TraceSummary],
    stream: TextIO,
    *,
    is_dry: bool,
    as_json: bool,
    quiet: bool = False,
) -> None:
    """Write which traces were dropped, or with `is_dry` would be, and how many are left. JSON lists the dropped ones.

    With `quiet` the count is left out.
    """
    if as_json:
        stream.writelines(encode(summary).decode() + "\n" for summary in dropped)
        return
    if is_dry and dropped:
        write_summaries(dropped, stream)
    if quiet:
        return
    verb = "would be dropped" if is_dry else "dropped"
    Page(stream).line(f"{_measured(dropped)} {verb}, {_measured(left)} left")


def _measured(summaries: Sequence[TraceSummary]) -> str:
    size = sum(summary.size for summary in summaries)
    shown = f"{size / 1e6:,.1f} MB" if size >= 1_000_000 else f"{size / 1e3:,.1f} KB"
    return f"{plural(len(summaries), 'trace')} ({shown})"


def command_line(command: Any) -> str:
    """Return a recorded command as the user would type it after `autochron run`."""
    if command.mode == "block":
        return f"a call of {command.target}" if command.target else "with autochron.record(...)"
    prefix = {"script": [], "module": ["-m"], "console": ["--"]}[command.mode]
    return " ".join([*prefix, command.target, *command.arguments])


def write_trace(trace: Trace, stream: TextIO, *, as_json: bool) -> None:
    """Write a trace in full: each crossing below its parent, with its input, exchanges and outcome. Or write it as JSON."""
    if as_json:
        stream.write(encode(_as_data(trace)).decode() + "\n")
        return
    page = Page(stream)
    _write_head(page, trace.header, trace.footer, len(trace.envelopes))
    call = trace.footer.call if trace.footer else None
    depths: dict[int, int] = {}
    if call is not None:
        depths[0] = 0
        _write_envelope(page, call, "  ")
    for envelope in trace.envelopes:
        depth = depths[envelope.seq] = depths.get(envelope.parent or 0, -1) + 1
        _write_envelope(page, envelope, "  " * (depth + 1))
    _write_foot(page, trace.footer)


def write_tree(record: Record, stream: TextIO, *, whole: bool) -> None:
    """Write a trace as a tree, a line for each crossing; `whole` elides none."""
    page = Page(stream)
    _write_head(page, record.header, record.footer, record.size)
    # Of a long trace few crossings are shown. These are read a second time, so that memory needn't hold them all.
    call = record.footer.call if record.footer else None
    draw_trace(record, None if whole else record.get, call).write(page, whole=whole)
    _write_foot(page, record.footer)


def _write_head(page: Page, header: Header, footer: Footer | None, crossings: int) -> None:
    page.line(f"{header.id}  {header.created}  {command_line(header.command)}", "bold")
    ended = "cut off before its end" if footer is None else f"exit status {footer.status}"
    page.line(f"Python {header.python}, {plural(crossings, 'crossing')}, {ended}")


def _write_foot(page: Page, footer: Footer | None) -> None:
    for snapshot in footer.snapshots if footer else ():
        page.line(f"before the run: {snapshot.path}  {_description(snapshot)}")
    for effect in footer.effects if footer else ():
        page.line(
            f"outside every boundary: {effect.site} {effect.does} {effect.what} (outside-effect)", "yellow"
        )
    for tool in footer.unwoven_tools if footer else ():
        page.line(f"not woven: the model asked for {tool} (unwoven-tool)", "yellow")
    for found in footer.found_tools if footer else ():
        known = "" if found.is_confirmed else "; no result that the model got holds what it returned"
        page.line(f"found: {found.tool} is {found.file}:{found.line} {found.qualname}, {found.how}{known}")
    for tool in footer.output_forms if footer else ():
        page.line(f"filled in: {tool}: a type of data that the model had to fill in, so nothing runs")
    for tool in footer.declined_tools if footer else ():
        page.line(
            f"declined: {tool}: asked for by the model, covered by a boundary, and not called by the agent"
        )


def _description(snapshot: Snapshot) -> str:
    """Return a phrase for what the store keeps of a path."""
    if snapshot.kind == "absent":
        return "not there"
    if snapshot.kind == "folder":
        return f"folder with {plural(len(snapshot.names), 'name')}"
    if snapshot.kind == "link":
        return f"link to {snapshot.target}"
    if snapshot.kind == "not-kept":
        return f"not kept: {snapshot.reason} (no-snapshot)"
    return f"{snapshot.kind}, {snapshot.size:,} bytes, sha256 {snapshot.digest[:12]}…"


def _write_envelope(page: Page, envelope: Envelope, indent: str) -> None:
    meta = decode(envelope.meta)
    facts = [f"{envelope.duration / 1e6:.1f} ms"]
    if "model" in meta:
        facts.append(str(meta["model"]))
    if envelope.lane != "0":
        facts.append(f"lane {envelope.lane}")
    page.line(f"{indent}{envelope.address}  {envelope.kind}  {', '.join(facts)}", "cyan")
    _write_body(page, f"{indent}  in   ", without_types(envelope.input))
    for exchange in envelope.exchanges:
        answer = str(exchange.status) if exchange.status else "failed"
        tries = f", attempt {exchange.attempts}" if exchange.attempts > 1 else ""
        _write_body(
            page, f"{indent}  http {exchange.method} {exchange.url} → {answer}{tries}  ", exchange.body
        )
    if not envelope.reenters:
        _write_outcome(page, f"{indent}  out  ", envelope)
    if envelope.changed is not None:
        _write_body(page, f"{indent}  changed its arguments: ", envelope.changed)


def _write_outcome(page: Page, begin: str, envelope: Envelope) -> None:
    """Write how a crossing ended, after the begin of a line; of a stream each item on lines of its own."""
    outcome = envelope.outcome
    response = decode(envelope.meta, type=dict[str, Raw]).get("response")
    if response is not None:
        _write_body(page, f"{begin}response ", bytes(response))
        return
    if isinstance(outcome, Streamed):
        end = type(outcome.end).__name__.lower()
        page.line(f"{begin}{plural(len(outcome.items), 'item')}, then {end}")
        below = " " * len(begin)
        for item in outcome.items:
            _write_body(page, f"{below}- ", item)
        if isinstance(outcome.end, Returned | Raised):
            _write_end(page, f"{below}{end} ", outcome.end)
        return
    _write_end(page, begin if isinstance(outcome, Returned) else f"{begin}raised ", outcome)


def _write_end(page: Page, begin: str, end: Returned | Raised) -> None:
    if isinstance(end, Returned) and end.argument:
        page.line(f"{begin}argument {end.argument}")
    else:
        _write_body(page, begin, end.value if isinstance(end, Returned) else end.error)


def _write_body(page: Page, begin: str, body: bytes) -> None:
    """Write JSON after the begin of a line; indented, on several lines, if it is long."""
    first, *rest = _lines_of(body)
    page.line(f"{begin}{first}")
    margin = " " * (len(begin) - len(begin.lstrip()))
    for line in rest:
        page.line(f"{margin}{line}")


def _lines_of(body: bytes) -> list[str]:
    text = body.decode("utf-8", "replace")
    if len(text) <= _WIDE:
        return [text]
    try:
        return format_json(body, indent=2).decode().split("\n")
    except DecodeError:  # a damaged body is shown as it is
        return [text]


def _as_data(value: Any) -> Any:
    """Return a value of the model as data for the JSON encoder, in which bodies are raw JSON."""
    if hasattr(value, "__struct_fields__"):
        return {name: _as_data(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple | list):
        return [_as_data(item) for item in value]
    return Raw(value) if isinstance(value, bytes) else value
