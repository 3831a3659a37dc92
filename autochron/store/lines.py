"""The lines of a trace file: envelopes as JSON, with the inputs that grow as patches of the one before."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from autochron._runtime.lazy import late_decoder
from autochron.model import (
    Abandoned,
    Closed,
    Connection,
    Envelope,
    Exchange,
    FileRead,
    Finding,
    Footer,
    Form,
    Header,
    Kind,
    Outcome,
    OutsideEffect,
    Raised,
    Returned,
    Secrets,
    Snapshot,
    Streamed,
    Unprinted,
    Unwoven,
)
from autochron.store import patches
from autochron.store.beside import checked

FORMAT = 3
"""What is written: 2 knows streams that are objects (`form`), and what they handed out between items (`meta`); 3 tells the
types of inputs (`$types`), and what was sent into streams."""

READ = frozenset({1, 2, FORMAT})
"""What is read."""

BOUNDARIES = 256
"""Boundaries (name and lane) whose last input and request are kept to be patched."""

SHORT = 1024
"""A body of fewer bytes is written whole: a patch would be no easier to read, and slower."""

Base: TypeAlias = int | tuple[int, int]
"""What a patch refers to: the `seq` of an input, or the `seq` and place (from 1) of an exchange's request."""

_encode = msgspec.json.Encoder(order="sorted").encode
_raw = msgspec.json.Decoder(Raw)
ABSENT = Raw(b"")
NULL = Raw(b"null")


class StoredEnding(Struct, forbid_unknown_fields=True):
    """An outcome: `returned`, `raised`, or `streamed` with its `end`."""

    returned: Raw = ABSENT
    argument: str | None = None
    raised: Raw = ABSENT
    streamed: list[Raw] | UnsetType = UNSET
    end: Raw = ABSENT


class ExchangeLine(Struct, forbid_unknown_fields=True):
    """An exchange; what is left out has its default."""

    method: str
    url: str
    request: Raw
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: Raw = ABSENT
    error: Raw = ABSENT
    attempts: int = 1
    complete: bool = True


class CrossingLine(Struct, forbid_unknown_fields=True):
    """An envelope; what is left out has its default."""

    seq: int
    name: str
    nth: int
    kind: Kind
    lane: str
    site: str
    input: Raw
    outcome: StoredEnding
    parent: int | None = None
    form: Form = "value"
    exchanges: tuple[ExchangeLine, ...] = ()
    reenters: bool = False
    changed: Raw = ABSENT
    meta: Raw = ABSENT
    started: int = 0
    duration: int = 0
    masked: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()


class HeaderLine(Struct, forbid_unknown_fields=True):
    """The first line."""

    autochron: int
    header: Header


class FooterFields(Struct):
    """A footer, with its bodies as they are written; what it doesn't know it passes over."""

    status: int | None = None
    error: str | None = None
    stdout: Raw = NULL
    said: bool = False
    unprinted: tuple[Unprinted, ...] = ()
    secrets: Secrets | None = None
    stderr: Raw = NULL
    stdin: Raw = NULL
    stdin_kind: str = ""
    unwoven_tools: tuple[str, ...] = ()
    declined_tools: tuple[str, ...] = ()
    connections: tuple[Connection, ...] = ()
    ledger: tuple[Unwoven, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    credentials: tuple[str, ...] = ()
    lost: int = 0
    watched: bool = False
    findings: tuple[Finding, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    reads: tuple[FileRead, ...] = ()
    effects: tuple[OutsideEffect, ...] = ()
    knows_effects: bool = False
    call: CrossingLine | None = None


class FooterLine(Struct, forbid_unknown_fields=True):
    """The line of a footer, which stands alone in it."""

    footer: FooterFields


class DigestLine(Struct, forbid_unknown_fields=True):
    """The last line: SHA-256 over the bytes before it, and how many lines they are."""

    digest: str
    lines: int


_crossing = late_decoder(CrossingLine)
_base = msgspec.json.Decoder(Base)
_footer = late_decoder(FooterLine)
_ending = late_decoder(StoredEnding)


class Latest:
    """The last input and request of each boundary; writer and reader forget the same ones."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, str], tuple[Base, bytes]] = {}

    def get(self, key: tuple[str, str, str]) -> tuple[Base, bytes] | None:
        return self._kept.get(key)

    def keep(self, key: tuple[str, str, str], base: Base, body: bytes) -> None:
        """Make a body the last one of its boundary."""
        kept = self._kept
        if key in kept:
            del kept[key]  # it is put at the end
        elif len(kept) >= BOUNDARIES:
            del kept[next(iter(kept))]
        kept[key] = (base, body)


def header_line(header: Header) -> bytes:
    """Return the first line, without its end."""
    return _encode({"autochron": FORMAT, "header": header})


def footer_line(footer: Footer) -> bytes:
    """Return the line of the footer, without its end."""
    fields: dict[str, Any] = msgspec.structs.asdict(footer)
    for name in ("stdout", "stdin", "stderr"):
        fields[name] = NULL if fields[name] is None else value(fields[name])
    del fields["call"]
    if footer.call is not None:
        fields["call"] = LineWriter().fields(footer.call)
    return _encode({"footer": fields})


def digest_line(digest: str, lines: int) -> bytes:
    """Return the last line, without its end."""
    return _encode({"digest": f"sha256:{digest}", "lines": lines})


def value(body: bytes) -> Raw:
    """Return a body as a value within a line; raises msgspec.DecodeError where it is no JSON."""
    text = bytes(_raw.decode(body))
    if b"\n" in text or b"\r" in text:
        text = msgspec.json.format(text, indent=-1)
    return Raw(text)


class LineWriter:
    """Write envelopes in ascending order of `seq`."""

    def __init__(self) -> None:
        self._latest = Latest()

    def line(self, envelope: Envelope) -> bytes:
        """Return the line of an envelope, without its end."""
        return _encode(self.fields(envelope))

    def fields(self, envelope: Envelope) -> dict[str, Any]:
        """Return the members of such a line."""
        name, lane, seq = envelope.name, envelope.lane, envelope.seq
        fields: dict[str, Any] = {
            "seq": seq,
            "name": name,
            "nth": envelope.nth,
            "kind": envelope.kind,
            "lane": lane,
            "site": envelope.site,
            "input": self._patched(("input", name, lane), seq, envelope.input),
            "outcome": _outcome_fields(envelope.outcome),
            "started": envelope.started,
            "duration": envelope.duration,
        }
        if envelope.exchanges:
            key = ("request", name, lane)
            fields["exchanges"] = [
                self._exchange(key, (seq, place), exchange)
                for place, exchange in enumerate(envelope.exchanges, 1)
            ]
        if envelope.parent is not None:
            fields["parent"] = envelope.parent
        if envelope.form != "value":
            fields["form"] = envelope.form
        if envelope.meta != b"{}":
            fields["meta"] = value(envelope.meta)
        if envelope.changed is not None:
            fields["changed"] = value(envelope.changed)
        fields.update(
            {name: found for name in ("reenters", "masked", "opaque") if (found := getattr(envelope, name))}
        )
        return fields

    def _exchange(self, key: tuple[str, str, str], base: Base, exchange: Exchange) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "method": exchange.method,
            "url": exchange.url,
            "request": self._patched(key, base, exchange.request),
            "status": exchange.status,
            "headers": exchange.headers,
        }
        if exchange.body != b"null":
            fields["body"] = value(exchange.body)
        if exchange.error is not None:
            fields["error"] = value(exchange.error)
        if exchange.attempts != 1:
            fields["attempts"] = exchange.attempts
        if not exchange.complete:
            fields["complete"] = False
        return fields

    def _patched(self, key: tuple[str, str, str], base: Base, body: bytes) -> Raw:
        text = bytes(value(body))
        before = self._latest.get(key)
        self._latest.keep(key, base, text)
        if before is not None and len(text) >= SHORT:
            patch = _patch(before, text)
            if patch is not None:
                return Raw(patch)
        return Raw(patches.literal(text))


def _patch(before: tuple[Base, bytes], text: bytes) -> bytes | None:
    """Return the patch, if it is shorter by a fifth and gives back exactly `text`."""
    base, old = before
    mark = b'{"$base":' + _encode(base)
    if old == text:
        return mark + b"}"
    patch = patches.difference(old, text)
    if len(patch) * 5 > len(text) * 4 or not patch.startswith(b'{"$'):
        return None
    if patches.apply(old, patch) != text:
        return None  # not compact, or a key twice
    return mark + b"," + patch[1:]


def _outcome_fields(outcome: Outcome | Abandoned | Closed) -> dict[str, Any] | str:
    if isinstance(outcome, Returned):
        fields: dict[str, Any] = {"returned": value(outcome.value)}
        if outcome.argument is not None:
            fields["argument"] = outcome.argument
        return fields
    if isinstance(outcome, Raised):
        return {"raised": value(outcome.error)}
    if isinstance(outcome, Streamed):
        return {"streamed": [value(item) for item in outcome.items], "end": _outcome_fields(outcome.end)}
    return type(outcome).__name__.lower()


class LineReader:
    """Read envelopes back; raises msgspec's errors and PatchError. `compact` takes indented bodies."""

    def __init__(self, *, compact: bool = False) -> None:
        self._latest = Latest()
        self._parts = patches.Parts()
        self._compact = compact

    def envelope(self, line: bytes) -> Envelope:
        """Return the envelope of a line."""
        return self._envelope(_crossing.decode(line))

    def envelopes(self, lines: bytes) -> list[Envelope]:
        """Return the envelopes of several lines."""
        return [self._envelope(fields) for fields in _crossing.decode_lines(lines)]

    def _envelope(self, fields: CrossingLine) -> Envelope:
        name, lane, seq = fields.name, fields.lane, fields.seq
        given = self._whole(("input", name, lane), seq, fields.input)
        exchanges: tuple[Exchange, ...] = ()
        if fields.exchanges:
            key = ("request", name, lane)
            exchanges = tuple(
                [self._exchange(key, (seq, place), item) for place, item in enumerate(fields.exchanges, 1)]
            )
        return Envelope(
            seq=seq,
            name=name,
            nth=fields.nth,
            kind=fields.kind,
            lane=lane,
            parent=fields.parent,
            site=fields.site,
            input=given,
            outcome=self._outcome(fields.outcome),
            form=fields.form,
            exchanges=exchanges,
            reenters=fields.reenters,
            changed=None if fields.changed is ABSENT else self._body(fields.changed),
            meta=b"{}" if fields.meta is ABSENT else checked(self._body(fields.meta)),
            started=fields.started,
            duration=fields.duration,
            masked=fields.masked,
            opaque=fields.opaque,
        )

    def footer(self, line: bytes) -> Footer:
        """Return the footer of a line."""
        fields = _footer.decode(line).footer
        # The call stands there whole: it is no patch of a crossing that has its name.
        whole = LineReader(compact=self._compact)
        return Footer(
            status=fields.status,
            error=fields.error,
            stdout=self._body(fields.stdout),
            said=fields.said,
            unprinted=fields.unprinted,
            secrets=fields.secrets,
            stderr=None if fields.stderr == NULL else self._body(fields.stderr),
            stdin=self._body(fields.stdin),
            stdin_kind=fields.stdin_kind,
            unwoven_tools=fields.unwoven_tools,
            declined_tools=fields.declined_tools,
            connections=fields.connections,
            ledger=fields.ledger,
            versions=fields.versions,
            environment=fields.environment,
            credentials=fields.credentials,
            lost=fields.lost,
            watched=fields.watched,
            findings=fields.findings,
            snapshots=fields.snapshots,
            reads=fields.reads,
            effects=fields.effects,
            knows_effects=fields.knows_effects,
            call=None if fields.call is None else whole._envelope(fields.call),
        )

    def _body(self, raw: Raw) -> bytes:
        return msgspec.json.format(bytes(raw), indent=-1) if self._compact else bytes(raw)

    def _optional(self, raw: Raw) -> bytes | None:
        return None if raw is ABSENT else self._body(raw)

    def _exchange(self, key: tuple[str, str, str], base: Base, line: ExchangeLine) -> Exchange:
        return Exchange(
            method=line.method,
            url=line.url,
            request=self._whole(key, base, line.request),
            status=line.status,
            headers=line.headers,
            body=self._optional(line.body) or b"null",
            error=self._optional(line.error),
            attempts=line.attempts,
            complete=line.complete,
        )

    def _outcome(self, fields: StoredEnding) -> Outcome:
        if fields.streamed is UNSET:
            if fields.raised is ABSENT and fields.end is ABSENT and fields.returned is not ABSENT:
                return Returned(self._body(fields.returned), fields.argument)
            return self._plain(fields)
        if bytes(fields.returned) or bytes(fields.raised) or fields.argument is not None:
            raise patches.PatchError("an outcome is one of returned, raised and streamed")
        end: Returned | Raised | Abandoned | Closed
        if bytes(fields.end) == b'"abandoned"':
            end = Abandoned()
        elif bytes(fields.end) == b'"closed"':
            end = Closed()
        else:
            end = self._plain(_ending.decode(fields.end))
        return Streamed(tuple([self._body(item) for item in fields.streamed]), end)

    def _plain(self, fields: StoredEnding) -> Returned | Raised:
        returned, raised = self._optional(fields.returned), self._optional(fields.raised)
        if (returned is None) is (raised is None) or bytes(fields.end) or fields.streamed is not UNSET:
            raise patches.PatchError("an outcome is one of returned, raised and streamed")
        if returned is not None:
            return Returned(returned, fields.argument)
        if raised is None or fields.argument is not None:
            raise patches.PatchError("what was raised has no argument")
        return Raised(raised)

    def _whole(self, key: tuple[str, str, str], base: Base, raw: Raw) -> bytes:
        text = self._body(raw)
        if text[:1] == b"{" and b'"$' in text:
            marks = patches.members(text)
            if "$base" in marks:
                text = self._applied(key, marks)
            elif any(mark[:1] == "$" for mark in marks):
                text = patches.apply_marks(b"null", marks)
        self._latest.keep(key, base, text)
        return text

    def _applied(self, key: tuple[str, str, str], marks: dict[str, bytes]) -> bytes:
        wanted = _base.decode(marks.pop("$base"))
        before = self._latest.get(key)
        if before is None or before[0] != wanted:
            found = "there is none" if before is None else f"the one before is {before[0]}"
            raise patches.PatchError(f"the {key[0]} is a patch of {wanted}, but {found}")
        return patches.apply_marks(before[1], marks, self._parts) if marks else before[1]
