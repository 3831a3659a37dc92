"""The director: serves recorded crossings, lets live ones run, and notes each disagreement of replay and record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from msgspec import structs

from autochron import _originals
from autochron.crossing.kernel import Crossing
from autochron.crossing.lanes import MAIN, Remote, process_of
from autochron.envelope import codec, exchange
from autochron.envelope.canonical import canonical
from autochron.envelope.redaction import Redactor
from autochron.errors import AutochronError, CodecError, DivergenceError
from autochron.inputs import OUTCOME, inputs_of, observed, request_input, shaped_input
from autochron.model import Divergence, Envelope, Mode, Raised, Replayed, Returned, Severity
from autochron.ports import Serving
from autochron.replaying import comparing
from autochron.replaying.comparing import error_name
from autochron.replaying.consequences import Consequences
from autochron.replaying.cursor import DAEMON, Cursor, Turns
from autochron.replaying.met import Log, Met, masked
from autochron.replaying.plan import FULL, Plan, counts_of
from autochron.replaying.reports import Report, Told
from autochron.replaying.requests import Running, ServedRequest
from autochron.replaying.serving import LIVE_PATIENCE, Served

if TYPE_CHECKING:
    from autochron.ports import Record

_ENOUGH = 100
"""Extra crossings after which a program that goes on regardless is stopped."""

_NAMED = 4
"""Served tools that a hint names."""

_LISTED = 100
"""Missing crossings that are told of one by one."""


class ReplayStoppedError(BaseException):
    """Ends a program that swallows every divergence and goes on; no `except Exception` catches it."""


class Director:
    """A `CrossingHandler` that serves a record but for what its plan says is live."""

    def __init__(
        self, record: Record, redactor: Redactor, problem: Callable[[str], None], plan: Plan = FULL
    ) -> None:
        self.record = record
        self.plan = plan
        self.consequences = Consequences()
        self.turns = Turns(process_of(MAIN))
        self.cursor = Cursor(record, self._read)
        self.divergences: list[Divergence] = []
        self.progress = 0
        self.log = Log(self.cursor.get, _originals.perf_counter_ns())
        self.live_now = 0
        """How many live crossings are open."""
        self._redactor = redactor
        self._problem = problem
        self._lock = _originals.RLock()
        self._changed = _originals.Condition(self._lock)
        self._extra = 0
        self._extras: dict[str, int] = {}
        self._process = _originals.getpid()
        self._report: Report | None = None
        self._served_in: dict[str, set[str]] = {}
        """The lanes in which the records of a recorded lane were met."""
        self._unasked: dict[int, Running] = {}
        """Crossings that run again and have sent nothing yet, by the envelope that they stand for so far."""
        self._served_tools: list[str] = []
        self._told: set[str] = set()
        self.states: Callable[[Envelope], str | None] = lambda _envelope: None
        """Gives the `state` of the rule that a recorded crossing is of."""

    def _read(self, envelope: Envelope) -> None:
        """Hear of an envelope of the record, in order of start."""
        self.turns.add(envelope)
        if not self.plan.is_full:
            self.consequences.read(envelope, is_live=self.plan.is_live(envelope))

    # --- told by the kernel ----------------------------------------------------------------------------------------

    def begin(self, crossing: Crossing, arguments: tuple[Any, ...]) -> Serving | None:
        """Find the record of a crossing and serve it, or let it run."""
        self._refuse_child(
            crossing.address
        )  # before the lock, which another thread may have held at the fork
        with self._lock:
            envelope = self._find(crossing, arguments)
            if envelope is None:
                self._begin_extra(crossing, arguments)
                return None
            earlier = self.cursor.meet(envelope)
            lanes = self._served_in.get(envelope.lane)
            if lanes is None:
                lanes = self._served_in[envelope.lane] = set()
            lanes.add(crossing.root.lane)
            mode = self._mode(crossing, envelope)
            if mode != "served" or envelope.reenters:
                self._run(crossing, mode, envelope)
            if self._report is not None:
                self._report.tell(Told(kind="crossed", seq=envelope.seq, lane=crossing.root.lane))
        if earlier is not None:
            self._note_order(envelope, earlier)
        if envelope.reenters:  # what it was asked is known with its first request
            serves = mode != "live" and crossing.point.transport
            return self._request(crossing, crossing.point, arguments) if serves else None
        given = self._input(crossing, arguments)
        difference = self._compare(envelope, given, crossing)
        if mode != "served":
            running: Running = crossing.record
            if difference or given != envelope.input:
                running.met.input = given
            return None
        self.cursor.close(envelope)
        with self._changed:
            self._note_served(crossing, envelope, given)
            # Nobody may wait for what was recorded inside until this is served: it may be waiting for them.
            if self.turns.close(envelope):
                self._changed.notify_all()
        return Served(self, crossing, arguments, envelope)

    def _note_served(self, crossing: Crossing, envelope: Envelope, given: bytes) -> None:
        if envelope.kind == "tool" and len(self._served_tools) < _NAMED:
            self._served_tools.append(envelope.address)
        if given == envelope.input:
            self.log.served(envelope)
            return
        met = self.log.begin(crossing, "served", envelope)
        met.parent = self._place_of(crossing.parent)
        met.input = given

    def _mode(self, crossing: Crossing, envelope: Envelope) -> Mode:
        plan = self.plan
        if crossing.boundary.runs:
            return "opened"
        if plan.is_full:
            return "served"
        if plan.is_live(envelope) or self._shares_state(crossing, envelope):
            return "live"
        return "opened" if envelope.seq in plan.opened else "served"

    def _shares_state(self, crossing: Crossing, envelope: Envelope) -> bool:
        """Tell whether a later crossing of the same state is live, so that what this one did must be there."""
        state = crossing.rule.state
        if state is None:
            return False
        later = (each for each in self.cursor.window.by_seq.values() if each.seq > envelope.seq)
        if any(self.plan.is_live(each) and self.states(each) == state for each in later):
            self.consequences.happened(envelope)
            return True
        return False

    def _run(self, crossing: Crossing, mode: Mode, envelope: Envelope | None, address: Any = None) -> Running:
        """Note a crossing whose body runs."""
        met = self.log.begin(crossing, mode, envelope, address)
        met.parent = self._place_of(crossing.parent)
        crossing.record = running = Running(envelope, mode, met)
        if running.answers and envelope is not None:
            self._unasked[envelope.seq] = running
        if mode == "live":
            self.live_now += 1
            self._note_state(crossing, met)
        return running

    def _place_of(self, parent: Any) -> int | None:
        running = None if parent is None else parent.record
        return running.met.place if isinstance(running, Running) else None

    def returned(self, crossing: Crossing, value: Any) -> Any:
        """Hear that a crossing that ran has returned; keep it, and compare."""
        running = self.ended(crossing)
        if running is None:
            return value
        envelope, met = running.envelope, running.met
        if running.mode == "live":
            met.returned(crossing, value)
            self._compare_live(running, crossing)
        elif running.answers:
            self.log.keep_value(met, value)
        if envelope is None or running.mode == "live":
            return value
        if isinstance(envelope.outcome, Raised):
            name = error_name(envelope.outcome.error)
            message = f"{envelope.address} returned; when it was recorded it raised {name}"
            self.note("outcome", envelope.address, message, envelope=envelope)
        elif crossing.rule.observe:
            self._compare_observed(envelope, value, crossing)
        elif running.mode == "opened" and crossing.boundary.outcome is None:
            met.returned(crossing, value)
            self._compare_live(running, crossing)
        return value

    def raised(self, crossing: Crossing, error: BaseException) -> None:
        """Hear that a crossing that ran has raised; keep it, and compare."""
        running = self.ended(crossing)
        if running is None:
            return
        envelope = running.envelope
        if running.mode != "served":
            running.met.raised(crossing, error)
        if running.mode == "live":
            self._compare_live(running, crossing)
        if envelope is None or running.mode == "live" or isinstance(error, (AutochronError, GeneratorExit)):
            return
        if crossing.boundary.outcome is not None:
            return  # what is on record is an argument, and not how the body ended
        name = f"{type(error).__module__}:{type(error).__qualname__}"
        recorded = error_name(envelope.outcome.error) if isinstance(envelope.outcome, Raised) else None
        if recorded != name:
            was = "it returned" if recorded is None else f"it raised {recorded}"
            message = f"{envelope.address} raised {name} ({error}); when it was recorded {was}"
            self.note("outcome", envelope.address, message, envelope=envelope)

    def item(self, crossing: Crossing, item: Any) -> None:
        """Keep an item of a stream that is live."""
        running = crossing.record
        if isinstance(running, Running) and running.mode != "served" and not crossing.boundary.runs:
            running.met.item(item)

    def substituted(self, crossing: Crossing, argument: Any) -> Any:
        """Give the argument that was recorded."""
        running: Running = crossing.record
        envelope = running.envelope
        if running.mode == "live" or envelope is None:
            return argument
        outcome = envelope.outcome
        try:
            if not isinstance(outcome, Returned):
                raise CodecError("its rule had no `outcome` when it was recorded; record the trace again")
            return codec.decode(outcome.value)
        except AutochronError as error:
            self.not_rebuilt(envelope, error)
            raise

    def follows(self, crossing: Crossing) -> bool:
        """Follow what is live, and what sends its request when it is first read: its body runs again."""
        running = crossing.record
        if not isinstance(running, Running) or crossing.boundary.runs:
            return False
        return running.mode == "live" or not running.served

    def transport(self, current: Any, point: Any, arguments: tuple[Any, ...]) -> Any:
        """Serve a request inside a model crossing that runs again."""
        if type(current) is not Crossing or not isinstance(current.record, Running):
            return None
        running = current.record
        if running.mode == "live" and not running.compared and current.rule.kind == "model":
            self.compare_request(running, point.transport.sent(point.parameters, arguments), current)
        if not running.answers:
            return None
        self._refuse_child(current.address)
        return self._request(current, point, arguments)

    def _refuse_child(self, address: str) -> None:
        if _originals.getpid() != self._process:
            raise DivergenceError(
                f"{address} was not recorded in a child process, so it can't be served in one; make what forks a boundary,"
                " and record again"
            )

    def _request(self, crossing: Crossing, point: Any, arguments: tuple[Any, ...]) -> Any:
        return ServedRequest(self, crossing, point, arguments)

    # --- for servings ------------------------------------------------------------------------------------------------

    def served(self, serving: Served) -> None:
        """Note that a crossing has ended."""
        with self._changed:
            self._finish(serving.envelope)

    def _finish(self, envelope: Envelope) -> None:
        self.turns.finish(envelope)
        self.cursor.let_go(envelope)
        self.progress += 1
        self._changed.notify_all()

    def ended(self, crossing: Crossing) -> Running | None:
        """Note that a crossing whose body ran has ended; give what was kept with it."""
        running = crossing.record
        if not isinstance(running, Running):
            return None
        envelope = running.envelope
        with self._changed:
            if running.mode == "live":
                self.live_now -= 1
            if envelope is None:
                self.progress += 1
                return running
            self._unasked.pop(envelope.seq, None)
            if (attempts := running.attempts()) is not None:
                recorded, now = attempts
                message = f"{envelope.address} was attempted {now}×; when it was recorded, {recorded}×"
                self.note("attempts", envelope.address, message, envelope=envelope, severity="warning")
            self._finish(envelope)
        return running

    def is_due(self, envelope: Envelope) -> bool:
        """Tell whether nothing that should end before is still to be waited for; behind something live nothing is."""
        return self.turns.is_due(envelope) or self.consequences.include(envelope)

    def wait_for_turn(self, envelope: Envelope, patience: float) -> None:
        """Block until what ended earlier has ended, or until nothing has moved for a while."""
        patient = 0
        with self._changed:
            while not self.is_due(envelope):
                if self._changed.wait(patience):
                    continue
                patient += 1
                if not self.live_now or patient > LIVE_PATIENCE:
                    self.give_up(envelope)

    def give_up(self, envelope: Envelope) -> None:
        """Let a crossing go on although not all that should have ended before has."""
        with self._changed:
            self.turns.give_up(envelope)
            self._changed.notify_all()

    def not_rebuilt(self, envelope: Envelope, error: Exception) -> None:
        """Note that an outcome can't be served, whatever is live."""
        message = f"{envelope.address} can't be served: {error}"
        self.note("outcome", envelope.address, message, severity="error")

    def note(
        self,
        kind: Any,
        address: str,
        message: str,
        *,
        envelope: Envelope | None = None,
        severity: Severity | None = None,
        **more: Any,
    ) -> None:
        """Add a divergence; without a severity it is an error unless its crossing follows from something live."""
        if severity is None:
            follows = envelope is not None and self.consequences.include(envelope)
            severity = "consequence" if follows else "error"
        divergence = Divergence(kind=kind, address=address, message=message, severity=severity, **more)
        with self._lock:
            self.divergences.append(divergence)
        if self._report is not None:
            self._report.tell(Told(kind="note", divergence=divergence))

    # --- processes -----------------------------------------------------------------------------------------------------

    def serve_child(self, report: Report, lane: str) -> None:
        """Serve a child process from now on, whose lane this is; what is noted goes into its report.

        After a fork, too: then locks may be held by threads that are gone, and what was noted is the parent's.
        """
        self._lock = _originals.RLock()
        self._changed = _originals.Condition(self._lock)
        self._process = _originals.getpid()
        self._report = report
        self.cursor.tell = self._tell
        self.turns = Turns(process_of(lane))
        for envelope in self.cursor.window.by_seq.values():
            self.turns.add(envelope)
        self.divergences = []
        self.log = Log(self.cursor.get, _originals.perf_counter_ns())
        self._extra = self.live_now = 0
        self._unasked.clear()

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
                self._served_in.setdefault(envelope.lane, set()).add(each.lane)
            elif each.divergence is not None:
                self.divergences.append(each.divergence)
        for envelope in [self.cursor.get(seq) for seq in met]:
            if self.cursor.is_met(envelope):
                message = (
                    f"{envelope.address} was served in two processes; when it was recorded it crossed once"
                )
                self.note("extra", envelope.address, message)
        self.cursor.merge(met, closed)

    def parent_of(self, parent: Any) -> int | None:
        """Give the recorded seq of what is open around a crossing; -1 where it has no record."""
        if parent is None:
            return None
        if type(parent) is Remote:
            return parent.seq
        running = parent.record
        if not isinstance(running, Running) or running.envelope is None:
            return -1
        return running.envelope.seq

    def finish(self, running: tuple[str, ...] = ()) -> None:
        """Note what did not happen again; another order is a warning where threads share their work.

        `running` are the lanes of processes that may still come to it, each with a slash behind.
        """
        for index, each in enumerate(self.divergences):
            if each.kind == "reordered" and each.severity == "error" and self._is_shared_out(each.address):
                self.divergences[index] = structs.replace(each, severity="warning")
        if self.record.size > 1 and not len(self.log):
            self._note_nothing()
            return
        missing = 0
        for envelope in self.cursor.missing():
            if f"{envelope.lane}/".startswith(running):
                continue
            missing += 1
            if missing <= _LISTED:
                self._note_missing(envelope)
        if missing > _LISTED:
            message = f"{missing - _LISTED:,} more crossings were recorded and did not happen"
            self.note("missing", "…", message, severity="consequence" if not self.plan.is_full else "error")

    def _note_nothing(self) -> None:
        first = next(iter(self.record))
        message = (
            f"nothing crossed a boundary: all {self.record.size} recorded crossings, from {first.address} ({first.site})"
            " on, did not happen; call the agent inside the replay, and see that the rules weave what is called"
        )
        self.note("missing", first.address, message)

    def _note_missing(self, envelope: Envelope) -> None:
        address = envelope.address
        message = f"{address} ({envelope.site}) was recorded and did not happen"
        if self.plan.is_live(envelope) and not self.consequences.include(envelope):
            message = f"the program no longer reaches {address} ({envelope.site}), which was to be live"
            if self.divergences:
                message += f"; first, {self.divergences[0].message}"
        elif envelope.seq == self.plan.after:
            message = (
                f"the program no longer reaches {address} ({envelope.site}), after which all was to be live"
            )
        self.note("missing", address, message, envelope=envelope)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _find(self, crossing: Crossing, arguments: tuple[Any, ...]) -> Envelope | None:
        parent, cursor = self.parent_of(crossing.parent), self.cursor
        lane, name = cursor.recorded_lane(crossing.root.lane), crossing.name
        envelope = cursor.at(lane, parent, name, crossing.within)
        if envelope is not None and cursor.is_met(envelope):
            envelope = None
        if envelope is None and not cursor.is_known(lane):
            return self._find_lane(crossing, arguments, parent)
        if envelope is not None and not cursor.has_likes(lane, parent, name):
            return envelope
        alike = [
            each
            for each in cursor.alike(lane, parent, name)
            if each is not envelope and not cursor.is_met(each)
        ]
        if not alike or (envelope is not None and envelope.reenters):
            return envelope
        # Lanes that were started alike may start in any order: the input tells them apart.
        given = self._input(crossing, arguments)
        if envelope is not None and not comparing.differs(envelope, given, crossing.rule):
            return envelope
        # For each crossing anew, not once a lane: threads that take their work from one queue may share it out otherwise.
        for each in alike:
            if not comparing.differs(each, given, crossing.rule):
                cursor.identify(crossing.root.lane, each.lane)
                return each
        # What a model was asked is known with its first request.
        return envelope or next((each for each in alike if each.reenters), None)

    def _find_lane(
        self, crossing: Crossing, arguments: tuple[Any, ...], parent: int | None
    ) -> Envelope | None:
        """Find what a lane of a name that was not recorded may be, by what it crosses first.

        A test awaits the agent in a task of its own; a thread's function gets another name.
        """
        lane = crossing.root.lane
        alike = self.cursor.alike(self.cursor.recorded_lane(lane), parent, crossing.name)
        found = [each for each in alike if not self.cursor.is_met(each)]
        found = found or list(self.cursor.beginnings(parent, crossing.name))
        if len(found) > 1 and not found[0].reenters:
            given = self._input(crossing, arguments)
            found.sort(key=lambda each: comparing.differs(each, given, crossing.rule))
        if not found:
            return None
        self.cursor.identify(lane, found[0].lane)
        return found[0]

    def _is_shared_out(self, address: str) -> bool:
        """Tell whether the lane that a crossing was recorded in was met in several lanes: who did what was up to timing."""
        return any(
            each.address == address and len(self._served_in.get(each.lane, ())) > 1 for each in self.record
        )

    def _exchange(self, running: Running, given: bytes, crossing: Crossing) -> None:
        """Give a crossing the record that was asked just this, in a lane that was started alike.

        Where another crossing stands for that one so far, it gets this one's.
        """
        own, cursor = running.envelope, self.cursor
        assert own is not None  # noqa: S101 - it answers from it
        lane = cursor.recorded_lane(crossing.root.lane)
        for each in cursor.alike(lane, self.parent_of(crossing.parent), crossing.name):
            holder = self._unasked.get(each.seq)
            if each is own or not each.reenters or (holder is None and cursor.is_met(each)):
                continue
            if not comparing.differs(each, given, crossing.rule):
                running.envelope = each
                self.log.replaced(running.met, each)
                cursor.identify(crossing.root.lane, each.lane)
                cursor.meet(each)
                if holder is None:
                    cursor.release(own)
                else:
                    holder.envelope = own
                    self.log.replaced(holder.met, own)
                    self._unasked[own.seq] = holder
                return

    def _begin_extra(self, crossing: Crossing, arguments: tuple[Any, ...]) -> None:
        """Let a crossing run that was not recorded, where the plan says so, or refuse it."""
        if not self._is_live_anew(crossing):
            raise self._extra_crossing(crossing)
        lane = self.cursor.recorded_lane(crossing.root.lane)
        self.consequences.happened_anew(lane, self.cursor.latest(lane))
        running = self._run(crossing, "live", None, self._next_address(crossing.name))
        running.met.input = self._input(crossing, arguments)
        name, nth = running.met.address
        message = f"{name}[{nth}] ran live, and was not recorded"
        self.note("extra", f"{name}[{nth}]", message, severity="consequence")

    def _is_live_anew(self, crossing: Crossing) -> bool:
        plan = self.plan
        if plan.is_full:
            return False
        if plan.after is not None and self.cursor.is_met(self.cursor.get(plan.after)):
            return True
        return crossing.name in plan.names or crossing.rule.kind in plan.kinds or crossing.rule.observe

    def _next_address(self, name: str) -> tuple[str, int]:
        """Give the next address of a name after those that were recorded."""
        if name not in self._extras:
            self._extras[name] = counts_of(self.record.boundaries()).get(name, 0)
        self._extras[name] += 1
        return name, self._extras[name]

    def _extra_crossing(self, crossing: Crossing) -> BaseException:
        nearest = self.cursor.nearest(crossing.name)
        near = "" if nearest is None else f"; the nearest record is {nearest.address} in lane {nearest.lane}"
        message = f"{crossing.address} in lane {crossing.root.lane} was not recorded{near}"
        if not self.plan.is_full:
            message += f"; it can't be served: make it live ({crossing.name}, or kind:{crossing.rule.kind}), or record again"
        # How far a daemon gets depends on when the program ends.
        severity: Severity = "warning" if DAEMON in crossing.root.lane else "error"
        named = None if nearest is None else nearest.address
        self.note("extra", crossing.address, message, nearest=named, severity=severity)
        self._extra += 1
        if self._extra > _ENOUGH:
            return ReplayStoppedError(message)
        return DivergenceError(message)

    def _note_order(self, envelope: Envelope, earlier: Envelope) -> None:
        self.note(
            "reordered",
            envelope.address,
            f"{envelope.address} came before {earlier.address}; when it was recorded {earlier.address} came first",
            envelope=earlier,
            nearest=earlier.address,
        )

    def _note_state(self, crossing: Crossing, met: Met) -> None:
        """Say once that what stubbed tools did is not there for a live one."""
        if met.kind != "tool" or crossing.rule.state is not None or not self._served_tools or self._told:
            return
        self._told.add("state")
        address = f"{met.address[0]}[{met.address[1]}]"
        served = ", ".join(self._served_tools) + (", …" if len(self._served_tools) == _NAMED else "")
        message = (
            f"{address} runs live after tools that were served ({served}): what these did is not there; if it works on it,"
            " make them live, too (kind:tool), or give their rules the same `state`"
        )
        self.note("stale-state", address, message, severity="notice")

    def _input(self, crossing: Crossing, arguments: tuple[Any, ...]) -> bytes:
        inputs = inputs_of(crossing)
        raw = canonical(*inputs.read(arguments))
        return self._redactor.mask_input((crossing.name, crossing.root.lane), raw)

    def mask(self, body: bytes) -> bytes:
        """Mask what is to leave the process, as it is when it is recorded."""
        return self._redactor.mask_outcome(body)[0]

    def path_of(self, wire: exchange.Wire) -> str:
        """Give the path of a request, masked as it was recorded."""
        return exchange.path_of(self._redactor.mask_url(wire.url))

    def compare_request(self, running: Running, wire: exchange.Wire, crossing: Crossing) -> None:
        """Compare what the provider would get with what it got."""
        if running.compared:
            return
        running.compared = True
        given = self._redactor.mask_input((crossing.name, crossing.root.lane), request_input(wire))
        given = shaped_input(given, crossing.rule, from_wire=True)
        envelope = running.envelope
        if envelope is None or not envelope.reenters:
            running.met.input = given
            return
        with self._lock:
            self._unasked.pop(envelope.seq, None)
            if comparing.differs(envelope, given, crossing.rule):
                self._exchange(running, given, crossing)
                envelope = running.envelope or envelope
        if given != envelope.input:
            running.met.input = given
        self._compare(envelope, given, crossing)

    def _compare(self, envelope: Envelope, given: bytes, crossing: Crossing) -> bool:
        """Note where an input is another; tell whether it is."""
        difference = comparing.input_difference(envelope, given, crossing.rule)
        if difference is None:
            return False
        severity = self._severity_of_input(envelope, crossing)
        if severity is None:
            return True
        path, recorded, replayed, what = difference
        message = f"{envelope.address} was given another {what}: {path} was {recorded}, now it is {replayed}"
        self.note(
            "input",
            envelope.address,
            message,
            envelope=envelope,
            severity=severity,
            path=path,
            recorded=recorded,
            replayed=replayed,
        )
        return True

    def _severity_of_input(self, envelope: Envelope, crossing: Crossing) -> Severity | None:
        """Say what a changed input means; None where it means nothing."""
        inputs = self.plan.inputs
        if inputs == "ignore":
            return None
        if self.consequences.include(envelope):
            return "consequence"
        if inputs == "warn":
            return "warning"
        lenient = not self.plan.is_full and inputs != "strict"
        # Prompts get edited; and what is live takes what it is given.
        return (
            "warning"
            if lenient and (crossing.rule.kind == "model" or self.plan.is_live(envelope))
            else "error"
        )

    def _compare_live(self, running: Running, crossing: Crossing) -> None:
        """Note how a crossing that ran ended otherwise than it was recorded: what is live does so by intent."""
        envelope, outcome = running.envelope, running.met.outcome
        if envelope is None or outcome is None or envelope.reenters or OUTCOME in crossing.rule.volatile:
            return
        found = comparing.outcome_difference(envelope.outcome, masked(outcome, self.mask), crossing.rule)
        if found is None:
            return
        message, path, was, now = found
        live = running.mode == "live"
        self.note(
            "outcome",
            envelope.address,
            f"{envelope.address} {'ran live and ' if live else ''}{message}",
            envelope=envelope,
            severity="consequence" if live or not self.plan.is_full else None,
            path=path,
            recorded=was,
            replayed=now,
        )

    def _compare_observed(self, envelope: Envelope, value: Any, crossing: Crossing) -> None:
        """Compare what an observed crossing gave."""
        rule = crossing.rule
        if OUTCOME in rule.volatile or not isinstance(envelope.outcome, Returned):
            return
        given = Returned(self.mask(observed(rule, value)))
        found = comparing.outcome_difference(envelope.outcome, given, rule)
        if found is not None:
            message, path, was, now = found
            self.note(
                "outcome",
                envelope.address,
                f"{envelope.address} {message}",
                envelope=envelope,
                path=path,
                recorded=was,
                replayed=now,
            )

    def replayed(self) -> list[tuple[Replayed, Met | None]]:
        """Give the crossings as they were in the replay, and what more is kept of each."""
        with self._lock:
            return list(self.log.replayed(self.mask))
