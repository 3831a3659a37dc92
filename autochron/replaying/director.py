"""The director: serves recorded crossings, lets live ones run, and notes each disagreement of replay and record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from msgspec import structs
from msgspec.json import decode

from autochron._runtime import unpatched
from autochron.crossing import streams
from autochron.crossing.crossing import Crossing
from autochron.crossing.lanes import MAIN, Remote, process_of
from autochron.envelope import codec, shapes
from autochron.envelope.type_trees import TYPES
from autochron.errors import AutochronError, CodecError, DivergenceError
from autochron.http import exchange
from autochron.inputs import observed, request_input, shaped_input
from autochron.model import VALUE, Divergence, Envelope, Mode, Raised, Replayed, Returned, Severity, Streamed
from autochron.ports import Serving
from autochron.redaction.redactor import Redactor
from autochron.replaying import compare
from autochron.replaying.child_reports import Report, Told
from autochron.replaying.consequences import NOTHING_LIVE, Consequences
from autochron.replaying.cursor import Cursor, Turns
from autochron.replaying.divergence_log import MASKED, Teller
from autochron.replaying.inputs import Given
from autochron.replaying.log import Log, Met, masked
from autochron.replaying.lookup import Finder
from autochron.replaying.plan import FULL, Plan
from autochron.replaying.printing import Printing
from autochron.replaying.repeated import Repeated, find_repeated
from autochron.replaying.running import Running, ServedRequest
from autochron.replaying.serving import (
    LEAST_PATIENCE,
    LIVE_PATIENCE,
    NOTHING_BESIDE,
    PATIENCE,
    VALUE_PATIENCE,
    Served,
)
from autochron.replaying.shared_state import States, stateless
from autochron.replaying.turns import Waiters
from autochron.replaying.unrecorded import Unrecorded

if TYPE_CHECKING:
    from autochron.ports import LiveObserver, Record
    from autochron.weaving.gate import Point

_process = unpatched.process

_AFTER = b'"after":'
"""Stands in the meta of an envelope that others of other lanes had to come before."""

_BEYOND = b'"$beyond":'
"""Stands among the types of an input in which something is too large to be compared."""


class Director:
    """A `CrossingHandler` that serves a record but for what its plan says is live."""

    def __init__(
        self,
        record: Record,
        redactor: Redactor,
        plan: Plan = FULL,
        state_of: Callable[[Envelope], str | None] = stateless,
    ) -> None:
        """Take `state_of`, which gives the `state` that a recorded crossing shares with others."""
        # None of these knows the director: a replay that is let go is freed at once, and not when garbage is collected.
        self.record = record
        self.plan = plan
        self._is_full = plan.is_full
        self._lock = unpatched.RLock()
        self.given = Given(redactor, typed=record.header.typed)
        self.consequences = NOTHING_LIVE if self._is_full else Consequences()
        self.states = States(state_of)
        self.turns = Turns(MAIN)
        self.cursor = Cursor(record, self._reading())
        self.cursor.passes_values = not self._is_full
        self.teller = Teller(plan, self.consequences, self._lock)
        self.note = self.teller.note
        self.progress = 0
        self.log = Log(self.cursor.get, unpatched.perf_counter_ns())
        self.patience = PATIENCE
        """Less once it has run out: then the order is another, as where a pool's few workers got their tasks in another."""
        self._value_patience = VALUE_PATIENCE[0]
        self.live_now = 0
        """How many live crossings are open."""
        self.waiters = Waiters()
        self._unrecorded = Unrecorded(record, plan, self.cursor, self.teller)
        self._process = _process[0]
        self._report: Report | None = None
        self._finder = Finder(self.cursor, self.given.input)
        self.printing = Printing()
        self._streams: dict[int, Served] = {}
        """Streams that are being read."""
        self.observer: LiveObserver[Crossing[Running]] | None = None
        """Who is told of live crossings as they begin and end; None where nobody looks at what they do."""

    @property
    def divergences(self) -> list[Divergence]:
        """Where replay and record disagree, in the order in which it was noticed."""
        return self.teller.divergences

    def _reading(self) -> Callable[[Envelope], None]:
        """Return what hears of each envelope of the record, in order of start."""
        turns, plan, consequences, states = self.turns, self.plan, self.consequences, self.states
        if self._is_full:
            return turns.add

        def read(envelope: Envelope) -> None:
            turns.add(envelope)
            is_live = plan.is_live(envelope)
            consequences.read(envelope, is_live=is_live)
            if is_live or envelope.parent is not None:
                states.read(envelope, is_live=is_live)

        return read

    # --- told by the kernel ----------------------------------------------------------------------------------------

    def begin(self, crossing: Crossing[Running], arguments: tuple[Any, ...]) -> Serving | None:
        """Find the record of a crossing and serve it, or let it run."""
        if _process[0] != self._process:  # before the lock, which another thread may have held at the fork
            raise self._refuse_child(crossing.address)
        with self._lock:
            envelope = self._finder.find(crossing, arguments)
            if envelope is None:
                return self._begin_extra(crossing, arguments)
            earlier = self.cursor.meet(envelope)
            self._finder.met_in(envelope, crossing.root.lane)
            mode = self._mode(crossing, envelope)
            is_run = mode != "served" or envelope.reenters
            running = self._run(crossing, mode, envelope) if is_run else None
            if self._report is not None:
                self._report.tell(Told(kind="crossed", seq=envelope.seq, lane=crossing.root.lane))
        has_more = envelope.meta != NOTHING_BESIDE
        if has_more or earlier is not None:
            self._compare_order(envelope, earlier)
        if envelope.reenters:  # what it was asked is known with its first request
            if running is None or mode == "live":
                return None
            return (
                self._request(running, crossing, crossing.point, arguments)
                if crossing.point.transport
                else None
            )
        given = self.given.raw(crossing, arguments)
        if given != envelope.input or has_more or given.startswith(TYPES):
            given = self._compared(crossing, given, envelope)
        if running is not None:
            running.met.input = None if given == envelope.input else given
            return None
        self.cursor.close(envelope)
        with self._lock:
            self._note_served(crossing, envelope, given)
            # Nobody may wait for what was recorded inside until this is served: it may be waiting for them.
            if self.turns.close(envelope):
                self.waiters.wake(self.is_due)
        if has_more or self.printing.waiting:
            self.printing.begin(envelope)
        serving = Served(self, crossing, arguments, envelope)
        if type(envelope.outcome) is Streamed:
            self._streams[envelope.seq] = serving
        return serving

    def _compare_order(self, envelope: Envelope, earlier: Envelope | None) -> None:
        """Note what a crossing comes before now, and was begun or waited for before it when it was recorded."""
        if earlier is not None:
            self.teller.order(envelope, earlier)
        if _AFTER not in envelope.meta:
            return
        for seq in decode(envelope.meta)["after"]:
            other = self.cursor.get(seq) if 0 < seq <= self.record.size else None
            # Lanes that were started alike are told apart by input, and share out their work in any order.
            if other is None or _kin(other.lane) == _kin(envelope.lane):
                continue
            if self.cursor.is_due(other):
                self.teller.order(envelope, other)

    def _compared(self, crossing: Crossing[Running], raw: bytes, envelope: Envelope) -> bytes:
        """Compare what a crossing is given with its record; return it, masked."""
        given = raw
        if given != envelope.input:  # else it needs no masking: what was recorded was masked
            given = self.given.masked(crossing, raw)
            self.teller.compare_input(envelope, given, crossing.rule)
        if MASKED in envelope.meta:
            self.teller.compare_masked(envelope, self.given, (raw, given), crossing.rule)
        if given.startswith(TYPES) and _BEYOND in given:
            self.teller.not_compared(envelope, given)
        return given

    def _note_served(self, crossing: Crossing[Running], envelope: Envelope, given: bytes) -> None:
        if not self._is_full and envelope.kind == "tool":
            self.teller.served_tool(envelope)
        if given == envelope.input:
            self.log.served(envelope)
            return
        met = self.log.begin(crossing, "served", envelope)
        met.parent = self._place_of(crossing.parent)
        met.input = given

    def _mode(self, crossing: Crossing[Running], envelope: Envelope) -> Mode:
        plan = self.plan
        if self._is_full or crossing.rule.observe:
            return "opened" if crossing.boundary.runs else "served"
        if plan.is_live(envelope):
            return "live"
        if crossing.boundary.runs:
            return "opened"
        if self.states.is_needed(envelope, crossing.rule.state):
            self.consequences.happened(envelope)
            return "live"
        return "opened" if envelope.seq in plan.opened or self.states.holds_needed(envelope) else "served"

    def _run(
        self, crossing: Crossing[Running], mode: Mode, envelope: Envelope | None, address: Any = None
    ) -> Running:
        """Note a crossing whose body runs."""
        met = self.log.begin(crossing, mode, envelope, address)
        met.parent = self._place_of(crossing.parent)
        crossing.record = running = Running(envelope, mode, met)
        if running.answers and envelope is not None:
            self._finder.unasked[envelope.seq] = running
        if mode == "live":
            self.live_now += 1
            if self.observer is not None:
                self.observer.entered(crossing)
            if met.kind == "tool" and crossing.rule.state is None:
                lane = self.cursor.recorded_lane(crossing.root.lane)
                self.teller.hint_at_state(met.full_address, lane)
        return running

    def _place_of(self, parent: Any) -> int | None:
        running = None if parent is None else parent.record
        return running.met.place if isinstance(running, Running) else None

    def returned(self, crossing: Crossing[Running], value: Any) -> Any:
        """Hear that a crossing that ran has returned; keep it, and compare."""
        running = self.ended(crossing)
        if running is None:
            return value
        if self.observer is not None and running.mode == "live":
            self.observer.left(crossing, None)
        envelope, met = running.envelope, running.met
        if running.answers:
            self.log.keep_value(met, value)
        elif running.mode != "served" and not crossing.boundary.runs:
            met.returned(crossing, value)
            self._compare(running, crossing)
            self._tell_of(running)
            return value
        if envelope is None:
            return value
        if isinstance(envelope.outcome, Raised):
            name = compare.error_name(envelope.outcome.error)
            message = f"{envelope.address} returned; when it was recorded it raised {name}"
            self._note_end(envelope, message)
        elif crossing.rule.observe:
            self.teller.compare_observed(
                envelope, self.given.mask(observed(crossing.rule, value)), crossing.rule
            )
        return value

    def raised(self, crossing: Crossing[Running], error: BaseException) -> None:
        """Hear that a crossing that ran has raised; keep it, and compare."""
        running = self.ended(crossing)
        if running is not None and self.observer is not None and running.mode == "live":
            self.observer.left(crossing, error)
        if running is None or crossing.boundary.outcome is not None:
            return  # what is on record of the latter is an argument, and not how the body ended
        envelope = running.envelope
        if running.mode != "served":
            running.met.raised(crossing, error)
            if not (running.answers or crossing.boundary.runs):
                self._compare(running, crossing)
                self._tell_of(running)
                return
        if envelope is None or isinstance(error, (AutochronError, GeneratorExit)):
            return
        message = compare.other_error(envelope, error)
        if message is not None:
            self._note_end(envelope, message)

    def _note_end(self, envelope: Envelope, message: str) -> None:
        # What encloses something live may end otherwise for that.
        severity: Severity | None = "consequence" if envelope.seq in self.plan.opened else None
        self.note("outcome", envelope.address, message, envelope=envelope, severity=severity)

    def item(self, crossing: Crossing[Running], item: Any) -> None:
        """Keep an item of a stream that is live."""
        running = crossing.record
        if isinstance(running, Running) and running.mode != "served" and not crossing.boundary.runs:
            running.met.item(item)

    def sent(self, crossing: Crossing[Running], value: Any, thrown: BaseException | None) -> None:
        """Nothing: what runs is given what is sent; a serving compares."""

    def substituted(self, crossing: Crossing[Running], argument: Any) -> Any:
        """Return the argument that was recorded; what is live keeps its own, as it is before the body can change it."""
        running = crossing.record
        assert running is not None  # noqa: S101 - its body runs
        envelope = running.envelope
        if running.mode == "live" or envelope is None:
            running.met.returned(crossing, argument)
            self._compare(running, crossing)
            self._tell_of(running)
            return argument
        outcome = envelope.outcome
        try:
            if not isinstance(outcome, Returned):
                raise CodecError("its rule had no `outcome` when it was recorded; record the trace again")
            return codec.decode(outcome.value)
        except AutochronError as error:
            self.not_rebuilt(envelope, error)
            raise

    def follows(self, crossing: Crossing[Running]) -> bool:
        """Follow what is live, and what sends its request when it is first read: its body runs again."""
        running = crossing.record
        if not isinstance(running, Running) or crossing.boundary.runs:
            return False
        return running.mode == "live" or not running.served

    def detach(self, crossing: Crossing[Running]) -> None:
        """Nothing: what runs is compared by what was noted of it."""

    def attach(self, crossing: Crossing[Running], objects: Any) -> None:
        """Nothing: `detach` returned nothing."""

    def dropped(self, crossing: Crossing[Running]) -> None:
        """Nothing: what never ends is told of when the program does."""

    def follows_object(self, crossing: Crossing[Running], value: Any) -> bool:
        """Follow what is live, and what sends its request when it is first read."""
        cls = type(value)
        return shapes.kind_of(cls) == "none" and self.follows(crossing) and streams.can_follow(cls)

    def looked(self, crossing: Crossing[Running], value: Any, *, at_end: bool = False) -> None:
        """Nothing: what is live is in its own state."""

    def transport(self, current: Any, point: Any, arguments: tuple[Any, ...]) -> Any:
        """Serve a request inside a model crossing that runs again."""
        if type(current) is not Crossing or not isinstance(current.record, Running):
            return None
        running = current.record
        if running.mode == "live" and not running.compared and current.rule.kind == "model":
            self.compare_request(running, point.transport.sent(point.parameters, arguments), current)
        if not running.answers:
            return None
        if _process[0] != self._process:
            raise self._refuse_child(current.address)
        return self._request(running, current, point, arguments)

    def take_over(self) -> None:
        """Serve a fork in the place of the process that was forked."""
        self._process = _process[0]

    def _refuse_child(self, address: str) -> DivergenceError:
        return DivergenceError(
            f"{address} was not recorded in a child process, so it can't be served in one; make what forks a boundary, and"
            " record again"
        )

    def _request(
        self, running: Running, crossing: Crossing[Running], point: Point, arguments: tuple[Any, ...]
    ) -> Any:
        """Return what answers a request: no whole `Serving`, since a request hands out no items."""
        return ServedRequest(self, running, crossing, point, arguments)

    # --- for servings ------------------------------------------------------------------------------------------------

    def served(self, serving: Served) -> None:
        """Note that a crossing has ended."""
        with self._lock:
            if self._streams:
                self._streams.pop(serving.envelope.seq, None)
            self._finish(serving.envelope)

    def _finish(self, envelope: Envelope) -> None:
        self.turns.finish(envelope)
        if not self.cursor.is_short:
            self.cursor.let_go(envelope)
        self.progress += 1
        if self.waiters.are_there:
            self.waiters.wake(self.is_due)

    def ended(self, crossing: Crossing[Running]) -> Running | None:
        """Note that a crossing whose body ran has ended; give what was kept with it."""
        running = crossing.record
        if not isinstance(running, Running):
            return None
        envelope = running.envelope
        with self._lock:
            if running.mode == "live":
                self.live_now -= 1
            if envelope is None:
                self.progress += 1
                self.waiters.wake(self.is_due)
                return running
            self._finder.unasked.pop(envelope.seq, None)
            if (attempts := running.attempts()) is not None:
                recorded, now = attempts
                message = f"{envelope.address} was attempted {now}×; when it was recorded, {recorded}×"
                self.note("attempts", envelope.address, message, envelope=envelope, severity="warning")
            self._finish(envelope)
        return running

    def _tell_of(self, running: Running) -> None:
        """Report the first process of a crossing that did not go as it was recorded."""
        if self._report is not None:
            replayed = self.log.replayed_at(running.met, self.given)
            self._report.tell(Told(kind="replayed", replayed=replayed))

    def is_due(self, envelope: Envelope) -> bool:
        """Return whether nothing that should end before is still to be waited for; behind something live nothing is."""
        return self.turns.is_due(envelope) or self.consequences.include(envelope)

    def wait_for_turn(self, envelope: Envelope) -> None:
        """Block until what ended earlier has ended, or until nothing has moved for a while."""
        patient = 0
        with self._lock:
            moved = self.waiters.condition(self._lock)
            while not self.is_due(envelope):
                if moved.wait(self._value_patience if envelope.is_value else self.patience):
                    continue
                if envelope.is_value:  # who asks may hold a lock; what it is given is the same in any order
                    self._value_patience = max(self._value_patience / 5, VALUE_PATIENCE[1])
                    return
                patient += 1
                if not self.live_now or patient > LIVE_PATIENCE:
                    self.give_up(envelope)

    def give_up(self, envelope: Envelope) -> None:
        """Let a crossing go on although not all that should have ended before has."""
        with self._lock:
            self.patience = max(self.patience / 10, LEAST_PATIENCE)
            self.turns.give_up(envelope)
            self.waiters.wake(self.is_due)

    def not_rebuilt(self, envelope: Envelope, error: Exception) -> None:
        """Note that an outcome can't be served, whatever is live."""
        message = f"{envelope.address} can't be served: {error}"
        self.note("outcome", envelope.address, message, severity="error")

    # --- processes -----------------------------------------------------------------------------------------------------

    def serve_child(self, report: Report, lane: str) -> None:
        """Serve a child process from now on, whose lane this is; what is noted goes into its report.

        After a fork, too: then locks may be held by threads that are gone, and what was noted is the parent's.
        """
        self._lock = unpatched.RLock()
        self.waiters = Waiters()
        self._process = _process[0]
        self._report = report
        self._streams.clear()
        self.cursor.tell = self._tell
        self.turns = Turns(process_of(lane))
        self.cursor.on_read = self._reading()
        for envelope in self.cursor.window.by_seq.values():
            self.turns.add(envelope)
        self.teller.begin_anew(report, self._lock)
        self.log = Log(self.cursor.get, unpatched.perf_counter_ns())
        self.live_now = 0
        self._finder.unasked.clear()

    def _tell(self, kind: Literal["met", "released", "closed"], seq: int) -> None:
        if self._report is not None:
            self._report.tell(Told(kind=kind, seq=seq))

    def merge(self, told: Iterable[Told]) -> None:
        """Take in what a child process told."""
        met: dict[int, None] = {}
        closed: list[int] = []
        for each in told:
            if each.kind == "met":
                met[each.seq] = None
            elif each.kind == "released":
                met.pop(each.seq, None)
            elif each.kind == "closed":
                closed.append(each.seq)
            elif each.kind == "crossed":
                envelope = self.cursor.get(each.seq)
                self.log.served(envelope)
                self._finder.met_in(envelope, each.lane)
            elif each.replayed is not None:
                self.log.add(each.replayed)
            elif each.divergence is not None:
                self.divergences.append(each.divergence)
        for envelope in [self.cursor.get(seq) for seq in met]:
            if self.cursor.is_met(envelope):
                message = (
                    f"{envelope.address} was served in two processes; when it was recorded it crossed once"
                )
                self.note("extra", envelope.address, message)
        self.cursor.merge(met, closed)

    def end_streams(self) -> None:
        """Note which streams were not read as far as they were recorded: the process is at its end."""
        for each in list(self._streams.values()):
            each.left_open()
        self._streams.clear()

    def finish(self, running: tuple[str, ...] = ()) -> None:
        """Note what did not happen again; another order is a warning where threads share their work.

        `running` are the lanes of processes that may still come to it, each with a slash behind.
        """
        self.end_streams()
        if self.cursor.is_over and not self.divergences:
            return
        for index, each in enumerate(self.divergences):
            if (
                each.kind == "reordered"
                and each.severity == "error"
                and self._finder.is_shared_out(each.address, self.record)
            ):
                self.divergences[index] = structs.replace(each, severity="warning")
        if self.record.size > 1 and not len(self.log):
            self.teller.nothing(self.record)
        else:
            overtaken = {each.nearest for each in self.divergences if each.kind == "reordered"}
            never: set[str | None] = set()

            def missing() -> Iterator[Envelope]:
                for each in self.cursor.missing():
                    if not f"{each.lane}/".startswith(running):
                        if each.address in overtaken:
                            never.add(each.address)
                        yield each

            self.teller.missing(missing())
            # What came before something that never came is in no other order.
            self.divergences[:] = [
                each for each in self.divergences if each.kind != "reordered" or each.nearest not in never
            ]

    # --- inside ------------------------------------------------------------------------------------------------------

    def _begin_extra(self, crossing: Crossing[Running], arguments: tuple[Any, ...]) -> Serving | None:
        """Let a crossing run that was not recorded, where the plan says so or it is inside something live; or refuse it."""
        if not self._unrecorded.is_live(crossing):
            if crossing.rule.id.startswith(VALUE):
                self._invent(crossing, arguments)
                return None
            around = self._live_around(crossing)
            if around is None:
                raise self._unrecorded.refused(crossing)
            given = self.given.input(crossing, arguments)
            known = find_repeated(self._before_live(around.record), crossing.name, given)
            if known is not None:
                return self._repeat(crossing, given, known, around)
        lane = self.cursor.recorded_lane(crossing.root.lane)
        self.consequences.happened_anew(lane, self.cursor.latest(lane), self.cursor.latest_around(lane))
        running = self._run(crossing, "live", None, self._unrecorded.next_address(crossing.name))
        running.met.input = self.given.input(crossing, arguments)
        self.teller.live_anew(running.met.full_address)
        return None

    def _live_around(self, crossing: Crossing[Running]) -> Any:
        """Return the live crossing that one is inside of; None where nothing live is around it."""
        above: Any = crossing.parent
        while above is not None:
            if type(above) is Remote:
                return None
            running = above.record
            if isinstance(running, Running) and running.mode == "live":
                return above
            above = above.parent
        return None

    def _before_live(self, running: Running) -> Iterator[Envelope]:
        """Yield what was recorded before a live crossing, and after the live one before it: what that did is not in it."""
        last = self.record.size + 1 if running.envelope is None else running.envelope.seq
        found: list[Envelope] = []
        for each in self.record:
            if each.seq >= last:
                break
            if self.plan.is_live(each):
                found.clear()
            else:
                found.append(each)
        yield from found

    def _repeat(self, crossing: Crossing[Running], given: bytes, known: Envelope, around: Any) -> Serving:
        """Serve what another crossing of the name and input gave."""
        met = self.log.begin(crossing, "served", None, self._unrecorded.next_address(crossing.name))
        met.parent = self._place_of(crossing.parent)
        met.input = given
        met.outcome = known.outcome
        self.teller.repeated(met.full_address, around.record.met.full_address, known)
        return Repeated(known)

    def _invent(self, crossing: Crossing[Running], arguments: tuple[Any, ...]) -> None:
        """Have a value made up that was not recorded: the program goes on with it."""
        running = self._run(crossing, "invented", None, self._unrecorded.next_address(crossing.name))
        running.met.input = self.given.input(crossing, arguments)
        self._unrecorded.tell_invented(crossing, running.met.address)

    def compare_request(self, running: Running, wire: exchange.Wire, crossing: Crossing[Running]) -> None:
        """Compare what the provider would get with what it got."""
        if running.compared:
            return
        running.compared = True
        envelope = running.envelope
        given = raw = request_input(wire)
        if envelope is None or given != envelope.input:
            given = self.given.masked(crossing, raw)
            given = shaped_input(given, crossing.rule, from_wire=True)
        if envelope is not None and MASKED in envelope.meta:
            self.teller.compare_masked(envelope, self.given, (raw, given), crossing.rule, from_wire=True)
        if envelope is None or not envelope.reenters:
            running.met.input = given
            return
        with self._lock:
            self._finder.unasked.pop(envelope.seq, None)
            if compare.differs(envelope, given, crossing.rule):
                self._finder.exchange(running, given, crossing, self.log)
                envelope = running.envelope or envelope
        if given != envelope.input:
            running.met.input = given
        self.teller.compare_input(envelope, given, crossing.rule)

    def _compare(self, running: Running, crossing: Crossing[Running]) -> None:
        """Compare how a crossing ended that ran."""
        envelope, outcome = running.envelope, running.met.outcome
        if envelope is not None and outcome is not None and outcome != envelope.outcome:
            outcome, live = masked(outcome, self.given), running.mode == "live"
            self.teller.compare_live(envelope, outcome, crossing.rule, live=live)
            if live and outcome == envelope.outcome:
                self.teller.masked_outcome(envelope)

    def replayed(self) -> list[tuple[Replayed, Met | None]]:
        """Return the crossings as they were in the replay, and what more is kept of each."""
        with self._lock:
            return list(self.each_replayed())

    def each_replayed(self) -> Iterator[tuple[Replayed, Met | None]]:
        """Yield the same one by one, in the memory of one, once nothing crosses any more."""
        return self.log.replayed(self.given)


def _kin(lane: str) -> str:
    """Return a lane's name without its last number: lanes that were started alike share it."""
    return lane.rpartition(".")[0]
