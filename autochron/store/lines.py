"""The lines of a trace file: envelopes as JSON, with the inputs that grow as patches of the one before."""

from __future__ import annotations

from functools import lru_cache
from types import GenericAlias
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, defstruct
from msgspec.structs import asdict

from autochron._runtime.growing_bodies import Latest
from autochron._runtime.lazy import late_decoder
from autochron.model import (
    Abandoned,
    Closed,
    Envelope,
    Exchange,
    Footer,
    Header,
    Outcome,
    Raised,
    Returned,
    Streamed,
)
from autochron.store import patches
from autochron.store.beside import checked

FORMAT = 4
"""What is written: 2 knows streams that are objects (`form`), and what they handed out between items (`meta`); 3 tells the
types of inputs (`$types`), and what was sent into streams; 4 writes a part of an input that lies on a cycle once."""

READ = frozenset({1, 2, 3, FORMAT})
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


def _line_of(model: type[Struct], *, strict: bool = True, **stored: Any) -> Any:
    """Make the Struct that a line is decoded into: a model's fields, of which some are stored in another form.

    Args:
        model: the Struct that is written.
        strict: whether a field that isn't known is refused.
        stored: the form of those fields, as `type` where the field is required and as `(type, default)` where it isn't.
    """
    fields: list[Any] = []
    for field in msgspec.structs.fields(model):
        form = stored.get(field.name)
        if isinstance(form, tuple):
            fields.append((field.name, *form))
        elif form is not None or field.required:
            fields.append((field.name, form or field.type))
        else:
            fields.append((field.name, field.type, field.default))
    return defstruct(
        f"{model.__name__}Line", fields, kw_only=True, forbid_unknown_fields=strict, module=__name__
    )


class StoredEnding(Struct, forbid_unknown_fields=True):
    """An outcome: `returned`, `raised`, or `streamed` with its `end`."""

    returned: Raw = ABSENT
    argument: str | None = None
    raised: Raw = ABSENT
    streamed: list[Raw] | UnsetType = UNSET
    end: Raw = ABSENT


# A member that a line leaves out has the model's default; a body that it leaves out is ABSENT.
ExchangeLine = _line_of(Exchange, request=Raw, body=(Raw, ABSENT), error=(Raw, ABSENT))
EnvelopeLine = _line_of(
    Envelope,
    input=Raw,
    outcome=StoredEnding,
    parent=(int | None, None),
    exchanges=(GenericAlias(tuple, (ExchangeLine, ...)), ()),
    changed=(Raw, ABSENT),
    meta=(Raw, ABSENT),
)
FooterFields = _line_of(
    Footer,
    strict=False,  # a later version may know more
    stdout=(Raw, NULL),
    stderr=(Raw, NULL),
    stdin=(Raw, NULL),
    call=(EnvelopeLine | None, None),
)
FooterLine: Any = defstruct(
    "FooterLine", [("footer", FooterFields)], forbid_unknown_fields=True, module=__name__
)


class HeaderLine(Struct, forbid_unknown_fields=True):
    """The first line."""

    autochron: int
    header: Header


class DigestLine(Struct, forbid_unknown_fields=True):
    """The last line: SHA-256 over the bytes before it, and how many lines they are."""

    digest: str
    lines: int


_line = late_decoder(EnvelopeLine)
_base = msgspec.json.Decoder(Base)
_footer = late_decoder(FooterLine)
_ending = late_decoder(StoredEnding)


_WRITTEN = frozenset({"status", "headers", "started", "duration"})
"""Members that are written even where they have their default."""


def _members(line: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a line: the values without those that are left out, since they have their default."""
    for name, default in _defaults(line):
        if values[name] == default:
            del values[name]
    return values


@lru_cache(maxsize=8)
def _defaults(line: Any) -> list[tuple[str, Any]]:
    return [
        (field.name, field.default)
        for field in msgspec.structs.fields(line)
        if not field.required and field.name not in _WRITTEN
    ]


def _latest() -> Latest[tuple[str, str, str], tuple[Base, bytes]]:
    """Return what keeps the last input and request of each boundary; writer and reader forget the same ones."""
    return Latest(BOUNDARIES)


def header_line(header: Header) -> bytes:
    """Return the first line, without its end."""
    return _encode({"autochron": FORMAT, "header": header})


def footer_line(footer: Footer) -> bytes:
    """Return the line of the footer, without its end."""
    fields: dict[str, Any] = asdict(footer)
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


def _optional_value(body: bytes | None) -> Raw:
    return ABSENT if body is None else value(body)


class LineWriter:
    """Write envelopes in ascending order of `seq`."""

    def __init__(self) -> None:
        self._latest = _latest()

    def line(self, envelope: Envelope) -> bytes:
        """Return the line of an envelope, without its end."""
        return _encode(self.fields(envelope))

    def fields(self, envelope: Envelope) -> dict[str, Any]:
        """Return the members of such a line."""
        name, lane, seq = envelope.name, envelope.lane, envelope.seq
        values = asdict(envelope)
        values["input"] = self._patched(("input", name, lane), seq, envelope.input)
        values["outcome"] = _outcome_fields(envelope.outcome)
        key = ("request", name, lane)
        values["exchanges"] = tuple(
            self._exchange(key, (seq, place), exchange)
            for place, exchange in enumerate(envelope.exchanges, 1)
        )
        values["changed"] = _optional_value(envelope.changed)
        values["meta"] = ABSENT if envelope.meta == b"{}" else value(envelope.meta)
        return _members(EnvelopeLine, values)

    def _exchange(self, key: tuple[str, str, str], base: Base, exchange: Exchange) -> dict[str, Any]:
        values = asdict(exchange)
        values["request"] = self._patched(key, base, exchange.request)
        values["body"] = ABSENT if exchange.body == b"null" else value(exchange.body)
        values["error"] = _optional_value(exchange.error)
        return _members(ExchangeLine, values)

    def _patched(self, key: tuple[str, str, str], base: Base, body: bytes) -> Raw:
        text = bytes(value(body))
        before = self._latest.get(key)
        self._latest.put(key, (base, text))
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
        self._latest = _latest()
        self._parts = patches.Parts()
        self._compact = compact

    def envelope(self, line: bytes) -> Envelope:
        """Return the envelope of a line."""
        return self._envelope(_line.decode(line))

    def envelopes(self, lines: bytes) -> list[Envelope]:
        """Return the envelopes of several lines."""
        return [self._envelope(fields) for fields in _line.decode_lines(lines)]

    def _envelope(self, fields: Any) -> Envelope:
        name, lane, seq = fields.name, fields.lane, fields.seq
        values = asdict(fields)
        values["input"] = self._whole(("input", name, lane), seq, fields.input)
        if fields.exchanges:
            key = ("request", name, lane)
            values["exchanges"] = tuple(
                [self._exchange(key, (seq, place), item) for place, item in enumerate(fields.exchanges, 1)]
            )
        values["outcome"] = self._outcome(fields.outcome)
        values["changed"] = self._optional(fields.changed)
        values["meta"] = b"{}" if fields.meta is ABSENT else checked(self._body(fields.meta))
        return Envelope(**values)

    def footer(self, line: bytes) -> Footer:
        """Return the footer of a line."""
        fields = _footer.decode(line).footer
        values = asdict(fields)
        values["stdout"], values["stdin"] = self._body(fields.stdout), self._body(fields.stdin)
        values["stderr"] = None if fields.stderr == NULL else self._body(fields.stderr)
        if fields.call is not None:
            # The call stands there whole: it is no patch of a crossing that has its name.
            alone = LineReader(compact=self._compact)
            values["call"] = alone._envelope(fields.call)
        return Footer(**values)

    def _body(self, raw: Raw) -> bytes:
        return msgspec.json.format(bytes(raw), indent=-1) if self._compact else bytes(raw)

    def _optional(self, raw: Raw) -> bytes | None:
        return None if raw is ABSENT else self._body(raw)

    def _exchange(self, key: tuple[str, str, str], base: Base, fields: Any) -> Exchange:
        values = asdict(fields)
        values["request"] = self._whole(key, base, fields.request)
        values["body"] = self._optional(fields.body) or b"null"
        values["error"] = self._optional(fields.error)
        return Exchange(**values)

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
        self._latest.put(key, (base, text))
        return text

    def _applied(self, key: tuple[str, str, str], marks: dict[str, bytes]) -> bytes:
        wanted = _base.decode(marks.pop("$base"))
        before = self._latest.get(key)
        if before is None or before[0] != wanted:
            found = "there is none" if before is None else f"the one before is {before[0]}"
            raise patches.PatchError(f"the {key[0]} is a patch of {wanted}, but {found}")
        return patches.apply_marks(before[1], marks, self._parts) if marks else before[1]
