"""Drafts: what the recorder notes of crossings, and how the writer makes envelopes of them.

What costs time and can wait is done here, off the program's threads: bodies are decoded and stored, everything is masked,
and what the model was asked for is read off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Raw, Struct
from msgspec.json import decode, encode

from autochron.envelope import bodies, codec
from autochron.envelope.canonical import screened_snapshot
from autochron.envelope.tags import has_tag, opaque_paths
from autochron.envelope.type_trees import split, tells_state, unread_paths
from autochron.http import exchange
from autochron.http.exchange import Wire
from autochron.inputs import comparable_pair, request_body, request_input, shaped_input
from autochron.model import (
    Abandoned,
    BoundaryRule,
    Closed,
    Envelope,
    Exchange,
    MetaPaths,
    Outcome,
    Raised,
    Returned,
    Streamed,
)
from autochron.recording.changes import STILL, kind_at
from autochron.recording.requested_tools import Asking, Call
from autochron.recording.versions import version_of
from autochron.redaction.json_paths import drop_paths, read_steps, redact_paths
from autochron.redaction.redactor import Redactor
from autochron.rules.paths import Step, parse_path

if TYPE_CHECKING:
    from autochron.crossing.kernel import Crossing
    from autochron.inputs import Inputs
    from autochron.recording.changes import Watch
    from autochron.redaction.joined import StreamMasker
    from autochron.redaction.mask_key import MaskKey
    from autochron.weaving.gate import Point

IN_INPUT = "(input)."
"""Before the paths in an envelope's `opaque` that are in its input: compared by type only."""
_MAX_BY_TYPE = 20
_MOST_LOOKED = 1 << 24
"""Bytes of attributes that are compared between the items of one object; of longer ones only the end counts."""


class Draft(Struct, eq=False):
    """What the recorder notes of a crossing, in its `record`.

    The crossing with its draft is what waits for the writer, who reads what no one changes any more, or a copy. It may be
    handed over several times, as a stream is when it begins (`Begun`) and when it ends.

    Attributes:
        started, ended: nanoseconds of `perf_counter_ns`.
        arguments: as bound; let go of at the end.
        inputs: how the input is read.
        input: the canonical input; None while the requests beneath are to say it.
        watch: what tells of changes in the arguments; None where nothing can change.
        opaque: parts that can't be rebuilt, by path; replaced and never changed, since the writer may be reading it.
        streamed: whether items were handed out.
        outcome: of a call; None while it is open.
        end: of a stream.
        given: the argument that is the outcome, as it was when the call began.
        changed: arguments that were changed in place, as they are at the end.
        wires: requests and responses beneath.
        prints: what was printed inside, in pieces.
        are_mixed: whether what others printed stands between them.
        items: how many items were handed out.
        states: attributes of the object that was handed out, as they changed, by the number of items before.
        shown: all of its attributes, as they were when it was looked at last.
        looked: how many bytes were compared for that.
        after: crossings of other lanes that had to begin before it: it was started by them, or waited for them.
        sends: what was sent or thrown in, by the number of items before it.
        steps: arguments that were changed in place before an item, by the number of items before it.
        aliases: where in the outcome an argument stands, and which.
        waiting: how often it was handed over and is still to be written.
        taken: how much of standard input was taken inside, and by what.
        is_attended: whether there is more to be done at its end than to note the outcome.
        undo: ends what listens to a stream that stood in the place of standard output.
        position: how much had been written to standard output's descriptor when it began; -1 where that is not known.
    """

    started: int
    arguments: tuple[Any, ...]
    ended: int = 0
    inputs: Inputs | None = None
    input: bytes | None = None
    watch: Watch | None = None
    opaque: dict[str, None] | None = None
    streamed: bool = False
    outcome: Returned | Raised | None = None
    end: Returned | Raised | Abandoned | Closed | None = None
    given: Returned | None = None
    changed: bytes | None = None
    wires: list[Wire] | None = None
    prints: list[Print] | None = None
    are_mixed: bool = False
    items: int = 0
    steps: dict[int, bytes] | None = None
    states: dict[str, dict[str, bytes]] | None = None
    shown: dict[str, _Attribute] | None = None
    looked: int = 0
    sends: dict[int, bytes] | None = None
    after: tuple[int, ...] = ()
    position: int = -1
    taken: list[tuple[str, int]] | None = None
    undo: Callable[[], None] | None = None
    is_attended: bool = False
    waiting: int = 0
    aliases: list[tuple[list[str | int], str]] | None = None

    def add_opaque(self, entries: Iterable[str]) -> None:
        """Note parts that can't be rebuilt."""
        self.opaque = {**(self.opaque or {}), **dict.fromkeys(entries)}

    def handed_out(self) -> None:
        """Note that an item was handed out, and what was changed before it."""
        changed = None if self.watch is None else self.watch.changes_meanwhile()
        if changed is not None:
            if self.steps is None:
                self.steps = {}
            if changed != next(reversed(self.steps.values()), None):
                self.steps[self.items] = changed
        self.items += 1

    def look(self, at: str, attributes: dict[str, Any]) -> None:
        """Note the attributes of the object that was handed out, where they are others than before."""
        if self.shown is None:
            self.shown = {}
        changed = {}
        for key, value in attributes.items():
            before = self.shown.get(key)
            is_still = kind_at(type(value)) == STILL
            if self.looked > _MOST_LOOKED and at != "end" and before is not None and not is_still:
                continue
            now = self.shown[key] = _Attribute.of(value, before, is_still=is_still)
            self.looked += len(now.look)
            if before is None or now.body != before.body:
                changed[key] = now.body
        if changed:
            if self.states is None:
                self.states = {}
            self.states[at] = {**self.states.get(at, {}), **changed}

    def send(self, sent: bytes) -> None:
        """Note what was sent or thrown in."""
        if self.sends is None:
            self.sends = {}
        self.sends[self.items] = sent

    @property
    def size(self) -> int:
        """How many bytes its input, its outcome and the exchanges beneath have."""
        outcome = self.outcome
        value = outcome.value if type(outcome) is Returned else None
        size = len(self.input or b"") + len(value or b"")
        return size if self.wires is None else size + sum([wire.size for wire in self.wires])

    def let_go(self) -> None:
        """Let go of the program's objects: it may be long until the writer gets here."""
        self.arguments = ()
        self.watch = None
        self.shown = None

    def let_go_of_bodies(self) -> None:
        """Let go of the bodies of its exchanges, once they are written: the program may keep its responses for ever."""
        for wire in self.wires or ():
            wire.let_go()

    @property
    def left_to_exchanges(self) -> bool:
        """Whether the exchanges beneath say all that there is to say."""
        return self.inputs is not None and self.inputs.deferred and bool(self.wires)


class _Attribute(NamedTuple):
    """An attribute of an object that was handed out: its value if that can't change, how it looked, and how it is written."""

    value: Any
    kind: type
    look: bytes
    body: bytes

    @classmethod
    def of(cls, value: Any, before: _Attribute | None, *, is_still: bool) -> _Attribute:
        """Look at an attribute again: it is written only where it looks like another one."""
        look = b"" if is_still else screened_snapshot(value)
        is_alike = before is not None and type(value) is before.kind and look == before.look
        if before is not None and is_alike and (not is_still or value is before.value):
            return before
        return cls(value if is_still else None, type(value), look, codec.encode(value).body)


class Print(NamedTuple):
    """What was printed at once inside a crossing.

    Attributes:
        items: how many items it had handed out.
        text: what was printed.
        number: the place of the print in the run.
        latest: the `seq` of the crossing that began last before it.
        is_written: whether `os.write` wrote it, past Python's stream.
    """

    items: int
    text: str
    number: int
    latest: int
    is_written: bool = False


class Begun:
    """A stream that has begun, on its way into a store: whatever it has come to when the writer gets here, items follow."""

    __slots__ = ("crossing",)

    def __init__(self, crossing: Crossing) -> None:
        self.crossing = crossing


class Item:
    """One item of a stream on its way into a store."""

    __slots__ = ("body", "rule", "seq")

    def __init__(self, seq: int, rule: BoundaryRule, body: bytes) -> None:
        self.seq = seq
        self.rule = rule
        self.body = body


def _no_key() -> MaskKey | None:
    return None


def _is_inside_a_model(crossing: Crossing) -> bool:
    """Return whether a crossing began inside of a model's, or of one of another process, which may be a model's."""
    above = crossing.parent
    while above is not None:
        rule = getattr(above, "rule", None)
        if rule is None or rule.kind == "model":
            return True
        above = above.parent
    return False


class Editor:
    """Makes envelopes of drafts, one trace at a time; used on the writer's thread only."""

    def __init__(
        self,
        redactor: Redactor,
        site: Callable[[Point], str],
        began: int,
        mask_key: Callable[[], MaskKey | None] = _no_key,
    ) -> None:
        self._redactor = redactor
        self._mask_key = mask_key
        self._site = site
        self._began = began
        self.asking = Asking()
        self._masked_items: dict[int, dict[str, None]] = {}
        self.streams: dict[int, StreamMasker] = {}

    def item(self, item: Item) -> list[bytes]:
        """Mask one item of a stream, and return those that can be written; its envelope tells what was masked."""
        body, paths = self._mask(item.body, item.rule)
        found = tuple(_below("items.*", paths))
        if found:
            self._masked_items.setdefault(item.seq, {}).update(dict.fromkeys(found))
        stream = self.streams.get(item.seq)
        if stream is None:
            stream = self.streams[item.seq] = self._redactor.begin_stream()
        return stream.push(body)

    def rest(self, seq: int) -> list[bytes]:
        """Return the items of a stream that were held back until it was known what comes next: it has ended."""
        stream = self.streams.pop(seq, None)
        return [] if stream is None else self._flushed(seq, stream)

    def rests(self) -> dict[int, list[bytes]]:
        """Return the items that are held back, by the stream: the run may end here."""
        return {seq: found for seq, stream in self.streams.items() if (found := self._flushed(seq, stream))}

    def _flushed(self, seq: int, stream: StreamMasker) -> list[bytes]:
        found = stream.flush()
        if stream.has_masked:
            self._masked_items.setdefault(seq, {})["items.*"] = None
        return found

    def envelope(self, crossing: Crossing, *, begun: bool = False) -> Envelope:
        """Make the envelope of a crossing; with `begun`, of a stream that is to be put again when it ends."""
        draft: Draft = crossing.record
        rule = crossing.rule
        wires = tuple(draft.wires or ())  # once: the program may be sending more
        exchanges = tuple(self._exchange(index, wire) for index, wire in enumerate(wires))
        reenters = draft.left_to_exchanges and bool(wires)
        masked_paths: list[str] = []
        outcome = Streamed((), Abandoned()) if begun else self._outcome(draft, rule, masked_paths)
        from_wire = (
            draft.input is None or reenters
        )  # also of a stream that handed out items before it sent a request
        raw, body = self._input(crossing, wires if from_wire else None)
        request = request_body(body, wires[0]) if from_wire and wires else None
        parent = None if crossing.parent is None else crossing.parent.seq
        site = self._site(crossing.point)
        names = (crossing.name, site.rpartition(":")[2].rpartition(".")[2])
        # What runs on a replay answers nothing: a tool that is called in it would be called for real.
        answers = (names, rule.kind) if not crossing.boundary.runs else (("", ""), "")
        if not self.asking.may_be_asked:
            # What a stream asks for may be answered before it ends.
            self.asking.may_be_asked = (begun and rule.kind == "model") or _is_inside_a_model(crossing)
        if self.asking.may_be_asked:
            self.asking.cross(
                crossing.seq,
                *answers,
                parent,
                body,
                rule.pack or rule.id,
                in_model=_is_inside_a_model(crossing),
                is_again=draft.streamed and not begun,
            )
        masked_paths += self._masked_items.get(crossing.seq, ())
        changed = None
        if draft.changed is not None and not begun:
            changed, paths = self._mask(draft.changed, rule)
            masked_paths += _below("changed", paths)
        meta = (
            self._meta(crossing.seq, rule.meta, body, outcome, exchanges, request, is_open=begun)
            if rule.kind == "model"
            else b"{}"
        )
        if crossing.point.passer is not None:
            meta = encode({**decode(meta), "passed": self._site(crossing.point.passer)})
        if raw is not body and (digests := self._digests(raw, body, rule, from_wire=from_wire)):
            meta = encode({**decode(meta), "masked": digests})
        if draft.after:
            meta = encode({**decode(meta), "after": draft.after})
        if not reenters and (more := self._beside(crossing, draft, rule)):
            meta = encode({**decode(meta), **more})
        return Envelope(
            seq=crossing.seq,
            name=crossing.name,
            nth=crossing.nth,
            kind=rule.kind,
            lane=crossing.root.lane,
            parent=parent,
            site=site,
            input=body,
            outcome=outcome,
            form=crossing.form,
            exchanges=tuple(each for each, _ in exchanges),
            reenters=reenters,
            changed=changed,
            meta=meta,
            started=draft.started - self._began,
            duration=draft.ended - draft.started,
            masked=tuple(masked_paths) + tuple(path for _, paths in exchanges for path in paths),
            opaque=(self._redactor.mask_texts(tuple(draft.opaque)) if draft.opaque else ())
            + (() if from_wire else by_type(body, rule.volatile)),
        )

    def _beside(self, crossing: Crossing, draft: Draft, rule: BoundaryRule) -> dict[str, Any]:
        """Return what a replay needs beside the outcome: facts about the result, prints, and changes between items."""
        found: dict[str, Any] = {}
        if crossing.handed is not None:
            found["handed"] = {**crossing.handed}
        if draft.states is not None:
            found["handed"]["states"] = {
                at: {key: Raw(self._mask(body, rule)[0]) for key, body in state.items()}
                for at, state in draft.states.copy().items()  # the program may be adding more
            }
        if draft.prints and not draft.streamed:
            found["printed"] = self._redactor.mask_text("".join(each.text for each in draft.prints))
            if draft.are_mixed or any(each.is_written for each in draft.prints):
                found["prints"] = [
                    (each.number, each.latest, self._redactor.mask_text(each.text), each.is_written)
                    for each in draft.prints
                ]
        found |= {
            name: value for name, value in (("aliases", draft.aliases), ("taken", draft.taken)) if value
        }
        steps: dict[int, dict[str, Any]] = {}
        if draft.streamed and draft.prints:
            for each in draft.prints:
                step = steps.setdefault(each.items, {})
                step["printed"] = step.get("printed", "") + each.text
            for step in steps.values():
                step["printed"] = self._redactor.mask_text(step["printed"])
        for at, changed in (draft.steps or {}).copy().items():
            steps.setdefault(at, {})["changed"] = Raw(self._mask(changed, rule)[0])
        if steps:
            found["steps"] = steps
        if draft.sends:
            found["sent"] = {at: Raw(self._mask(sent, rule)[0]) for at, sent in draft.sends.copy().items()}
        return found

    def _digests(
        self, raw: bytes, masked: bytes, rule: BoundaryRule, *, from_wire: bool
    ) -> dict[str, Any] | None:
        """Return the digests of what is masked in an input, and by which key."""
        if raw == masked:
            return None
        key = self._mask_key()
        found = None if key is None else key.digests(*comparable_pair(raw, masked, rule, from_wire=from_wire))
        return {"key": key.id, "digests": found} if key is not None and found else None

    def _input(self, crossing: Crossing, wires: tuple[Wire, ...] | None) -> tuple[bytes, bytes]:
        """Return the input as it is, and as it is kept: of the first request; with None as it was noted."""
        raw = crossing.record.input if wires is None else request_input(wires[0]) if wires else b"{}"
        masked = self._redactor.mask_input((crossing.name, crossing.root.lane), raw)
        return raw, shaped_input(masked, crossing.rule, from_wire=wires is not None)

    def _outcome(self, draft: Draft, rule: BoundaryRule, masked_paths: list[str]) -> Outcome:
        if draft.streamed:
            return Streamed((), self._masked(draft.end or Abandoned(), rule, masked_paths))
        assert draft.outcome is not None  # noqa: S101 - a draft that is no stream has one
        masked: Any = self._masked(draft.outcome, rule, masked_paths)
        return masked  # type: ignore[no-any-return]

    def _masked(self, outcome: Any, rule: BoundaryRule, masked_paths: list[str]) -> Any:
        if isinstance(outcome, Returned) and outcome.argument is None:
            body, paths = self._mask(outcome.value, rule)
            masked_paths += paths
            return Returned(body)
        if isinstance(outcome, Raised):
            body, paths = self._redactor.mask_outcome(outcome.error)
            masked_paths += paths
            return Raised(body)
        return outcome

    def _mask(self, body: bytes, rule: BoundaryRule) -> tuple[bytes, tuple[str, ...]]:
        """Mask what a replay will serve; give it, and the paths that were masked."""
        masked, paths = self._redactor.mask_outcome(body)
        redacted = _with_paths(masked, rule)
        return redacted, paths if redacted == masked else tuple(dict.fromkeys((*paths, *rule.redact)))

    def _exchange(self, index: int, wire: Wire) -> tuple[Exchange, tuple[str, ...]]:
        made = exchange.stored_exchange(wire, with_request=index > 0)
        body, paths = self._redactor.mask_outcome(made.body)
        return (
            Exchange(
                method=made.method,
                url=self._redactor.mask_url(made.url),
                request=self._redactor.mask_outcome(made.request)[0],
                status=made.status,
                headers=tuple(self._redactor.mask_headers(made.headers)),
                body=body,
                error=None if made.error is None else self._redactor.mask_outcome(made.error)[0],
                attempts=made.attempts,
                complete=made.complete,
            ),
            tuple(paths),
        )

    def _meta(
        self,
        seq: int,
        paths: MetaPaths,
        body: bytes,
        outcome: Outcome,
        exchanges: tuple[tuple[Exchange, tuple[str, ...]], ...],
        request: bytes | None,
        *,
        is_open: bool,
    ) -> bytes:
        meta = _Meta(paths, body, outcome, exchanges[-1][0] if exchanges else None, request)
        found = meta.read()
        self.asking.ask(seq, meta.calls(), is_open=is_open)
        return encode(found)


_ARGUMENTS = ("arguments", "input", "args")
"""What a call's arguments are held by, beside its name."""


class _Meta:
    """Reads a model crossing's facts off what was recorded."""

    def __init__(
        self,
        paths: MetaPaths,
        body: bytes,
        outcome: Outcome,
        last: Exchange | None,
        request: bytes | None = None,
    ) -> None:
        self._paths = paths
        self._body = request
        self._sources: dict[str, Any] = {}
        self._request: dict[str, Raw] | None = None
        self._raw: dict[str, bytes] = {"input": body}
        if last is not None:
            self._raw["response"] = last.body
            self._sources["path"] = {str(place): part for place, part in enumerate(_parts_of(last.url))}
        if isinstance(outcome, Returned):
            self._raw["outcome"] = outcome.value

    def read(self) -> dict[str, Any]:
        paths = self._paths
        found: dict[str, Any] = {}
        if model := self._first(paths.model):
            found["model"] = model
        sampling = {
            path.rpartition(".")[2]: value for path in paths.sampling for value in self._all(path)[:1]
        }
        if sampling:
            found["sampling"] = sampling
        if usage := self._merged(paths.usage):
            found["usage"] = usage
        tools = [name for path in paths.tools for name in self._all(path) if isinstance(name, str) and name]
        if tools:
            found["tools"] = tools
        if paths.sdk is not None and (version := version_of(paths.sdk)):
            found["sdk"] = f"{paths.sdk} {version}"
        return found

    def calls(self) -> tuple[Call, ...]:
        """Return the calls that the model asked for, with their arguments where these stand beside the names."""
        found: list[Call] = []
        for path in self._paths.tools:
            names = [name for name in self._all(path) if isinstance(name, str) and name]
            above, _, key = path.rpartition(".")
            holders = self._all(above) if names and "." in above else []
            calls = [
                Call(name, next((holder[each] for each in _ARGUMENTS if each in holder), None))
                for holder in holders
                if isinstance(holder, dict) and isinstance(name := holder.get(key), str) and name
            ]
            found += calls if len(calls) == len(names) else map(Call, names)
        return tuple(found)

    def _first(self, paths: tuple[str, ...]) -> Any:
        return next((value for path in paths for value in self._all(path)), None)

    def _merged(self, paths: tuple[str, ...]) -> Any:
        """Return what stands last at each path, in one: a stream may tell its usage in parts, at the paths named later."""
        at = {
            path: values[-1]
            for path in paths
            if (values := [each for each in self._all(path) if each is not None])
        }
        found = list(at.values())
        if not all(isinstance(each, dict) for each in found):
            # Counts that stand by themselves, each under a name of its own.
            return {path.rpartition(".")[2]: each for path, each in at.items()} if len(at) > 1 else found[0]
        merged: dict[str, Any] = {}
        for each in reversed(found):
            merged |= {key: value for key, value in each.items() if value is not None or key not in merged}
        return merged

    def _all(self, path: str) -> list[Any]:
        steps = parse_path(path)
        source, field = steps[:2]
        if source.key == "request" and field.key != "*" and not source.filters:
            return self._in_request(steps[1:])
        if source.key not in self._sources:
            self._sources[source.key] = self._read(source.key)
        held = self._sources[source.key]
        if held is None or (
            type(held) is dict and field.key not in held and field.key != "*" and not source.filters
        ):
            return []  # most paths of a pack are for another API, or for streams
        return read_steps(self._sources, steps)

    def _read(self, source: str) -> Any:
        raw = self._body_of_request() if source == "request" else self._raw.get(source)
        if raw is None:
            return None
        return bodies.read_body(bytes(raw)) if source == "response" else decode(raw)

    def _in_request(self, steps: Sequence[Step]) -> list[Any]:
        """Read a request's field without making objects of its messages, which grow with the conversation."""
        if self._request is None:
            self._request = _fields(self._body_of_request())
        first = steps[0].key
        raw = self._request.get(first)
        return [] if raw is None else read_steps({first: decode(raw)}, steps)

    def _body_of_request(self) -> bytes | Raw | None:
        return _fields(self._raw["input"]).get("body") if self._body is None else self._body


def _parts_of(url: str) -> list[str]:
    """Return the parts of a URL's path."""
    path = exchange.path_of(url).partition("?")[0].strip("/")
    if "%" not in path:
        return path.split("/")
    from urllib.parse import unquote  # lazy: most paths have nothing quoted

    return [unquote(part) for part in path.split("/")]


def _fields(body: bytes | Raw | None) -> dict[str, Raw]:
    """Return the fields of a JSON object, each as it is written; none of what is no object."""
    if body is None:
        return {}
    try:
        return decode(body, type=dict[str, Raw])
    except ValueError:
        return {}


def _below(prefix: str, paths: Iterable[str]) -> list[str]:
    return [f"{prefix}.{path}" if path else prefix for path in paths]


def by_type(body: bytes, volatile: tuple[str, ...] = ()) -> tuple[str, ...]:
    """List what of an input is compared by its type only; members of a list once, however many there are."""
    if not has_tag(body, b'$opaque"') and not has_tag(body, b'$unread"'):
        return ()
    if volatile:
        body = drop_paths(body, volatile)
    tree, types = split(decode(body))
    opaque = [(path, kind) for path, kind, _ in opaque_paths(tree) if not tells_state(types, path)]
    found = dict.fromkeys(
        f"{IN_INPUT}{'.'.join('*' if part.isdigit() else part for part in path.split('.'))}: {kind}"
        for path, kind in [*opaque, *unread_paths(types)]
    )
    return tuple(found)[:_MAX_BY_TYPE]


def _with_paths(body: bytes, rule: BoundaryRule) -> bytes:
    return redact_paths(body, rule.redact) if rule.redact else body
