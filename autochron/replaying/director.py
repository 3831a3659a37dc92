"""The director: serves recorded crossings, lets live ones run, and notes each difference between replay and record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec import structs
from msgspec.json import decode

from autochron._runtime import unpatched
from autochron.crossing import streams
from autochron.crossing.crossing import Crossing
from autochron.envelope import codec, shapes
from autochron.envelope.type_trees import TYPES
from autochron.errors import AutochronError, CodecError, DivergenceError
from autochron.inputs import observed
from autochron.model import Divergence, Envelope, Mode, Raised, Replayed, Returned, Severity, Streamed
from autochron.ports import Serving
from autochron.redaction.redactor import Redactor
from autochron.replaying import compare
from autochron.replaying.child_reports import ChildEvent, ChildReport
from autochron.replaying.divergence_log import MASKED
from autochron.replaying.live_request import LiveRequest
from autochron.replaying.log import LogEntry
from autochron.replaying.lookup import Finder
from autochron.replaying.plan import FULL, ReplayPlan
from autochron.replaying.replay_state import ReplayState
from autochron.replaying.running import Running
from autochron.replaying.running_crossings import RunningCrossings, place_of
from autochron.replaying.served_request import ServedRequest
from autochron.replaying.serving import NOTHING_BESIDE, ServedCrossing
from autochron.replaying.shared_state import stateless
from autochron.replaying.unrecorded import Unrecorded

if TYPE_CHECKING:
    from autochron.ports import Record

_process = unpatched.process

_AFTER = b'"after":'
"""In the `meta` of an envelope: it lists crossings of other lanes that started this one, or that it waited for."""

_BEYOND = b'"$beyond":'
"""Among the types of an input: it lists the parts that are too large to be compared."""


class Director:
    """A `CrossingHandler` that serves a record, except for the crossings that the plan makes live.

    Attributes:
        state: what the parts of this replay share.
        note: adds a divergence (`DivergenceLog.note`).
        runs: the crossings whose body runs.
    """

    def __init__(
        self,
        record: Record,
        redactor: Redactor,
        plan: ReplayPlan = FULL,
        state_of: Callable[[Envelope], str | None] = stateless,
    ) -> None:
        """Prepare the replay of a record.

        Args:
            record: the trace that is replayed.
            redactor: masks inputs and outcomes as they were masked in the recording.
            plan: which crossings are live.
            state_of: returns the `state` of a recorded crossing's rule; None if it shares no state.
        """
        self.state = state = ReplayState(record, redactor, plan, state_of)
        self.note = state.divergence_log.note
        self._is_full = plan.is_full
        self._finder = Finder(state.cursor, state.inputs.input)
        self.runs = RunningCrossings(state, self._finder)
        self._unrecorded = Unrecorded(state, self.runs)
        self._process = _process[0]

    @property
    def divergences(self) -> list[Divergence]:
        """The divergences, in the order in which they were noted."""
        return self.state.divergence_log.divergences

    # --- called by the kernel --------------------------------------------------------------------------------------

    def begin(self, crossing: Crossing[Running], arguments: tuple[Any, ...]) -> Serving | None:
        """Find the record of a crossing and serve it, or let the crossing run.

        Returns:
            What serves the crossing; None if its body is to run.

        Raises:
            DivergenceError: the crossing can neither be served nor run, or this process was forked and was not recorded.
            ReplayStoppedError: the program goes on although many crossings were refused.
        """
        if _process[0] != self._process:  # before the lock, which another thread may have held at the fork
            raise self._refuse_child(crossing.address)
        state, schedule = self.state, self.state.schedule
        with schedule.lock:
            envelope = self._finder.find(crossing, arguments)
            if envelope is None:
                return self._unrecorded.begin(crossing, arguments)
            earlier = state.cursor.meet(envelope)
            self._finder.met_in(envelope, crossing.root.lane)
            mode = self._mode(crossing, envelope)
            is_run = mode != "served" or envelope.reenters
            running = self.runs.begin(crossing, mode, envelope) if is_run else None
            if state.report is not None:
                state.report.write(ChildEvent(kind="crossed", seq=envelope.seq, lane=crossing.root.lane))
        has_more = envelope.meta != NOTHING_BESIDE
        if has_more or earlier is not None:
            self._compare_order(envelope, earlier)
        if envelope.reenters:  # its input is known only with its first request
            if running is None or mode == "live" or not crossing.point.transport:
                return None
            # Not a complete `Serving`: a client's request is the call of a function, so woven code asks only for its outcome.
            serving: Any = ServedRequest(state, self.runs, running, crossing, crossing.point, arguments)
            return serving  # type: ignore[no-any-return]
        input_body = state.inputs.raw(crossing, arguments)
        if input_body != envelope.input or has_more or input_body.startswith(TYPES):
            input_body = self._compared(crossing, input_body, envelope)
        if running is not None:
            running.entry.input = None if input_body == envelope.input else input_body
            return None
        state.cursor.close(envelope)
        with schedule.lock:
            self._note_served(crossing, envelope, input_body)
            # The crossings recorded inside will not happen. Waiting for them could block this one, which waits for its turn.
            if schedule.turns.close(envelope):
                schedule.waiters.wake()
        if has_more or state.printing.waiting:
            state.printing.begin(envelope)
        served = ServedCrossing(state, crossing, arguments, envelope)
        if type(envelope.outcome) is Streamed:
            state.streams[envelope.seq] = served
        return served

    def _compare_order(self, envelope: Envelope, earlier: Envelope | None) -> None:
        """Note crossings that came earlier than this one in the recording, and have not come yet."""
        state = self.state
        if earlier is not None:
            state.divergence_log.order(envelope, earlier)
        if _AFTER not in envelope.meta:
            return
        for seq in decode(envelope.meta)["after"]:
            other = state.cursor.get(seq) if 0 < seq <= state.record.size else None
            # Lanes that were started alike are matched by input. They may share their work in any order.
            if other is None or _kin(other.lane) == _kin(envelope.lane):
                continue
            if state.cursor.is_due(other):
                state.divergence_log.order(envelope, other)

    def _compared(self, crossing: Crossing[Running], raw: bytes, envelope: Envelope) -> bytes:
        """Compare the input of a crossing with its record. Return the input, masked."""
        state = self.state
        input_body = raw
        if input_body != envelope.input:  # an equal input needs no masking: the recorded one was masked
            input_body = state.inputs.masked(crossing, raw)
            state.divergence_log.compare_input(envelope, input_body, crossing.rule)
        if MASKED in envelope.meta:
            state.divergence_log.compare_masked(envelope, state.inputs, (raw, input_body), crossing.rule)
        if input_body.startswith(TYPES) and _BEYOND in input_body:
            state.divergence_log.not_compared(envelope, input_body)
        return input_body

    def _note_served(self, crossing: Crossing[Running], envelope: Envelope, input_body: bytes) -> None:
        state = self.state
        if not self._is_full and envelope.kind == "tool":
            state.divergence_log.served_tool(envelope)
        if input_body == envelope.input:
            state.log.served(envelope)
            return
        entry = state.log.begin(crossing, "served", envelope)
        entry.parent = place_of(crossing.parent)
        entry.input = input_body

    def _mode(self, crossing: Crossing[Running], envelope: Envelope) -> Mode:
        state, plan = self.state, self.state.plan
        if self._is_full or crossing.rule.observe:
            return "opened" if crossing.boundary.runs else "served"
        if plan.is_live(envelope):
            return "live"
        if crossing.boundary.runs:
            return "opened"
        if state.states.is_needed(envelope, crossing.rule.state):
            state.consequences.happened(envelope)
            return "live"
        return "opened" if envelope.seq in plan.opened or state.states.holds_needed(envelope) else "served"

    def returned(self, crossing: Crossing[Running], value: Any) -> Any:
        """Keep what a crossing returned whose body ran, and compare it with the record.

        Returns:
            The value, unchanged.
        """
        running = self.runs.end(crossing)
        if running is None:
            return value
        if self.runs.observer is not None and running.mode == "live":
            self.runs.observer.left(crossing, None)
        envelope, entry = running.envelope, running.entry
        if running.answers:
            self.state.log.keep_value(entry, value)
        elif running.mode != "served" and not crossing.boundary.runs:
            entry.returned(crossing, value)
            self.runs.compare_outcome(running, crossing)
            return value
        if envelope is None:
            return value
        if isinstance(envelope.outcome, Raised):
            name = compare.error_name(envelope.outcome.error)
            message = f"{envelope.address} returned; when it was recorded it raised {name}"
            self._note_end(envelope, message)
        elif crossing.rule.observe:
            self.state.divergence_log.compare_observed(
                envelope, self.state.inputs.mask(observed(crossing.rule, value)), crossing.rule
            )
        return value

    def raised(self, crossing: Crossing[Running], error: BaseException) -> None:
        """Keep the error of a crossing whose body ran, and compare it with the record."""
        running = self.runs.end(crossing)
        if running is not None and self.runs.observer is not None and running.mode == "live":
            self.runs.observer.left(crossing, error)
        if running is None or crossing.boundary.outcome is not None:
            return  # of the latter, an argument is recorded, and not how the body ended
        envelope = running.envelope
        if running.mode != "served":
            running.entry.raised(crossing, error)
            if not (running.answers or crossing.boundary.runs):
                self.runs.compare_outcome(running, crossing)
                return
        if envelope is None or isinstance(error, (AutochronError, GeneratorExit)):
            return
        message = compare.other_error(envelope, error)
        if message is not None:
            self._note_end(envelope, message)

    def _note_end(self, envelope: Envelope, message: str) -> None:
        # A crossing that encloses a live one may end differently because of it.
        severity: Severity | None = "consequence" if envelope.seq in self.state.plan.opened else None
        self.note("outcome", envelope.address, message, envelope=envelope, severity=severity)

    def item(self, crossing: Crossing[Running], item: Any) -> None:
        """Keep an item of a live stream."""
        running = crossing.record
        if isinstance(running, Running) and running.mode != "served" and not crossing.boundary.runs:
            running.entry.item(item)

    def sent(self, crossing: Crossing[Running], value: Any, thrown: BaseException | None) -> None:
        """Do nothing: a body that runs gets the value itself, and a served stream compares it."""

    def substituted(self, crossing: Crossing[Running], argument: Any) -> Any:
        """Return the recorded argument. A live crossing keeps its own, which is compared before the body can change it.

        Raises:
            AutochronError: the recorded argument can't be rebuilt.
        """
        running = crossing.record
        assert running is not None  # noqa: S101 - its body runs
        envelope = running.envelope
        if running.mode == "live" or envelope is None:
            running.entry.returned(crossing, argument)
            self.runs.compare_outcome(running, crossing)
            return argument
        outcome = envelope.outcome
        try:
            if not isinstance(outcome, Returned):
                raise CodecError("its rule had no `outcome` when it was recorded; record the trace again")
            return codec.decode(outcome.value)
        except AutochronError as error:
            self.state.not_rebuilt(envelope, error)
            raise

    def follows(self, crossing: Crossing[Running]) -> bool:
        """Return whether to follow an iterator: if it is live, or sends its request only when it is first read."""
        running = crossing.record
        if not isinstance(running, Running) or crossing.boundary.runs:
            return False
        return running.mode == "live" or not running.served

    def detach(self, crossing: Crossing[Running]) -> None:
        """Do nothing: a crossing whose body runs is compared by its log entry."""

    def attach(self, crossing: Crossing[Running], objects: Any) -> None:
        """Do nothing: `detach` returned nothing."""

    def dropped(self, crossing: Crossing[Running]) -> None:
        """Do nothing: a crossing that never ends is noted at the end of the program."""

    def follows_object(self, crossing: Crossing[Running], value: Any) -> bool:
        """Return whether to follow an object: if it is live, or sends its request only when it is first read."""
        cls = type(value)
        return shapes.kind_of(cls) == "none" and self.follows(crossing) and streams.can_follow(cls)

    def looked(self, crossing: Crossing[Running], value: Any, *, at_end: bool = False) -> None:
        """Do nothing: a live object has its own state."""

    def transport(self, current: Any, point: Any, arguments: tuple[Any, ...]) -> Any:
        """Serve an HTTP request inside a crossing whose requests were recorded. Compare that of a live model call.

        Args:
            current: the crossing in which the request is sent.
            point: where the client sends it.
            arguments: those of the client's function.

        Returns:
            What serves the request; None if it is to be sent.

        Raises:
            DivergenceError: this process was forked and was not recorded.
        """
        if type(current) is not Crossing or not isinstance(current.record, Running):
            return None
        running = current.record
        if running.mode == "live" and not running.compared and current.rule.kind == "model":
            self.runs.compare_request(running, point.transport.sent(point.parameters, arguments), current)
        if not running.answers:
            return self._live_request(current, point, arguments)
        if _process[0] != self._process:
            raise self._refuse_child(current.address)
        return ServedRequest(self.state, self.runs, running, current, point, arguments)

    def _live_request(self, crossing: Crossing[Running], point: Any, arguments: tuple[Any, ...]) -> Any:
        """Return the token of a request that is really sent; None if nobody listens to it."""
        listener, rule = self.state.listener, crossing.rule
        if listener is None or rule.kind != "model" or not rule.meta.declared:
            return None
        wire = point.transport.sent(point.parameters, arguments)
        listener.sent(crossing, wire)
        return LiveRequest(crossing.seq, wire, listener)

    def take_over(self) -> None:
        """Serve this process, which was forked from the one that was served so far."""
        self._process = _process[0]

    def _refuse_child(self, address: str) -> DivergenceError:
        return DivergenceError(
            f"{address} was not recorded in a child process, so it can't be served in one; make what forks a boundary, and"
            " record again"
        )

    # --- processes -----------------------------------------------------------------------------------------------------

    def serve_child(self, report: ChildReport, lane: str) -> None:
        """Serve a child process from now on.

        Args:
            report: where the child writes its divergences and crossings.
            lane: the lane of the child.
        """
        self._process = _process[0]
        self.state.serve_child(report, lane)
        self._finder.awaiting_request.clear()

    def merge(self, events: Iterable[ChildEvent]) -> None:
        """Add the events that a child process reported."""
        state = self.state
        met: dict[int, None] = {}
        closed: list[int] = []
        for event in events:
            if event.kind == "met":
                met[event.seq] = None
            elif event.kind == "released":
                met.pop(event.seq, None)
            elif event.kind == "closed":
                closed.append(event.seq)
            elif event.kind == "crossed":
                envelope = state.cursor.get(event.seq)
                state.log.served(envelope)
                self._finder.met_in(envelope, event.lane)
            elif event.replayed is not None:
                state.log.add(event.replayed)
            elif event.divergence is not None:
                self.divergences.append(event.divergence)
        for envelope in [state.cursor.get(seq) for seq in met]:
            if state.cursor.is_met(envelope):
                message = (
                    f"{envelope.address} was served in two processes; when it was recorded it crossed once"
                )
                self.note("extra", envelope.address, message)
        state.cursor.merge(met, closed)

    def finish(self, running: tuple[str, ...] = ()) -> None:
        """Note the recorded crossings that are missing. Another order becomes a warning where threads share their work.

        Args:
            running: the lanes of processes that still run, each with a slash at its end. Their crossings are not missing.
        """
        state = self.state
        state.end_streams()
        if state.cursor.is_over and not self.divergences:
            return
        for index, divergence in enumerate(self.divergences):
            if (
                divergence.kind == "reordered"
                and divergence.severity == "error"
                and self._finder.is_shared_out(divergence.address, state.record)
            ):
                self.divergences[index] = structs.replace(divergence, severity="warning")
        if state.record.size > 1 and not len(state.log):
            state.divergence_log.nothing(state.record)
        else:
            overtaken = {
                divergence.nearest for divergence in self.divergences if divergence.kind == "reordered"
            }
            never: set[str | None] = set()

            def missing() -> Iterator[Envelope]:
                for envelope in state.cursor.missing():
                    if not f"{envelope.lane}/".startswith(running):
                        if envelope.address in overtaken:
                            never.add(envelope.address)
                        yield envelope

            state.divergence_log.missing(missing())
            # A crossing is not in another order if the one that it overtook never came.
            self.divergences[:] = [
                divergence
                for divergence in self.divergences
                if divergence.kind != "reordered" or divergence.nearest not in never
            ]

    def replayed(self) -> list[tuple[Replayed, LogEntry | None]]:
        """Return the crossings of the replay, each with its log entry; None where it has none."""
        with self.state.schedule.lock:
            return list(self.each_replayed())

    def each_replayed(self) -> Iterator[tuple[Replayed, LogEntry | None]]:
        """Yield the same as `replayed`, with one crossing in memory at a time.

        It takes no lock, so nothing may cross meanwhile.
        """
        return self.state.log.replayed(self.state.inputs)


def _kin(lane: str) -> str:
    """Return a lane's name without its last number. Lanes that were started alike share it."""
    return lane.rpartition(".")[0]
