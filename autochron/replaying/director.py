"""The director: serves recorded crossings, and notes each disagreement of replay and record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from msgspec import structs

from autochron import _originals
from autochron.crossing.kernel import Crossing
from autochron.crossing.lanes import MAIN, Remote, process_of
from autochron.envelope import codec, exchange
from autochron.envelope.canonical import canonical
from autochron.envelope.compare import first_difference
from autochron.envelope.paths import drop_paths, redact_paths
from autochron.envelope.redaction import Redactor
from autochron.errors import AutochronError, CodecError, DivergenceError
from autochron.inputs import OUTCOME, inputs_of, observed, request_input, shaped_input
from autochron.model import Divergence, Envelope, Exchange, Raised, Returned, Trace
from autochron.ports import Serving
from autochron.replaying.cursor import DAEMON, Cursor, Turns
from autochron.replaying.reports import Report, Told
from autochron.replaying.serving import Served, error_name

_ENOUGH = 100
"""Extra crossings after which a program that goes on regardless is stopped."""


class ReplayStoppedError(BaseException):
    """Ends a program that swallows every divergence and goes on; no `except Exception` catches it."""


class Reentry:
    """What the director keeps with a crossing whose body runs again, with its exchanges served."""

    __slots__ = ("compared", "envelope", "served")

    def __init__(self, envelope: Envelope) -> None:
        self.envelope = envelope
        self.served: dict[int, int] = {}
        self.compared = False

    def next(self, method: str, path: str) -> Exchange | None:
        """Give the exchange that answers a request: the next one of its method and path, masked as it was recorded."""
        last: int | None = None
        for index, each in enumerate(self.envelope.exchanges):
            if each.method == method and exchange.path_of(each.url) == path:
                last = index
                if index not in self.served:
                    self.served[index] = 1
                    return each
        # An attempt more than was kept: attempts of one request collapse into the last.
        if last is None or not _is_failed(self.envelope.exchanges[last]):
            return None
        self.served[last] += 1
        return self.envelope.exchanges[last]

    def attempts(self) -> tuple[int, int] | None:
        """Give how often a request without an answer was sent when it was recorded, and now, where these differ."""
        for index, each in enumerate(self.envelope.exchanges):
            sent = self.served.get(index, each.attempts)
            # One that was answered is answered at once on replay, a refusal with the word that it shan't be tried again.
            if each.status == 0 and sent != each.attempts:
                return each.attempts, sent
        return None


def _is_failed(each: Exchange) -> bool:
    return each.status == 0 or each.status >= 400


class Director:
    """A `CrossingHandler` that serves a trace, with nothing live."""

    def __init__(self, trace: Trace, redactor: Redactor, problem: Callable[[str], None]) -> None:
        self.trace = trace
        self.cursor = Cursor(trace)
        self.turns = _turns(trace, MAIN)
        self.divergences: list[Divergence] = []
        self.progress = 0
        self.crossings = 0
        self._redactor = redactor
        self._problem = problem
        self._lock = _originals.RLock()
        self._changed = _originals.Condition(self._lock)
        self._extra = 0
        self._process = _originals.getpid()
        self._report: Report | None = None
        self._served_in: dict[str, set[str]] = {}
        """The lanes in which the records of a recorded lane were met."""
        self._unasked: dict[int, Reentry] = {}
        """Crossings that run again and have sent nothing yet, by the envelope that they stand for so far."""

    # --- told by the kernel ----------------------------------------------------------------------------------------

    def begin(self, crossing: Crossing, arguments: tuple[Any, ...]) -> Serving | None:
        """Find the record of a crossing and serve it."""
        self._refuse_child(
            crossing.address
        )  # before the lock, which another thread may have held at the fork
        with self._lock:
            self.crossings += 1
            envelope = self._find(crossing, arguments)
            if envelope is None:
                raise self._extra_crossing(crossing)
            earlier = self.cursor.meet(envelope)
            self._served_in.setdefault(envelope.lane, set()).add(crossing.root.lane)
            if self._report is not None:
                self._report.tell(Told(kind="crossed", seq=envelope.seq, lane=crossing.root.lane))
            if envelope.reenters:
                self._unasked[envelope.seq] = crossing.record = Reentry(envelope)
        if earlier is not None:
            self.note(
                "reordered",
                envelope.address,
                f"{envelope.address} came before {earlier.address}; when it was recorded {earlier.address} came first",
                nearest=earlier.address,
            )
        if envelope.reenters:
            return self._request(crossing, crossing.point, arguments) if crossing.point.transport else None
        self._compare(envelope, self._input(crossing, arguments), crossing)
        if crossing.boundary.runs:
            crossing.record = Reentry(envelope)
            return None
        self.cursor.close(envelope)
        with self._changed:
            # Nobody may wait for what was recorded inside until this is served: it may be waiting for them.
            if self.turns.close(envelope):
                self._changed.notify_all()
        return Served(self, crossing, arguments, envelope)

    def returned(self, crossing: Crossing, value: Any) -> Any:
        """Check that a crossing that ran again ended as it did."""
        envelope = self.reentered(crossing)
        if envelope is not None and isinstance(envelope.outcome, Raised):
            name = error_name(envelope.outcome.error)
            self.note(
                "outcome",
                envelope.address,
                f"{envelope.address} returned; when it was recorded it raised {name}",
            )
        elif envelope is not None and crossing.rule.observe:
            self._compare_outcome(envelope, value, crossing)
        return value

    def raised(self, crossing: Crossing, error: BaseException) -> None:
        """Check that a crossing that ran again ended as it did."""
        envelope = self.reentered(crossing)
        if envelope is None or isinstance(error, (AutochronError, GeneratorExit)):
            return
        if (
            crossing.boundary.outcome is not None
        ):  # what is on record is an argument, and not how the body ended
            return
        name = f"{type(error).__module__}:{type(error).__qualname__}"
        recorded = error_name(envelope.outcome.error) if isinstance(envelope.outcome, Raised) else None
        if recorded != name:
            was = "it returned" if recorded is None else f"it raised {recorded}"
            message = f"{envelope.address} raised {name} ({error}); when it was recorded {was}"
            self.note("outcome", envelope.address, message)

    def item(self, crossing: Crossing, item: Any) -> None:
        """Nothing: an item of a crossing that ran again."""

    def substituted(self, crossing: Crossing, argument: Any) -> Any:
        """Give the argument that was recorded."""
        envelope: Envelope = crossing.record.envelope
        outcome = envelope.outcome
        try:
            if not isinstance(outcome, Returned):
                raise CodecError("its rule had no `outcome` when it was recorded; record the trace again")
            return codec.decode(outcome.value)
        except AutochronError as error:
            self.not_rebuilt(envelope, error)
            raise

    def follows(self, crossing: Crossing) -> bool:
        """Follow what sends its request when it is first read, as it was when it was recorded: its body runs again."""
        record = crossing.record
        return isinstance(record, Reentry) and not record.served

    def transport(self, current: Any, point: Any, arguments: tuple[Any, ...]) -> Any:
        """Serve a request inside a model crossing that runs again."""
        if type(current) is not Crossing or not isinstance(current.record, Reentry):
            return None
        if not current.record.envelope.reenters:
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
            self.turns.finish(serving.envelope)
            self.progress += 1
            self._changed.notify_all()

    def reentered(self, crossing: Crossing) -> Envelope | None:
        """Note that a crossing whose requests are served has ended; give its record."""
        record = crossing.record
        if not isinstance(record, Reentry):
            return None
        with self._changed:
            self._unasked.pop(record.envelope.seq, None)
            if (attempts := record.attempts()) is not None:
                recorded, now = attempts
                message = f"{record.envelope.address} was attempted {now}×; when it was recorded, {recorded}×"
                self.note("attempts", record.envelope.address, message, severity="warning")
            self.turns.finish(record.envelope)
            self.progress += 1
            self._changed.notify_all()
        return record.envelope

    def wait_for_turn(self, envelope: Envelope, patience: float) -> None:
        """Block until what ended earlier has ended, or until nothing has moved for a while."""
        with self._changed:
            while not self.turns.is_due(envelope):
                if not self._changed.wait(patience):
                    self.give_up(envelope)

    def give_up(self, envelope: Envelope) -> None:
        """Let a crossing go on although not all that should have ended before has."""
        with self._changed:
            self.turns.give_up(envelope)
            self._changed.notify_all()

    def not_rebuilt(self, envelope: Envelope, error: Exception) -> None:
        """Note that an outcome can't be served."""
        self.note("outcome", envelope.address, f"{envelope.address} can't be served: {error}")

    def note(self, kind: Any, address: str, message: str, **more: Any) -> None:
        """Add a divergence."""
        divergence = Divergence(kind=kind, address=address, message=message, **more)
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
        self.turns = _turns(self.trace, lane)
        self.divergences = []
        self.crossings = self._extra = 0
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
                self.crossings += 1
                self._served_in.setdefault(self.cursor.by_seq[each.seq].lane, set()).add(each.lane)
            elif each.divergence is not None:
                self.divergences.append(each.divergence)
        for envelope in [self.cursor.by_seq[seq] for seq in met]:
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
        record = parent.record
        return record.envelope.seq if isinstance(record, Reentry) else -1

    def finish(self, running: tuple[str, ...] = ()) -> None:
        """Note what did not happen again; another order is a warning where threads share their work.

        `running` are the lanes of processes that may still come to it, each with a slash behind.
        """
        for index, each in enumerate(self.divergences):
            if each.kind == "reordered" and self._is_shared_out(each.address):
                self.divergences[index] = structs.replace(each, severity="warning")
        for envelope in self.cursor.missing():
            if f"{envelope.lane}/".startswith(running):
                continue
            self.note(
                "missing",
                envelope.address,
                f"{envelope.address} ({envelope.site}) was recorded and did not happen",
            )

    # --- inside ------------------------------------------------------------------------------------------------------

    def _find(self, crossing: Crossing, arguments: tuple[Any, ...]) -> Envelope | None:
        parent, cursor = self._parent(crossing), self.cursor
        lane, name = cursor.recorded_lane(crossing.root.lane), crossing.name
        envelope = cursor.at(lane, parent, name, crossing.within)
        if envelope is not None and cursor.is_met(envelope):
            envelope = None
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
        if envelope is not None and self._difference(envelope, given, crossing) is None:
            return envelope
        # For each crossing anew, not once a lane: threads that take their work from one queue may share it out otherwise.
        for each in alike:
            if self._difference(each, given, crossing) is None:
                cursor.identify(crossing.root.lane, each.lane)
                return each
        # What a model was asked is known with its first request.
        return envelope or next((each for each in alike if each.reenters), None)

    def _is_shared_out(self, address: str) -> bool:
        """Tell whether the lane that a crossing was recorded in was met in several lanes: who did what was up to timing."""
        return any(
            each.address == address and len(self._served_in.get(each.lane, ())) > 1
            for each in self.cursor.envelopes
        )

    def _exchange(self, reentry: Reentry, given: bytes, crossing: Crossing) -> None:
        """Give a crossing the record that was asked just this, in a lane that was started alike.

        Where another crossing stands for that one so far, it gets this one's.
        """
        own, cursor = reentry.envelope, self.cursor
        lane = cursor.recorded_lane(crossing.root.lane)
        for each in cursor.alike(lane, self._parent(crossing), crossing.name):
            holder = self._unasked.get(each.seq)
            if each is own or not each.reenters or (holder is None and cursor.is_met(each)):
                continue
            if self._difference(each, given, crossing) is None:
                reentry.envelope = each
                cursor.identify(crossing.root.lane, each.lane)
                cursor.meet(each)
                if holder is None:
                    cursor.release(own)
                else:
                    holder.envelope = own
                    self._unasked[own.seq] = holder
                return

    def _parent(self, crossing: Crossing) -> int | None:
        return self.parent_of(crossing.parent)

    def _extra_crossing(self, crossing: Crossing) -> BaseException:
        nearest = self.cursor.nearest(crossing.name)
        near = "" if nearest is None else f"; the nearest record is {nearest.address} in lane {nearest.lane}"
        message = f"{crossing.address} in lane {crossing.root.lane} was not recorded{near}"
        # How far a daemon gets depends on when the program ends.
        severity = "warning" if DAEMON in crossing.root.lane else "error"
        named = None if nearest is None else nearest.address
        self.note("extra", crossing.address, message, nearest=named, severity=severity)
        self._extra += 1
        if self._extra > _ENOUGH:
            return ReplayStoppedError(message)
        return DivergenceError(message)

    def _input(self, crossing: Crossing, arguments: tuple[Any, ...]) -> bytes:
        inputs = inputs_of(crossing)
        raw = canonical(*inputs.read(arguments))
        return self._redactor.mask_input((crossing.name, crossing.root.lane), raw)

    def path_of(self, wire: exchange.Wire) -> str:
        """Give the path of a request, masked as it was recorded."""
        return exchange.path_of(self._redactor.mask_url(wire.url))

    def compare_request(self, reentry: Reentry, wire: exchange.Wire, crossing: Crossing) -> None:
        """Compare what the provider would get with what it got."""
        if reentry.compared:
            return
        reentry.compared = True
        given = self._redactor.mask_input((crossing.name, crossing.root.lane), request_input(wire))
        given = shaped_input(given, crossing.rule, from_wire=True)
        with self._lock:
            self._unasked.pop(reentry.envelope.seq, None)
            if self._difference(reentry.envelope, given, crossing) is not None:
                self._exchange(reentry, given, crossing)
        self._compare(reentry.envelope, given, crossing)

    def _compare(self, envelope: Envelope, given: bytes, crossing: Crossing) -> None:
        difference = self._difference(envelope, given, crossing)
        if difference is None:
            return
        path, recorded, replayed = difference
        message = f"{envelope.address} was given another input: {path} was {recorded}, now it is {replayed}"
        self.note("input", envelope.address, message, path=path, recorded=recorded, replayed=replayed)

    def _compare_outcome(self, envelope: Envelope, value: Any, crossing: Crossing) -> None:
        """Compare what an observed crossing gave."""
        rule = crossing.rule
        if OUTCOME in rule.volatile or not isinstance(envelope.outcome, Returned):
            return
        given, _ = self._redactor.mask_outcome(observed(rule, value))
        recorded, given = (redact_paths(each, rule.redact) for each in (envelope.outcome.value, given))
        start = f"{OUTCOME}."
        volatile = tuple(path.removeprefix(start) for path in rule.volatile if path.startswith(start))
        recorded, given = drop_paths(recorded, volatile), drop_paths(given, volatile)
        difference = None if recorded == given else first_difference(recorded, given)
        if difference is not None:
            path, was, now = difference
            message = f"{envelope.address} gave something else: {path or 'it'} was {was}, now it is {now}"
            self.note("outcome", envelope.address, message, path=path, recorded=was, replayed=now)

    def _difference(
        self, envelope: Envelope, given: bytes, crossing: Crossing
    ) -> tuple[str, str, str] | None:
        if given == envelope.input:
            return None
        rule = crossing.rule
        recorded = envelope.input
        if rule.redact:
            # Both: the record may be of a time before the rule, or lack what another path has masked since.
            recorded, given = redact_paths(recorded, rule.redact), redact_paths(given, rule.redact)
        if rule.volatile:
            recorded, given = drop_paths(recorded, rule.volatile), drop_paths(given, rule.volatile)
        return first_difference(recorded, given)


def _turns(trace: Trace, lane: str) -> Turns:
    """Give the order of what is served in one process: no process waits for another."""
    process = process_of(lane)
    return Turns(tuple(each for each in trace.envelopes if process_of(each.lane) == process))


class ServedRequest:
    """One request of an HTTP client that is answered from the record."""

    __slots__ = ("_arguments", "_crossing", "_director", "_point")

    def __init__(
        self, director: Director, crossing: Crossing, point: Any, arguments: tuple[Any, ...]
    ) -> None:
        self._director = director
        self._crossing = crossing
        self._point = point
        self._arguments = arguments

    def __bool__(self) -> bool:
        return False

    def outcome(self) -> tuple[BaseException | None, Any]:
        """Give (error, response)."""
        wire = self._compared()
        self._serving().wait()
        return self._answer(wire)

    async def outcome_async(self) -> tuple[BaseException | None, Any]:
        """Give (error, response) to an asynchronous client."""
        wire = self._compared()
        await self._serving().wait_async()
        return self._answer(wire)

    def _compared(self) -> exchange.Wire:
        wire: exchange.Wire = self._point.transport.sent(self._point.parameters, self._arguments)
        self._director.compare_request(self._crossing.record, wire, self._crossing)
        return wire

    def _serving(self) -> Served:
        return Served(self._director, self._crossing, (), self._crossing.record.envelope)

    def _answer(self, wire: exchange.Wire) -> tuple[BaseException | None, Any]:
        try:
            return self._found(wire)
        finally:
            if self._crossing.point.transport:  # the request is all that there is of the crossing
                self._director.reentered(self._crossing)

    def _found(self, wire: exchange.Wire) -> tuple[BaseException | None, Any]:
        reentry: Reentry = self._crossing.record
        path = self._director.path_of(wire)
        found = reentry.next(wire.method, path)
        address = reentry.envelope.address
        if found is None:
            message = f"{address} sends {wire.method} {path}, which was not recorded"
            self._director.note("extra", address, message)
            return DivergenceError(message), None
        try:
            if found.status == 0 and found.error is not None:
                return codec.decode(found.error), None
            door = self._point.transport
            return None, door.rebuilt(found, self._point.parameters, self._arguments)
        except AutochronError as error:
            self._director.not_rebuilt(reentry.envelope, error)
            return error, None
