"""The reports of `autochron traces show` and `prune`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from msgspec import Raw
from msgspec.json import decode, encode

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
    page.line(f"{indent}  in   {_short(without_types(envelope.input))}")
    for exchange in envelope.exchanges:
        answer = str(exchange.status) if exchange.status else "failed"
        tries = f", attempt {exchange.attempts}" if exchange.attempts > 1 else ""
        page.line(
            f"{indent}  http {exchange.method} {exchange.url} → {answer}{tries}  {_short(exchange.body)}"
        )
    if not envelope.reenters:
        page.line(f"{indent}  out  {_outcome(envelope)}")
    if envelope.changed is not None:
        page.line(f"{indent}  changed its arguments: {_short(envelope.changed)}")


def _outcome(envelope: Envelope) -> str:
    outcome = envelope.outcome
    response = decode(envelope.meta, type=dict[str, Raw]).get("response")
    if response is not None:
        return f"response {_short(bytes(response))}"
    if isinstance(outcome, Returned):
        return f"argument {outcome.argument}" if outcome.argument else _short(outcome.value)
    if isinstance(outcome, Raised):
        return f"raised {_short(outcome.error)}"
    assert isinstance(outcome, Streamed)  # noqa: S101 - the third of three
    return f"{plural(len(outcome.items), 'item')}, then {type(outcome.end).__name__.lower()}"


def _short(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    return text if len(text) <= _WIDE else f"{text[:_WIDE]}… ({len(text)} characters)"


def _as_data(value: Any) -> Any:
    """Return a value of the model as data for the JSON encoder, in which bodies are raw JSON."""
    if hasattr(value, "__struct_fields__"):
        return {name: _as_data(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple | list):
        return [_as_data(item) for item in value]
    return Raw(value) if isinstance(value, bytes) else value
