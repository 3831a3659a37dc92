"""Prepare what a recording's threads submit, for the sink: envelopes, items of streams, and the footer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import structs

from autochron._runtime.lazy import late_modules
from autochron.crossing.crossing import Crossing
from autochron.instrument.decorators import marked
from autochron.model import ADDRESS, NOT_COMPARED, Child, ChildEnd, Envelope, Footer, Unwoven
from autochron.recording.envelope_prep import Tally
from autochron.session import header as facts
from autochron.session.children import unmanaged_processes
from autochron.session.footer import Ending
from autochron.stdio.transcript import NOTHING_SAID, Said

if TYPE_CHECKING:
    from autochron.instrument.activation import Activation
    from autochron.instrument.watching import Watching
    from autochron.ports import Sink
    from autochron.recording import drafts
    from autochron.recording.calls import CallDraft
    from autochron.recording.drafts import Begun, Item
    from autochron.recording.recorder import Recorder
    from autochron.recording.stored_trace import StoredTrace
    from autochron.redaction.mask_key import MaskKey
    from autochron.redaction.redactor import Redactor
    from autochron.session.children import Children
    from autochron.session.recorded_effects import RecordedEffects
    from autochron.session.session import Problems
else:
    late_modules(globals(), "autochron.recording.drafts")

_NOTHING: frozenset[object] = frozenset()


class RecordedProcess(Protocol):
    """The recording of one process, or of one call in it.

    Attributes:
        is_part: whether it is that of a call.
        is_joined: whether the process was started by the one that began the trace, and no fork of it.
        call: the call that the trace is of, where it is one's.
    """

    activation: Activation
    redactor: Redactor
    problems: Problems
    recorder: Recorder
    effects: RecordedEffects
    children: Children | None
    watching: Watching | None
    call: CallDraft | None
    is_part: bool
    is_joined: bool

    @property
    def stored(self) -> StoredTrace:
        """The trace as it is in the store."""

    @property
    def outer(self) -> RecordedProcess | None:
        """The recording of the process, where this is that of a call."""

    @property
    def is_child(self) -> bool:
        """Whether this process is not the first one of the trace."""

    @property
    def has_started(self) -> bool:
        """Whether the program has started any process."""

    @property
    def lost(self) -> int:
        """How many crossings are not in the store."""

    def mask_key(self) -> MaskKey | None:
        """Return the user's key for masks; None where there is none."""

    def forget_call(self, error: Exception) -> None:
        """Go on without the call that the trace is of, and say why: noting it failed on our side."""


class Preparation:
    """Makes what the sink keeps; on the writer's thread, but for `ending`.

    Attributes:
        footer: the last word, once it is made.
    """

    def __init__(self, recorded: RecordedProcess, sink: Sink, began: int, reserve: Callable[[], int]) -> None:
        """Take the recording, its sink, when the trace began, and what takes another run of seqs from the store."""
        self.footer: Footer | None = None
        self._recorded = recorded
        self._sink = sink
        self._began = began
        self._reserve = reserve
        self._had = _NOTHING
        """What this process had to say before it was forked: its parent says that."""
        self._words: tuple[int, ...] = ()
        """How much a child process had to say so far."""

    @cached_property
    def tally(self) -> Tally:
        """What the crossings came to; made by who prepares the first one, which in memory may be never."""
        recorded = self._recorded
        return Tally(recorded.activation.project, recorded.redactor, self._began, recorded.mask_key)

    def begin_again(self) -> None:
        """Begin anew in a forked process."""
        self._had = frozenset((*self._ledger(), *self._recorded.activation.planner.matched))
        self._words = ()
        self.footer = None
        self.__dict__.pop("tally", None)

    def prepare(self, submitted: Crossing[drafts.Draft] | Begun | Item | Ending) -> Any:
        """Return an envelope, or what writes to a sink; None where nothing is to be kept."""
        recorded, tally = self._recorded, self.tally
        if isinstance(submitted, Crossing):
            rest = tally.rest(submitted.seq) if submitted.seq in tally.streams() else []
            envelope = tally.envelope(submitted)
            recorded.recorder.written(submitted)
            prepared = self._with_words(envelope) if recorded.is_child else envelope
            return _after_items({submitted.seq: rest}, prepared) if rest else prepared
        if not isinstance(submitted, Ending):
            if not isinstance(submitted, drafts.Item):
                return tally.envelope(submitted.crossing, begun=True)
            seq, items = submitted.seq, tally.item(submitted)
            return (lambda sink: sink.extend(seq, items)) if items else None
        rests = tally.rests()
        footer = self.footer = self._make_footer(submitted)
        last = self._parting(footer) if recorded.is_child else lambda sink: sink.end(footer)
        return _after_items(rests, last) if rests else last

    def _with_words(self, envelope: Envelope) -> Any:
        """Return the envelope of a child process, with what it has to say if that is more: it may be killed at any moment."""
        recorded, tally = self._recorded, self.tally
        kept = (
            recorded.activation.planner.matched,
            recorded.activation.ledger.unwoven,
            recorded.effects.noted,
            recorded.effects.connections,
            recorded.problems,
            tally.opaque,
            tally.by_type,
            tally.masked,
        )
        words = (recorded.lost, recorded.effects.count_kept(), *(len(each) for each in kept))
        if words == self._words:
            return envelope
        self._words = words
        parting = self._parting(self._make_footer(self.ending(None, None, NOTHING_SAID)))

        def put(sink: Sink) -> None:
            sink.put(envelope)
            if parting is not None:
                parting(sink)

        return put

    def _parting(self, footer: Footer) -> Callable[[Sink], None] | None:
        """Return what writes what a child process has to say at its end; None for a fork that did nothing."""
        recorded, tally = self._recorded, self.tally
        end = ChildEnd(
            footer=structs.replace(
                footer, stdout=b"null", stdin=b"null", unprinted=(), secrets=None, stderr=None
            ),
            opaque=tuple(tally.opaque),
            by_type=tuple(tally.by_type),
            masked=tuple(tally.masked),
            problems=tuple(recorded.problems),
            matched=tuple(rule for rule in recorded.activation.planner.matched if rule not in self._had),
        )
        words = (
            footer.ledger,
            footer.connections,
            footer.unwoven_tools,
            footer.lost,
            footer.snapshots,
            footer.reads,
            end.problems,
            end.matched,
        )
        if not any(words) and not tally.counts and not recorded.is_joined:
            return None
        if self._sink.is_unknown:  # type: ignore[attr-defined]  # of a store that others join, too
            self._reserve()
        return lambda sink: sink.end(end)

    # --- the footer --------------------------------------------------------------------------------------------------

    def ending(self, status: int | None, error: str | None, said: Said) -> Ending:
        """Return what is known now; the footer is made when all crossings are prepared."""
        recorded = self._recorded
        rules, effects, had = recorded.activation.rules, recorded.effects, self._had
        is_whole = not (recorded.is_child or recorded.is_part)
        return Ending(
            status,
            error,
            said,
            tuple(entry for entry in self._ledger() if entry not in had) if had else self._ledger(),
            recorded.activation.planner.unmatched() if is_whole else [],
            () if recorded.children is None else tuple(recorded.children.started),
            facts.versions(rules),
            facts.environment(rules, recorded.redactor),
            facts.credentials(rules),
            None if recorded.watching is None else recorded.watching.findings(),
            effects.snapshots(),
            effects.reads(),
            effects.effects(),
            effects.knows,
        )

    def _ledger(self) -> tuple[Unwoven, ...]:
        """Return what was not woven."""
        recorded = self._recorded
        activation, effects = recorded.activation, recorded.effects
        unmatched = [] if recorded.is_child or recorded.is_part else effects.unmatched_snapshots()
        untested = facts.untested(activation.rules)
        return (*untested, *activation.ledger.unwoven, *marked.unwoven, *effects.noted, *unmatched)

    def _make_footer(self, ending: Ending) -> Footer:
        recorded, tally = self._recorded, self.tally
        unwoven, declined = self._unanswered(ending)
        for name, address in tally.addresses.items():
            reason = (
                f"its input has an address in memory ({address}), another in every run; give the object a repr of its own, or"
                " name the place under `volatile`"
            )
            ending = structs.replace(ending, ledger=(*ending.ledger, Unwoven(name, reason, ADDRESS)))
        for name, (path, site) in tally.beyond.items():
            reason = f"{path or 'its input'} is too large to be compared, at {site}; name what of it matters with `capture`"
            ending = structs.replace(ending, ledger=(*ending.ledger, Unwoven(name, reason, NOT_COMPARED)))
        footer = ending.footer(
            recorded.redactor,
            self._come(),
            unwoven,
            declined,
            recorded.effects.connections,
            recorded.lost,
            recorded.mask_key,
        )
        footer = recorded.redactor.mask_texts(footer)
        if recorded.call is not None:
            try:
                call = recorded.call.envelope(recorded.redactor, tally.site, self._began)
                footer = structs.replace(footer, call=call)
            except Exception as error:  # the crossings are kept, whatever is wrong with the call
                recorded.forget_call(error)
        return footer

    def _come(self) -> list[Child]:
        """Return the child processes that came; the store is not asked where none was started."""
        return self._recorded.stored.children() if self._recorded.has_started else []

    def _unanswered(self, ending: Ending) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the tools with a call that no crossing answers: those that may have run unwoven, and the declined ones."""
        missing = self.tally.unanswered()
        if not missing:
            return (), ()
        declined: frozenset[str] = frozenset()
        if self._has_seen_all(ending):
            from autochron.diagnostics.declined_calls import (
                declined_tools,  # lazy: most runs answer every call
            )

            noted = tuple(self._recorded.effects.noted)
            open_names = {each.what.partition("[")[0] for each in noted if each.slug == "open"}
            asked = [each for each in missing if each.name not in open_names]
            declined = declined_tools(asked, self._recorded.activation, self.tally.answering())
        return (
            tuple(each.label for each in missing if each.name not in declined),
            tuple(each.label for each in missing if each.name in declined),
        )

    def _has_seen_all(self, ending: Ending) -> bool:
        """Return whether whatever was called would have crossed here: no crossing was lost, and no process ran unseen."""
        recorded = self._recorded
        whole = recorded if recorded.outer is None else recorded.outer
        noted = tuple(whole.effects.noted)
        if recorded.is_child or recorded.lost or any(each.slug == "child-process" for each in noted):
            return False
        if whole is not recorded:
            return not whole.has_started
        return not unmanaged_processes(ending.started, {child.lane for child in self._come()})


def _after_items(items: dict[int, list[bytes]], prepared: Any) -> Callable[[Sink], None]:
    """Return what adds items to streams before it does what was prepared."""

    def put(sink: Sink) -> None:
        for seq, bodies in items.items():
            sink.extend(seq, bodies)
        if isinstance(prepared, Envelope):
            sink.put(prepared)
        elif prepared is not None:
            prepared(sink)

    return put
