"""The data of a page: crossings as columns for the tree, and the details of each crossing in a line of its own.

The browser parses the columns at once, and a crossing's details only when somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct, field, json

from autochron.envelope.type_trees import split_body
from autochron.errors import UsageError
from autochron.model import (
    Abandoned,
    Closed,
    Connection,
    Difference,
    Envelope,
    Exchange,
    Footer,
    Header,
    OutsideEffect,
    Raised,
    Returned,
    Streamed,
)
from autochron.report.phrases import ending, words
from autochron.report.trace_facts import tokens_of
from autochron.report.traces import command_line
from autochron.viewing.shared_json import SharedJson, written_or_text

MOST_CROSSINGS = 500_000
"""The largest number of crossings of a page."""
FULL = 64 << 20
"""Bytes of inputs and outcomes from which a page leaves out large ones."""
_WORDS = 160
"""Columns of the summary of a crossing."""

_text = json.Encoder().encode
_as_object = json.Decoder(dict[str, Any])


class NameNumbers:
    """Strings by number: a column of names holds numbers."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        """Return the number of a name."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.names)
            self.names.append(name)
        return number


class Columns(Struct):
    """The crossings of one side of a page, by column. An item of `parent` is a position, or -1."""

    name: list[int] = field(default_factory=list)
    nth: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    lane: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    """Microseconds since the trace began."""
    duration: list[int] = field(default_factory=list)
    """Microseconds."""
    status: list[int] = field(default_factory=list)
    mode: list[int] = field(default_factory=list)
    """How a replay handled it; of a trace's crossings always the same."""
    words: list[str] = field(default_factory=list)
    """Input and result in one line."""
    marks: list[str] = field(default_factory=list)
    """How it ended, if in an unusual way."""
    model: list[int] = field(default_factory=list)
    tokens_in: list[int] = field(default_factory=list)
    """Tokens of the request; -1 where the answer doesn't tell."""
    tokens_out: list[int] = field(default_factory=list)


class Side:
    """One side of a page: the crossings of a trace, or of a replay.

    Attributes:
        columns: the crossings, in order of start.
        details: a JSON object for each crossing, as text.
        header: facts about the run, as JSON data.
    """

    def __init__(
        self, names: NameNumbers, shared: SharedJson, header: Header, footer: Footer | None, title: str
    ) -> None:
        self.columns = Columns()
        self.details: list[str] = []
        self._names = names
        self._shared = shared
        self._positions: dict[int, int] = {}
        self._root = -1
        self.header = run_facts(header, footer, title)

    def __len__(self) -> int:
        return len(self.details)

    def address(self, at: int) -> str:
        """Return the address of the crossing at a position."""
        return f"{self._names.names[self.columns.name[at]]}[{self.columns.nth[at]}]"

    def add_call(self, call: Envelope) -> int:
        """Add the call that a trace was recorded for: it encloses all crossings that are added later."""
        self._root = self.add(call)
        return self._root

    def add(self, envelope: Envelope, mode: str = "recorded") -> int:
        """Add a crossing, and return its position.

        Raises:
            UsageError: there are too many.
        """
        at = len(self.details)
        if at >= MOST_CROSSINGS:
            raise UsageError(
                f"the trace has more than {MOST_CROSSINGS:,} crossings, and a page shows no more;"
                " `autochron traces show TRACE` shows it in the terminal"
            )
        columns, names = self.columns, self._names
        self._positions[envelope.seq] = at
        facts = _facts(envelope)
        columns.name.append(names(envelope.name))
        columns.nth.append(envelope.nth)
        columns.kind.append(names(envelope.kind))
        columns.lane.append(names(envelope.lane))
        parent = envelope.parent
        columns.parent.append(self._root if parent is None else self._positions.get(parent, self._root))
        columns.started.append(envelope.started // 1000)
        columns.duration.append(envelope.duration // 1000)
        columns.status.append(names(_status(envelope)))
        columns.mode.append(names(mode))
        columns.words.append(words(envelope, _WORDS))
        columns.marks.append(", ".join(text for text, _ in ending(envelope)))
        columns.model.append(names(str(facts.get("model") or "")))
        sent, got = tokens_of([facts.get("usage")])
        columns.tokens_in.append(-1 if sent is None else sent)
        columns.tokens_out.append(-1 if got is None else got)
        self.details.append(self._details(envelope, facts))
        return at

    def _details(self, envelope: Envelope, facts: dict[str, Any]) -> str:
        """Return what the page shows of one crossing, as a JSON object."""
        write = self._body
        parts = [f'"site":{_json(envelope.site)}', f'"seq":{envelope.seq}', f'"form":{_json(envelope.form)}']
        plain, types = split_body(envelope.input)
        parts.append(f'"input":{write(plain)}')
        if types is not None:
            parts.append(f'"types":{write(types)}')
        parts.append(f'"outcome":{self._outcome(envelope.outcome)}')
        if envelope.exchanges:
            parts.append(f'"exchanges":[{",".join(map(self._exchange, envelope.exchanges))}]')
        if envelope.changed is not None:
            parts.append(f'"changed":{write(envelope.changed)}')
        if facts:
            parts.append(f'"meta":{write(envelope.meta)}')
        for name, values in (("masked", envelope.masked), ("opaque", envelope.opaque)):
            if values:
                parts.append(f'"{name}":{_json(values)}')
        return f"{{{','.join(parts)}}}"

    def _outcome(self, outcome: Returned | Raised | Streamed) -> str:
        if isinstance(outcome, Streamed):
            items = ",".join(self._body(item) for item in outcome.items)
            return f'{{"items":[{items}],"end":{self._end(outcome.end)}}}'
        return self._end(outcome)

    def _end(self, end: Returned | Raised | Abandoned | Closed) -> str:
        if isinstance(end, Returned):
            argument = f',"argument":{_json(end.argument)}' if end.argument is not None else ""
            return f'{{"returned":{self._body(end.value)}{argument}}}'
        if isinstance(end, Raised):
            return f'{{"raised":{self._body(end.error)}}}'
        return f'{{"ended":{_json(type(end).__name__.lower())}}}'

    def _exchange(self, exchange: Exchange) -> str:
        error = f',"error":{self._body(exchange.error)}' if exchange.error is not None else ""
        return (
            f'{{"method":{_json(exchange.method)},"url":{_json(exchange.url)},"status":{exchange.status},'
            f'"attempts":{exchange.attempts},"complete":{_json(exchange.complete)},"headers":{_json(exchange.headers)},'
            f'"request":{self._body(exchange.request)},"body":{self._body(exchange.body)}{error}}}'
        )

    def _body(self, body: bytes) -> str:
        return written_or_text(self._shared, body)


class PairRow(Struct, array_like=True):
    """A row of a page with two sides: the positions of a crossing in each, or -1, and their differences."""

    first: int
    second: int
    differences: list[dict[str, Any]] = []


class PageData:
    """What a page shows: a trace, two traces, or a replay beside its record.

    Attributes:
        kind: `trace`, `comparison` or `replay`.
        title: what the page is called.
        verdict: one line under the title; empty for a trace.
        is_same: whether both sides agree; None for a trace.
        sides: the crossings of each side.
        pairs: the rows of two sides. A row with neither position is of the run as a whole, or of a crossing that was refused.
    """

    def __init__(self, kind: str, title: str, *, limit: int = FULL) -> None:
        self.kind = kind
        self.title = title
        self.verdict = ""
        self.is_same: bool | None = None
        self.sides: list[Side] = []
        self.pairs: list[PairRow] = []
        self.names = NameNumbers()
        self.shared = SharedJson(limit)

    def side(self, header: Header, footer: Footer | None, title: str) -> Side:
        """Add a side without crossings."""
        side = Side(self.names, self.shared, header, footer, title)
        self.sides.append(side)
        return side

    def index(self) -> bytes:
        """Return the JSON that the page reads at once."""
        return json.encode(
            {
                "kind": self.kind,
                "title": self.title,
                "verdict": self.verdict,
                "same": self.is_same,
                "cut": self.shared.cut,
                "names": self.names.names,
                "sides": [
                    {"run": side.header, "columns": side.columns, "size": len(side)} for side in self.sides
                ],
                "pairs": self.pairs,
            },
            order="deterministic",
        )


def trace_page(
    header: Header,
    footer: Footer | None,
    envelopes: Iterable[Envelope],
    *,
    progress: Callable[[int], None] | None = None,
) -> PageData:
    """Return the data of a page of one trace.

    Args:
        header: its header.
        footer: its footer; None if the run was cut off.
        envelopes: its crossings, in order of start.
        progress: called with the number of crossings that were read.

    Raises:
        UsageError: the trace has too many crossings.
    """
    data = PageData("trace", header.name or command_line(header.command))
    side = data.side(header, footer, "trace")
    if footer is not None and footer.call is not None:
        side.add_call(footer.call)
    for envelope in envelopes:
        side.add(envelope)
        if progress is not None:
            progress(len(side))
    return data


# --- facts ---------------------------------------------------------------------------------------------------------


def run_facts(header: Header, footer: Footer | None, title: str) -> dict[str, Any]:
    """Return what a page tells of a run as a whole, as JSON data without empty entries."""
    facts: dict[str, Any] = {
        "title": title,
        "id": header.id,
        "name": header.name,
        "created": header.created,
        "command": command_line(header.command),
        "folder": header.command.folder,
        "python": header.python,
        "autochron": header.autochron,
        "complete": footer is not None,
    }
    if footer is not None:
        facts |= {
            "status": footer.status,
            "error": footer.error,
            "stdout": _said(footer.stdout),
            "stderr": _said(footer.stderr),
            "stdin": _said(footer.stdin),
            "lost": footer.lost,
            "findings": [_finding(finding) for finding in footer.findings if finding.covered is None],
            "effects": [_effect(effect) for effect in footer.effects],
            "connections": [_connection(connection) for connection in footer.connections],
            "found": [
                f"{tool.tool} is {tool.file}:{tool.line} {tool.qualname}, {tool.how}"
                + ("" if tool.is_confirmed else " (not confirmed)")
                for tool in footer.found_tools
            ],
            "unwoven": list(footer.unwoven_tools),
            "declined": list(footer.declined_tools),
            "ledger": [f"{entry.what}: {entry.reason} ({entry.slug})" for entry in footer.ledger],
            "versions": [f"{name} {version}" for name, version in footer.versions],
            "environment": [f"{name}={value}" for name, value in footer.environment],
        }
    return {
        key: value
        for key, value in facts.items()
        if value not in (None, "", [], 0) or key in ("complete", "status")
    }


def difference_data(difference: Difference) -> dict[str, Any]:
    """Return a difference of two traces as JSON data."""
    data = {
        "kind": difference.kind,
        "address": difference.address or difference.kind,
        "message": difference.message,
        "severity": difference.severity,
        "path": difference.path,
        "first": difference.first,
        "second": difference.second,
    }
    return {key: value for key, value in data.items() if value is not None}


def _facts(envelope: Envelope) -> dict[str, Any]:
    try:
        return {} if envelope.meta == b"{}" else _as_object.decode(envelope.meta)
    except (ValueError, RecursionError):
        return {}


def _status(envelope: Envelope) -> str:
    outcome = envelope.outcome
    end = outcome.end if isinstance(outcome, Streamed) else outcome
    if isinstance(end, Raised):
        return "raised"
    if isinstance(end, Abandoned | Closed):
        return type(end).__name__.lower()
    if envelope.exchanges and not 0 < envelope.exchanges[-1].status < 400:
        return "failed"
    return "returned"


def _said(body: bytes | None) -> Any:
    if body is None or body == b"null":
        return None
    try:
        said = json.decode(body)
    except ValueError:
        return None
    return said.get("text", said) if isinstance(said, dict) else said


def _finding(finding: Any) -> dict[str, Any]:
    data = {
        "at": str(finding.site),
        "in": finding.site.qualname,
        "call": finding.call,
        "category": finding.category,
        "count": finding.count,
        "via": finding.via,
        "impact": finding.impact,
    }
    return {key: value for key, value in data.items() if value is not None}


def _effect(effect: OutsideEffect) -> dict[str, Any]:
    return {
        "at": effect.site,
        "in": effect.function,
        "does": f"{effect.does} {effect.what}",
        "kind": effect.kind,
    }


def _connection(connection: Connection) -> dict[str, Any]:
    return {"at": connection.site, "does": f"connects to {connection.address}"}


def _json(value: Any) -> str:
    return _text(value).decode()
