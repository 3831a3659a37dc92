"""Read the fixtures of agent-chronicle 0.5 as traces: a folder with `graph.json` and a file for each crossing, or one file.

A fixture has less than a trace. What it lacks is not guessed: such a value is opaque, so that a replay that needs it says so,
and `Imported.lacks` lists it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from autochron._runtime.unpatched import os
from autochron.adopt.chronicle_api import KINDS
from autochron.adopt.sites import UNKNOWN, rule_sites
from autochron.envelope import codec
from autochron.envelope.canonical import canonical
from autochron.errors import AdoptionError
from autochron.model import (
    Command,
    Envelope,
    Footer,
    Header,
    InputForm,
    Outcome,
    Raised,
    Returned,
    Rules,
    Trace,
)
from autochron.redaction.redactor import Redactor
from autochron.store.ids import id_of

GRAPH = "graph.json"
_VERSION = "2.0"
_NAME = "chronicle.trace.name"
_MODEL = "gen_ai.request.model"
_SAMPLING = "gen_ai.request."
_RESULT_TYPE = "chronicle.output.schema"

# --- the format -------------------------------------------------------------------------------------------------------


class _Entry(Struct, frozen=True):
    fixture: str


class _Graph(Struct, frozen=True):
    trace_id: str
    nodes: list[_Entry]
    attributes: dict[str, Any] = {}


class _Status(Struct, frozen=True):
    code: Literal["UNSET", "OK", "ERROR"] = "UNSET"
    message: str | None = None


class _SpanInput(Struct, frozen=True):
    arguments: dict[str, Any] = {}


class _ToolCall(Struct, frozen=True):
    name: str
    id: str | None = None
    arguments: dict[str, Any] = {}


class _Llm(Struct, frozen=True):
    text: str | None = None
    tool_calls: list[_ToolCall] = []
    finish_reason: str | None = None
    usage: dict[str, int | None] | None = None


class _Output(Struct, frozen=True):
    value: Any | UnsetType = UNSET
    llm: _Llm | None = None


class _Span(Struct, frozen=True):
    """One envelope of Chronicle's."""

    envelope_id: str
    trace_id: str
    name: str
    input: _SpanInput
    output: _Output
    end_time: datetime
    schema_version: str = ""
    kind: str = "custom"
    parent_envelope_id: str | None = None
    sequence: int = 0
    start_time: datetime | None = None
    status: _Status = _Status()
    attributes: dict[str, Any] = {}

    @property
    def begun(self) -> datetime:
        """When it began; where that isn't known, when it ended."""
        return self.ended if self.start_time is None else _aware(self.start_time)

    @property
    def ended(self) -> datetime:
        """When it ended."""
        return _aware(self.end_time)


def _aware(moment: datetime) -> datetime:
    """Return a moment in UTC, as Chronicle reads one without a zone."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


# --- the result -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Imported:
    """A trace that was made of fixtures."""

    trace: Trace
    path: str
    lacks: tuple[str, ...]
    """What the fixtures lack, as sentences."""


def read_fixtures(path: str, rules: Rules, version: str) -> list[Imported]:
    """Read all fixtures at a path: a file with one envelope, a folder with `graph.json`, or a folder above these.

    Args:
        path: the file or the folder.
        rules: say which secrets are masked, as in a trace that is recorded, and where a boundary is defined.
        version: the version of autochron, for the header.

    Raises:
        AdoptionError: a file can't be read, or is no fixture of Chronicle 0.5.
    """
    groups = list(_groups(path))
    if not groups:
        raise AdoptionError(
            f"{path} has no fixture of Chronicle's: no {GRAPH}, and no .json file with an `envelope_id`; name the folder "
            "that `export` wrote"
        )
    maker = _Maker(Redactor.of(rules), rule_sites(rules), version)
    return [maker.imported(place, spans, attributes) for place, spans, attributes in groups]


def _groups(path: str) -> Iterator[tuple[str, list[_Span], Mapping[str, Any]]]:
    """Yield each trace: its place, its envelopes and its attributes."""
    if not os.path.isdir(path):
        span = _span(path)
        yield path, [span], span.attributes
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        if GRAPH in names:
            file = os.path.join(folder, GRAPH)
            graph = _decoded(file, _Graph)
            spans = [_span(_inside(folder, file, node.fixture)) for node in graph.nodes]
            for span in spans:
                if span.trace_id != graph.trace_id:
                    raise AdoptionError(
                        f"{file}: {span.name} is of trace {span.trace_id}, and not of {graph.trace_id}"
                    )
            yield folder, spans, graph.attributes
            continue
        for name in sorted(names):
            file = os.path.join(folder, name)
            if name.endswith(".json") and b'"envelope_id"' in _read(file):
                span = _span(file)
                yield file, [span], span.attributes


def _inside(folder: str, graph: str, name: str) -> str:
    """Return the path of a fixture, which must be in the folder of its graph."""
    if os.path.basename(name) != name or not name:
        raise AdoptionError(f"{graph} names the fixture {name!r}, which is not in its folder")
    return os.path.join(folder, name)


def _span(path: str) -> _Span:
    span: _Span = _decoded(path, _Span)
    if span.schema_version != _VERSION:
        raise AdoptionError(
            f"{path} has schema_version {span.schema_version!r}, and Chronicle 0.5 writes {_VERSION!r}; export it again "
            "with 0.5"
        )
    return span


def _decoded(path: str, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(_read(path), type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise AdoptionError(
            f"{path} is no fixture of Chronicle 0.5: {error}; nothing was imported"
        ) from error


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise AdoptionError(f"{path} can't be read ({error.strerror}); nothing was imported") from error


# --- spans to envelopes -----------------------------------------------------------------------------------------------


class _Maker:
    """Makes traces of envelopes of Chronicle's."""

    def __init__(self, redactor: Redactor, sites: Mapping[str, str], version: str) -> None:
        self._redactor = redactor
        self._sites = sites
        self._version = version

    def imported(self, path: str, spans: Sequence[_Span], attributes: Mapping[str, Any]) -> Imported:
        """Make a trace of envelopes."""
        ordered = _in_order(path, spans)
        numbers = {span.envelope_id: number for number, span in enumerate(ordered, 1)}
        begin = min((span.begun for span in ordered), default=datetime.fromtimestamp(0, UTC))
        counts: Counter[str] = Counter()
        lacks: dict[str, list[str]] = {}
        envelopes = []
        for span in ordered:
            name = self._redactor.mask_name(span.name)
            counts[name] += 1
            envelope = self._envelope(span, name, counts[name], numbers, begin)
            envelopes.append(envelope)
            for lack in _lacks(span, envelope):
                lacks.setdefault(lack, []).append(envelope.address)
        if any(span.start_time is None for span in ordered):
            lacks["the start is not kept; the place is that of the end"] = [
                envelope.address
                for envelope, span in zip(envelopes, ordered, strict=True)
                if span.start_time is None
            ]
        trace_id = ordered[0].trace_id if ordered else path
        header = Header(
            id=id_of(
                int(begin.timestamp() * 1000),
                int.from_bytes(hashlib.sha256(trace_id.encode()).digest()[:10], "big"),
            ),
            created=begin.strftime("%Y-%m-%dT%H:%M:%S.") + f"{begin.microsecond // 1000:03d}Z",
            command=Command("block", ""),
            name=self._redactor.mask_text(str(attributes[_NAME])) if attributes.get(_NAME) else None,
            autochron=self._version,
        )
        sentences = [f"{', '.join(places)}: {what}" for what, places in lacks.items()]
        return Imported(Trace(header, tuple(envelopes), Footer()), path, tuple(sentences))

    def _envelope(
        self, span: _Span, name: str, nth: int, numbers: Mapping[str, int], begin: datetime
    ) -> Envelope:
        outcome, opaque = _outcome(span)
        body = outcome.error if isinstance(outcome, Raised) else getattr(outcome, "value", b"null")
        masked, paths = self._redactor.mask_outcome(body)
        arguments = span.input.arguments
        return Envelope(
            seq=numbers[span.envelope_id],
            name=name,
            nth=nth,
            kind=KINDS.get(span.kind, "tool"),
            lane="0",
            parent=numbers.get(span.parent_envelope_id or ""),
            site=self._sites.get(span.name, UNKNOWN),
            input=self._redactor.mask(
                canonical(list(arguments), list(arguments.values()), form=InputForm.UNTYPED)
            ),
            outcome=Raised(masked) if isinstance(outcome, Raised) else Returned(masked),
            meta=self._redactor.mask(_meta(span)),
            started=_nanoseconds(span.begun, begin),
            duration=_nanoseconds(span.ended, span.begun),
            masked=paths,
            opaque=opaque,
        )


def _in_order(path: str, spans: Sequence[_Span]) -> list[_Span]:
    """Return envelopes in order of start: Chronicle numbers them in order of end, so a parent comes after its children."""
    by_id = {span.envelope_id: span for span in spans}
    if len(by_id) != len(spans):
        raise AdoptionError(f"{path} has two envelopes of one `envelope_id`; export it again")
    children: dict[str | None, list[_Span]] = {}
    for span in spans:
        parent = span.parent_envelope_id if span.parent_envelope_id in by_id else None
        children.setdefault(parent, []).append(span)
    for group in children.values():
        group.sort(key=lambda span: (span.begun, span.sequence))
    ordered: list[_Span] = []
    stack = children.get(None, [])[::-1]
    while stack:
        span = stack.pop()
        ordered.append(span)
        stack.extend(children.get(span.envelope_id, [])[::-1])
    if len(ordered) != len(spans):
        raise AdoptionError(f"{path} has envelopes that are parents of each other; export it again")
    return ordered


def _nanoseconds(end: datetime, start: datetime) -> int:
    return max(0, round((end - start).total_seconds() * 1e6)) * 1000


def _meta(span: _Span) -> bytes:
    """Return the facts about a model call, as far as a fixture has them."""
    facts: dict[str, Any] = {}
    if model := span.attributes.get(_MODEL):
        facts["model"] = model
    sampling = {
        key.removeprefix(_SAMPLING): value
        for key, value in span.attributes.items()
        if key.startswith(_SAMPLING) and key != _MODEL
    }
    if sampling:
        facts["sampling"] = sampling
    llm = span.output.llm
    if llm is not None and llm.usage:
        facts["usage"] = {key: value for key, value in llm.usage.items() if value is not None}
    if llm is not None and llm.tool_calls:
        facts["tools"] = [call.name for call in llm.tool_calls]
    return msgspec.json.encode(facts)


# --- outcomes ---------------------------------------------------------------------------------------------------------

_RESULT = "the result is not kept: of a model's call there are text, tool calls, finish reason and usage only"
_RESPONSE = "the type of the response is not kept, only its fields"
_TEXT = "the type of the result is not kept: what is no dictionary, number or None has become a text"
_EXCEPTION = "the exception is not kept, only the name of its type and its message"
_TYPES = (
    "types that JSON doesn't have are not kept: in a dictionary a tuple has become a list, and a date a text"
)
_PLACE = "the definition is not kept, and not exactly one rule has this name; a replay wants --allow-unwoven"


def _lacks(span: _Span, envelope: Envelope) -> Iterator[str]:
    """Yield what a fixture lacks of one crossing."""
    if envelope.site == UNKNOWN:
        yield _PLACE
    if envelope.opaque:
        yield _reason(span)
    elif isinstance(span.output.value, dict):
        yield _TYPES


def _reason(span: _Span) -> str:
    if span.status.code == "ERROR":
        return _EXCEPTION
    if KINDS.get(span.kind) == "model":
        return _RESPONSE if isinstance(span.output.value, dict) else _RESULT
    return _TEXT


def _outcome(span: _Span) -> tuple[Outcome, tuple[str, ...]]:
    """Return the outcome of a crossing, and the paths in it that are opaque."""
    value = span.output.value
    if span.status.code == "ERROR":
        label = str(span.attributes.get("error.type") or "exception")
        return Raised(_opaque(label, f"{_EXCEPTION}: {span.status.message}")), (f"(value): {label}",)
    if value is UNSET:
        value = None
    kind = KINDS.get(span.kind, "tool")
    if kind == "router" and isinstance(value, dict) and value.keys() == {"decision"}:
        return Returned(codec.encode(value["decision"]).body), ()
    llm = span.output.llm
    if kind == "model" and llm is not None:
        shown = msgspec.json.encode(llm if value is None else value).decode()
        label = "dict" if value is None else "response"
        return Returned(_opaque(label, f"{_reason(span)}: {shown}")), (f"(value): {label}",)
    if isinstance(value, str) and not _is_text(span):
        return Returned(_opaque("text", f"{_TEXT}: {value}")), ("(value): text",)
    return Returned(codec.encode(value).body), ()


def _is_text(span: _Span) -> bool:
    """Return whether the annotation of the function says that it returns a text."""
    try:
        schema = msgspec.json.decode(str(span.attributes.get(_RESULT_TYPE) or "{}"))
    except msgspec.DecodeError:
        return False
    return isinstance(schema, dict) and schema.get("type") == "string"


def _opaque(label: str, reason: str) -> bytes:
    """Return the stored form of a value that can't be rebuilt."""
    return msgspec.json.encode({"$opaque": label, "reason": reason})
