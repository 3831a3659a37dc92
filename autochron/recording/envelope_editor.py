"""How the writer makes envelopes of drafts, off the program's threads.

Bodies are decoded and stored, everything is masked, and what the model was asked for is read off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Raw
from msgspec.json import decode, encode

from autochron.envelope.tags import has_tag, opaque_paths
from autochron.envelope.type_trees import split, tells_state, unread_paths
from autochron.http import exchange
from autochron.http.exchange import Wire
from autochron.inputs import comparable_pair, request_body, request_input, shaped_input
from autochron.model import (
    Abandoned,
    BoundaryRule,
    Envelope,
    Exchange,
    MetaPaths,
    Outcome,
    Raised,
    Returned,
    Streamed,
)
from autochron.recording.requested_tools import RequestedTools
from autochron.redaction.json_paths import drop_paths, redact_paths
from autochron.redaction.redactor import Redactor

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.redaction.joined import StreamMasker
    from autochron.redaction.mask_key import MaskKey
    from autochron.weaving.gate import Point

from autochron.recording.call_facts import CallFacts
from autochron.recording.drafts import Draft, Item

IN_INPUT = "(input)."
"""Before the paths in an envelope's `opaque` that are in its input: compared by type only."""
_MAX_BY_TYPE = 20


def _no_key() -> MaskKey | None:
    return None


def _is_inside_a_model(crossing: Crossing[Draft]) -> bool:
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
        self.asking = RequestedTools()
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

    def envelope(self, crossing: Crossing[Draft], *, begun: bool = False) -> Envelope:
        """Make the envelope of a crossing; with `begun`, of a stream that is to be put again when it ends."""
        draft = crossing.record
        assert draft is not None  # noqa: S101 - what is written has one
        rule = crossing.rule
        wires = tuple(draft.wires or ())  # once: the program may be sending more
        exchanges = tuple(self._exchange(index, wire) for index, wire in enumerate(wires))
        reenters = draft.left_to_exchanges and bool(wires)
        masked_paths: list[str] = []
        outcome = Streamed((), Abandoned()) if begun else self._outcome(draft, rule, masked_paths)
        # Also of a stream that handed out items before it sent a request.
        from_wire = draft.input is None or reenters
        raw, body = self._input(crossing, draft, wires if from_wire else None)
        request = request_body(body, wires[0]) if from_wire and wires else None
        parent = None if crossing.parent is None else crossing.parent.seq
        site = self._site(crossing.point)
        self._match_request(crossing, draft, site, body, begun=begun)
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
        more = self._more_meta(crossing, draft, raw, body, from_wire=from_wire)
        if not reenters:
            more |= self._beside(crossing, draft, rule)
        if more:
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

    def _match_request(
        self, crossing: Crossing[Draft], draft: Draft, site: str, body: bytes, *, begun: bool
    ) -> None:
        """Look whether a crossing answers a request of a model's, where one may have been made."""
        rule, asking = crossing.rule, self.asking
        if not asking.may_be_asked:
            # What a stream asks for may be answered before it ends.
            asking.may_be_asked = (begun and rule.kind == "model") or _is_inside_a_model(crossing)
        if not asking.may_be_asked:
            return
        names = (crossing.name, site.rpartition(":")[2].rpartition(".")[2])
        # What runs on a replay answers nothing: a tool that is called in it would be called for real.
        answers = (names, rule.kind) if not crossing.boundary.runs else (("", ""), "")
        asking.cross(
            crossing.seq,
            *answers,
            None if crossing.parent is None else crossing.parent.seq,
            body,
            rule.pack or rule.id,
            in_model=_is_inside_a_model(crossing),
            is_again=draft.streamed and not begun,
        )

    def _more_meta(
        self, crossing: Crossing[Draft], draft: Draft, raw: bytes, body: bytes, *, from_wire: bool
    ) -> dict[str, Any]:
        """Return what the meta of any kind of crossing may have: who passed it, what is masked, what it came after."""
        found: dict[str, Any] = {}
        if crossing.point.passer is not None:
            found["passed"] = self._site(crossing.point.passer)
        if raw is not body and (digests := self._digests(raw, body, crossing.rule, from_wire=from_wire)):
            found["masked"] = digests
        if draft.after:
            found["after"] = draft.after
        return found

    def _beside(self, crossing: Crossing[Draft], draft: Draft, rule: BoundaryRule) -> dict[str, Any]:
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

    def _input(
        self, crossing: Crossing[Draft], draft: Draft, wires: tuple[Wire, ...] | None
    ) -> tuple[bytes, bytes]:
        """Return the input as it is, and as it is kept: of the first request; with None as it was noted."""
        raw = draft.input if wires is None else request_input(wires[0]) if wires else b"{}"
        assert raw is not None  # noqa: S101 - what is not left to the requests was noted
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
        meta = CallFacts(paths, body, outcome, exchanges[-1][0] if exchanges else None, request)
        found = meta.read()
        self.asking.ask(seq, meta.calls(), is_open=is_open)
        return encode(found)


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
