"""Prepare for the sink what a recording's threads submit: envelopes, items of streams, and the footer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from types import FunctionType
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
from autochron.stdio.transcript import EMPTY_TRANSCRIPT, Transcript

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
        call: the recorded call of a trace that is one call's.
        is_part: whether this is the recording of a call.
        is_joined: whether the process joined the trace by its context, and is no fork of the process that began it.
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
        """The recording of the process, if this is that of a call."""

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
        """Return the user's key for masks; None if there is none."""

    def forget_call(self, error: Exception) -> None:
        """Drop the recorded call because noting it failed on our side, and report the error."""


class Preparation:
    """Makes what the sink keeps. Runs on the writer's thread, except for `ending`.

    Attributes:
        footer: the footer, once it is made.
    """

    def __init__(self, recorded: RecordedProcess, sink: Sink, began: int, reserve: Callable[[], int]) -> None:
        """Make one.

        Args:
            recorded: the recording.
            sink: where the trace is kept.
            began: when the trace began, in nanoseconds.
            reserve: reserves another range of sequence numbers in the store.
        """
        self.footer: Footer | None = None
        self._recorded = recorded
        self._sink = sink
        self._began = began
        self._reserve = reserve
        self._inherited = _NOTHING
        """What the ledger and the matched rules were when this process was forked. The parent reports that."""
        self._reported: tuple[int, ...] = ()
        """Counts of what the last `ChildEnd` of a child process reported."""

    @cached_property
    def tally(self) -> Tally:
        """The counts and notes of the crossings.

        Made when something is first prepared, which in a recording in memory may never happen.
        """
        recorded = self._recorded
        return Tally(recorded.activation.project, recorded.redactor, self._began, recorded.mask_key)

    def begin_again(self) -> None:
        """Start anew in a forked process."""
        self._inherited = frozenset((*self._ledger(), *self._recorded.activation.planner.matched))
        self._reported = ()
        self.footer = None
        self.__dict__.pop("tally", None)

    def prepare(self, submitted: Crossing[drafts.Draft] | Begun | Item | Ending) -> Any:
        """Make what is kept of something that was submitted.

        Returns:
            An envelope, or a function that writes to a sink; None if nothing is to be kept.
        """
        recorded, tally = self._recorded, self.tally
        if isinstance(submitted, Crossing):
            items_left = tally.rest(submitted.seq) if submitted.seq in tally.streams() else []
            envelope = tally.envelope(submitted)
            recorded.recorder.written(submitted)
            prepared = self._with_child_end(envelope) if recorded.is_child else envelope
            return _after_items({submitted.seq: items_left}, prepared) if items_left else prepared
        if not isinstance(submitted, Ending):
            if not isinstance(submitted, drafts.Item):
                return tally.envelope(submitted.crossing, begun=True)
            seq, bodies = submitted.seq, tally.item(submitted)
            return (lambda sink: sink.extend(seq, bodies)) if bodies else None
        left_by_stream = tally.rests()
        footer = self.footer = self._make_footer(submitted)
        writer = self._child_end_writer(footer) if recorded.is_child else lambda sink: sink.end(footer)
        return _after_items(left_by_stream, writer) if left_by_stream else writer

    def _with_child_end(self, envelope: Envelope) -> Any:
        """Return the envelope of a child process, with a `ChildEnd` if there is news for it.

        A child process may be killed at any moment, so its last report must not wait for its end.
        """
        recorded, tally = self._recorded, self.tally
        collections = (
            recorded.activation.planner.matched,
            recorded.activation.ledger.unwoven,
            recorded.effects.noted,
            recorded.effects.connections,
            recorded.problems,
            tally.opaque,
            tally.by_type,
            tally.masked,
        )
        counts = (
            recorded.lost,
            recorded.effects.count_kept(),
            *(len(collection) for collection in collections),
        )
        if counts == self._reported:
            return envelope
        self._reported = counts
        write_end = self._child_end_writer(self._make_footer(self.ending(None, None, EMPTY_TRANSCRIPT)))

        def put(sink: Sink) -> None:
            sink.put(envelope)
            if write_end is not None:
                write_end(sink)

        return put

    def _child_end_writer(self, footer: Footer) -> Callable[[Sink], None] | None:
        """Return a function that writes the `ChildEnd` of a child process; None for a fork that did nothing."""
        recorded, tally = self._recorded, self.tally
        end = ChildEnd(
            footer=structs.replace(
                footer, stdout=b"null", stdin=b"null", unprinted=(), secrets=None, stderr=None
            ),
            opaque=tuple(tally.opaque),
            by_type=tuple(tally.by_type),
            masked=tuple(tally.masked),
            problems=tuple(recorded.problems),
            matched=tuple(
                rule for rule in recorded.activation.planner.matched if rule not in self._inherited
            ),
        )
        contents = (
            footer.ledger,
            footer.connections,
            footer.unwoven_tools,
            footer.found_tools,
            footer.lost,
            footer.snapshots,
            footer.reads,
            end.problems,
            end.matched,
        )
        if not any(contents) and not tally.counts and not recorded.is_joined:
            return None
        if self._sink.is_unknown:  # type: ignore[attr-defined]  # of stores that other processes join
            self._reserve()
        return lambda sink: sink.end(end)

    # --- the footer --------------------------------------------------------------------------------------------------

    def ending(self, status: int | None, error: str | None, transcript: Transcript) -> Ending:
        """Return the facts for the footer that are known now. The footer is made when all crossings are prepared."""
        recorded = self._recorded
        rules, effects, inherited = recorded.activation.rules, recorded.effects, self._inherited
        is_first = not (recorded.is_child or recorded.is_part)
        ledger = self._ledger()
        return Ending(
            status,
            error,
            transcript,
            tuple(entry for entry in ledger if entry not in inherited) if inherited else ledger,
            recorded.activation.planner.unmatched() if is_first else [],
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
        """Return what is not in the trace, and why."""
        recorded = self._recorded
        activation, effects = recorded.activation, recorded.effects
        unmatched = [] if recorded.is_child or recorded.is_part else effects.unmatched_snapshots()
        untested = facts.untested(activation.rules)
        return (*untested, *activation.ledger.unwoven, *marked.unwoven, *effects.noted, *unmatched)

    def _make_footer(self, ending: Ending) -> Footer:
        recorded, tally = self._recorded, self.tally
        unwoven, declined, forms = self._unanswered(ending)
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
            self._joined_children(),
            unwoven,
            declined,
            forms,
            tally.found(),
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

    def _joined_children(self) -> list[Child]:
        """Return the child processes that joined, without asking the store if none was started."""
        return self._recorded.stored.children() if self._recorded.has_started else []

    def _unanswered(self, ending: Ending) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Find the tools with a call that no crossing answers.

        Returns:
            Labels of the tools that may have run unwoven, and labels of those that the program declined to call; and the
            names of those that are types of data.
        """
        unanswered = self.tally.unanswered()
        forms = {
            tool.name
            for tool in unanswered
            if tool.name in self._recorded.activation.found.outputs
            and not (tool.is_partial or tool.is_crossed)
        }
        missing = [tool for tool in unanswered if tool.name not in forms]
        if not missing:
            return (), (), tuple(sorted(forms))
        declined: frozenset[str] = frozenset()
        if self._has_seen_all(ending):
            from autochron.diagnostics.declined_calls import (
                declined_tools,  # lazy: most runs answer every call
            )

            entries = tuple(self._recorded.effects.noted)
            open_names = {entry.what.partition("[")[0] for entry in entries if entry.slug == "open"}
            candidates = [tool for tool in missing if tool.name not in open_names]
            activation = self._recorded.activation

            def named(tool: str, parameters: frozenset[str] | None) -> Iterable[FunctionType]:
                from autochron.finding.definitions import functions_named  # lazy: as above

                return functions_named(tool, parameters, activation.project)

            declined = declined_tools(candidates, activation, self.tally.answering(), named)
        return (
            tuple(tool.label for tool in missing if tool.name not in declined),
            tuple(tool.label for tool in missing if tool.name in declined),
            tuple(sorted(forms)),
        )

    def _has_seen_all(self, ending: Ending) -> bool:
        """Return whether any call of a boundary must have crossed in this recording.

        That holds if no crossing was lost and no process ran unseen.
        """
        recorded = self._recorded
        process = recorded if recorded.outer is None else recorded.outer
        entries = tuple(process.effects.noted)
        if recorded.is_child or recorded.lost or any(entry.slug == "child-process" for entry in entries):
            return False
        if process is not recorded:
            return not process.has_started
        return not unmanaged_processes(ending.started, {child.lane for child in self._joined_children()})


def _after_items(items: dict[int, list[bytes]], prepared: Any) -> Callable[[Sink], None]:
    """Return a function that adds items to their streams, and then writes what was prepared."""

    def put(sink: Sink) -> None:
        for seq, bodies in items.items():
            sink.extend(seq, bodies)
        if isinstance(prepared, Envelope):
            sink.put(prepared)
        elif prepared is not None:
            prepared(sink)

    return put
