"""The editor: makes envelopes of drafts on the writer's thread.

It masks every body, reads the facts of model calls, and matches the tool calls that models asked for with crossings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

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
from autochron.recording.call_facts import CallFacts
from autochron.recording.drafts import Draft, Item
from autochron.recording.found_tools import FoundTools
from autochron.recording.item_facts import ItemFacts
from autochron.recording.requested_tools import RequestedTools
from autochron.redaction.json_paths import drop_paths, redact_paths
from autochron.redaction.redactor import Redactor

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.redaction.joined import StreamMasker
    from autochron.redaction.mask_key import MaskKey
    from autochron.weaving.gate import Point

IN_INPUT = "(input)."
"""Prefix of those paths in an envelope's `opaque` that are in its input. These parts are compared by type only."""
_MAX_BY_TYPE = 20
"""Paths of one input that are listed at most."""


def _no_key() -> MaskKey | None:
    return None


def _is_inside_a_model(crossing: Crossing[Draft]) -> bool:
    """Return whether a crossing began inside a model crossing, or inside one of another process, whose kind is unknown."""
    ancestor = crossing.parent
    while ancestor is not None:
        rule = getattr(ancestor, "rule", None)
        if rule is None or rule.kind == "model":
            return True
        ancestor = ancestor.parent
    return False


class _EditedInput(NamedTuple):
    """The input of a crossing.

    Attributes:
        raw: the input as it was recorded.
        body: the input as it is stored: masked, and shaped by the rule.
        from_wire: whether it is the first request beneath the crossing, and not the arguments.
        request: the body of that request, masked; None if there is none.
    """

    raw: bytes
    body: bytes
    from_wire: bool
    request: bytes | None


class Editor:
    """Makes the envelopes of one trace; used on the writer's thread only."""

    def __init__(
        self,
        redactor: Redactor,
        site: Callable[[Point], str],
        began: int,
        mask_key: Callable[[], MaskKey | None] = _no_key,
    ) -> None:
        """Make one.

        Args:
            redactor: masks the bodies.
            site: returns the site of a woven point, as envelopes name it.
            began: when the trace began, in nanoseconds of `perf_counter_ns`.
            mask_key: returns the key for digests of masked values; None if there is no key.
        """
        self._redactor = redactor
        self._mask_key = mask_key
        self._site = site
        self._began = began
        self.requested_tools = RequestedTools()
        self.found_tools = FoundTools()
        self._masked_items: dict[int, dict[str, None]] = {}
        self.streams: dict[int, StreamMasker] = {}
        self._item_facts: dict[int, ItemFacts] = {}

    def item(self, item: Item) -> list[bytes]:
        """Mask one item of a stream; return the items that can be written now.

        An item may be held back, because a secret may go on in the next one. The stream's envelope lists the masked paths.
        """
        body, paths = self._mask(item.body, item.rule)
        masked_paths = tuple(_below("items.*", paths))
        if masked_paths:
            self._masked_items.setdefault(item.seq, {}).update(dict.fromkeys(masked_paths))
        if ItemFacts.are_told(item.rule.meta):
            self._item_facts.setdefault(item.seq, ItemFacts(item.rule.meta)).note(body)
        stream = self.streams.get(item.seq)
        if stream is None:
            stream = self.streams[item.seq] = self._redactor.begin_stream()
        return stream.push(body)

    def rest(self, seq: int) -> list[bytes]:
        """Return the items that were held back of a stream that has ended."""
        stream = self.streams.pop(seq, None)
        return [] if stream is None else self._flushed(seq, stream)

    def rests(self) -> dict[int, list[bytes]]:
        """Return the items that are held back, by the `seq` of their stream: the run may end here."""
        return {seq: items for seq, stream in self.streams.items() if (items := self._flushed(seq, stream))}

    def _flushed(self, seq: int, stream: StreamMasker) -> list[bytes]:
        items = stream.flush()
        if stream.has_masked:
            self._masked_items.setdefault(seq, {})["items.*"] = None
        return items

    def envelope(self, crossing: Crossing[Draft], *, begun: bool = False) -> Envelope:
        """Make the envelope of a crossing.

        Args:
            crossing: one whose `record` is its draft.
            begun: make the envelope of a stream that has only begun; another one replaces it when the stream ends.
        """
        draft = crossing.record
        assert draft is not None  # noqa: S101 - a crossing that is written has one
        rule = crossing.rule
        wires = tuple(draft.wires or ())  # a copy: the program may be sending more
        exchanges = tuple(self._exchange(index, wire) for index, wire in enumerate(wires))
        reenters = draft.left_to_exchanges and bool(wires)
        masked_paths: list[str] = []
        outcome = Streamed((), Abandoned()) if begun else self._outcome(draft, rule, masked_paths)
        edited = self._input(crossing, draft, wires, reenters=reenters)
        site = self._site(crossing.point)
        self._match_request(crossing, draft, site, edited.body, begun=begun)
        if rule.is_found:
            self.found_tools.note_crossing(rule, is_confirmed=draft.is_confirmed)
        masked_paths += self._masked_items.get(crossing.seq, ())
        changed = None
        if draft.changed is not None and not begun:
            changed, paths = self._mask(draft.changed, rule)
            masked_paths += _below("changed", paths)
        masked_paths += [path for _, paths in exchanges for path in paths]
        last = exchanges[-1][0] if exchanges else None
        return Envelope(
            seq=crossing.seq,
            name=crossing.name,
            nth=crossing.nth,
            kind=rule.kind,
            lane=crossing.root.lane,
            parent=None if crossing.parent is None else crossing.parent.seq,
            site=site,
            input=edited.body,
            outcome=outcome,
            form=crossing.form,
            exchanges=tuple(exchange for exchange, _ in exchanges),
            reenters=reenters,
            changed=changed,
            meta=self._meta(crossing, draft, edited, outcome, last, reenters=reenters, begun=begun),
            started=draft.started - self._began,
            duration=draft.ended - draft.started,
            masked=tuple(masked_paths),
            opaque=(self._redactor.mask_texts(tuple(draft.opaque)) if draft.opaque else ())
            + (() if edited.from_wire else by_type(edited.body, rule.volatile)),
        )

    def _match_request(
        self, crossing: Crossing[Draft], draft: Draft, site: str, body: bytes, *, begun: bool
    ) -> None:
        """Note a crossing that may answer a tool call that a model asked for."""
        rule, requested_tools = crossing.rule, self.requested_tools
        if not requested_tools.may_be_asked:
            # A tool call in a stream may be answered before the stream ends.
            requested_tools.may_be_asked = (begun and rule.kind == "model") or _is_inside_a_model(crossing)
        if not requested_tools.may_be_asked:
            return
        names = (crossing.name, site.rpartition(":")[2].rpartition(".")[2])
        # A crossing whose body runs on replay answers no call: a tool called in it would be called for real.
        answers = (names, rule.kind) if not crossing.boundary.runs else (("", ""), "")
        requested_tools.note_crossing(
            crossing.seq,
            *answers,
            None if crossing.parent is None else crossing.parent.seq,
            body,
            rule.pack or rule.id,
            in_model=_is_inside_a_model(crossing),
            is_update=draft.streamed and not begun,
        )

    def _meta(
        self,
        crossing: Crossing[Draft],
        draft: Draft,
        edited: _EditedInput,
        outcome: Outcome,
        last: Exchange | None,
        *,
        reenters: bool,
        begun: bool,
    ) -> bytes:
        """Return the `meta` of an envelope, as JSON; `last` is the last exchange beneath the crossing."""
        rule = crossing.rule
        facts = b"{}"
        if rule.kind == "model":
            facts = self._model_facts(crossing.seq, rule.meta, edited, outcome, last, is_open=begun)
        more = self._common_meta(crossing, draft, edited)
        if crossing.seq in self._item_facts:
            more |= self._item_facts[crossing.seq].fields()
        if not reenters:
            more |= self._replay_meta(crossing, draft, rule)
        return encode({**decode(facts), **more}) if more else facts

    def _common_meta(self, crossing: Crossing[Draft], draft: Draft, edited: _EditedInput) -> dict[str, Any]:
        """Return fields for any kind of crossing: where it was passed as an argument, what is masked, what it waited for."""
        meta: dict[str, Any] = {}
        if crossing.point.passer is not None:
            meta["passed"] = self._site(crossing.point.passer)
        if edited.raw is not edited.body and (digests := self._digests(edited, crossing.rule)):
            meta["masked"] = digests
        if draft.after:
            meta["after"] = draft.after
        return meta

    def _replay_meta(self, crossing: Crossing[Draft], draft: Draft, rule: BoundaryRule) -> dict[str, Any]:
        """Return what a replay needs beside the outcome: facts about the returned object, prints, changes between items."""
        meta: dict[str, Any] = {}
        if crossing.handed is not None:
            meta["handed"] = {**crossing.handed}
        if draft.states is not None:
            meta["handed"]["states"] = {
                position: {key: Raw(self._mask(body, rule)[0]) for key, body in state.items()}
                for position, state in draft.states.copy().items()  # the program may be adding more
            }
        if draft.prints and not draft.streamed:
            meta["printed"] = self._redactor.mask_text("".join(piece.text for piece in draft.prints))
            if draft.are_mixed or any(piece.is_written for piece in draft.prints):
                meta["prints"] = [
                    (piece.number, piece.latest, self._redactor.mask_text(piece.text), piece.is_written)
                    for piece in draft.prints
                ]
        meta |= {name: value for name, value in (("aliases", draft.aliases), ("taken", draft.taken)) if value}
        steps: dict[int, dict[str, Any]] = {}
        if draft.streamed and draft.prints:
            for piece in draft.prints:
                step = steps.setdefault(piece.items, {})
                step["printed"] = step.get("printed", "") + piece.text
            for step in steps.values():
                step["printed"] = self._redactor.mask_text(step["printed"])
        for position, changed in (draft.steps or {}).copy().items():
            steps.setdefault(position, {})["changed"] = Raw(self._mask(changed, rule)[0])
        if steps:
            meta["steps"] = steps
        if draft.moments is not None:
            meta["moments"] = [moment - self._began for moment in draft.moments.copy()]
        if draft.sends:
            meta["sent"] = {
                position: Raw(self._mask(sent, rule)[0]) for position, sent in draft.sends.copy().items()
            }
        return meta

    def _digests(self, edited: _EditedInput, rule: BoundaryRule) -> dict[str, Any] | None:
        """Return the keyed digests of what is masked in an input, and the key's id; None if nothing is masked."""
        raw, masked = edited.raw, edited.body
        if raw == masked:
            return None
        key = self._mask_key()
        if key is None:
            return None
        digests = key.digests(*comparable_pair(raw, masked, rule, from_wire=edited.from_wire))
        return {"key": key.id, "digests": digests} if digests else None

    def _input(
        self, crossing: Crossing[Draft], draft: Draft, wires: tuple[Wire, ...], *, reenters: bool
    ) -> _EditedInput:
        """Mask and shape the input: that of the first request, or the arguments that the draft noted."""
        # A stream may have noted its arguments and sent a request later: then the request counts.
        from_wire = draft.input is None or reenters
        raw = draft.input if not from_wire else request_input(wires[0]) if wires else b"{}"
        assert raw is not None  # noqa: S101 - an input that is not left to the requests was noted
        masked = self._redactor.mask_input((crossing.name, crossing.root.lane), raw)
        body = shaped_input(masked, crossing.rule, from_wire=from_wire)
        request = request_body(body, wires[0]) if from_wire and wires else None
        return _EditedInput(raw, body, from_wire, request)

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
        """Mask a body that a replay will serve; return it and the paths that were masked."""
        masked, paths = self._redactor.mask_outcome(body)
        redacted = _with_paths(masked, rule)
        return redacted, paths if redacted == masked else tuple(dict.fromkeys((*paths, *rule.redact)))

    def _exchange(self, index: int, wire: Wire) -> tuple[Exchange, tuple[str, ...]]:
        stored = exchange.stored_exchange(wire, with_request=index > 0)
        body, paths = self._redactor.mask_outcome(stored.body)
        return (
            Exchange(
                method=stored.method,
                url=self._redactor.mask_url(stored.url),
                request=self._redactor.mask_outcome(stored.request)[0],
                status=stored.status,
                headers=tuple(self._redactor.mask_headers(stored.headers)),
                body=body,
                error=None if stored.error is None else self._redactor.mask_outcome(stored.error)[0],
                attempts=stored.attempts,
                complete=stored.complete,
            ),
            tuple(paths),
        )

    def _model_facts(
        self,
        seq: int,
        paths: MetaPaths,
        edited: _EditedInput,
        outcome: Outcome,
        last: Exchange | None,
        *,
        is_open: bool,
    ) -> bytes:
        """Return the facts of a model call, as JSON, and note the tools that the model asked for."""
        facts = CallFacts(paths, edited.body, outcome, last, edited.request)
        fields = facts.read()
        self.requested_tools.note_calls(seq, facts.calls(), is_open=is_open)
        return encode(fields)


def _below(prefix: str, paths: Iterable[str]) -> list[str]:
    return [f"{prefix}.{path}" if path else prefix for path in paths]


def by_type(body: bytes, volatile: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the paths in an input that are compared by type only, each with its type.

    Indexes are written as `*`, so that the members of a list count once. Paths below `volatile` ones are left out.
    """
    if not has_tag(body, b'$opaque"') and not has_tag(body, b'$unread"'):
        return ()
    if volatile:
        body = drop_paths(body, volatile)
    tree, types = split(decode(body))
    opaque = [(path, kind) for path, kind, _ in opaque_paths(tree) if not tells_state(types, path)]
    entries = dict.fromkeys(
        f"{IN_INPUT}{'.'.join('*' if part.isdigit() else part for part in path.split('.'))}: {kind}"
        for path, kind in [*opaque, *unread_paths(types)]
    )
    return tuple(entries)[:_MAX_BY_TYPE]


def _with_paths(body: bytes, rule: BoundaryRule) -> bytes:
    return redact_paths(body, rule.redact) if rule.redact else body
