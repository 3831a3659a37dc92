"""The state of a replay that the director shares with served and running crossings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

from autochron._runtime import unpatched
from autochron.crossing.lanes import MAIN, process_of
from autochron.replaying.child_reports import ChildEvent
from autochron.replaying.consequences import NOTHING_LIVE, Consequences
from autochron.replaying.cursor import Cursor, Turns
from autochron.replaying.divergence_log import DivergenceLog
from autochron.replaying.inputs import InputReader
from autochron.replaying.log import Log
from autochron.replaying.printing import Printing
from autochron.replaying.schedule import Schedule
from autochron.replaying.shared_state import States

if TYPE_CHECKING:
    from autochron.model import Envelope
    from autochron.ports import ModelListener, Record
    from autochron.redaction.redactor import Redactor
    from autochron.replaying.child_reports import ChildReport
    from autochron.replaying.plan import ReplayPlan


class OpenStream(Protocol):
    """A served stream that was not read to its end."""

    def left_open(self) -> None:
        """Note that the program ended before it had read the stream as far as in the recording."""


class ReplayState:
    """What one process of a replay knows: the record and the plan, and how far the program has come.

    Neither this object nor anything in it refers to the director. Without that cycle a replay is freed at once when it is
    dropped, and not only by the garbage collector.

    Attributes:
        record: the trace that is replayed.
        plan: which crossings are live.
        inputs: reads inputs, and masks them as those of the record.
        consequences: what follows from something live.
        states: which tools share a state outside their arguments.
        cursor: which recorded crossings were met.
        schedule: the recorded order of ends, and who waits for it.
        divergence_log: the divergences.
        log: the crossings of the replay.
        printing: what served crossings are still to print.
        streams: the served streams that are being read, by the `seq` of their record.
        report: where a child process reports to the first process; None in the first process.
        listener: is told of the requests to models; None if the record has no found tools.
    """

    def __init__(
        self, record: Record, redactor: Redactor, plan: ReplayPlan, state_of: Callable[[Envelope], str | None]
    ) -> None:
        """Prepare the state for the first process.

        Args:
            record: the trace that is replayed.
            redactor: masks inputs and outcomes.
            plan: which crossings are live.
            state_of: returns the `state` of a recorded crossing's rule; None if it shares no state.
        """
        self.record = record
        self.plan = plan
        self.inputs = InputReader(redactor, record.header.input_form)
        self.consequences = NOTHING_LIVE if plan.is_full else Consequences()
        self.states = States(state_of)
        turns = Turns(MAIN)
        self.cursor = Cursor(record, self._reader(turns))
        self.cursor.passes_values = not plan.is_full
        self.schedule = Schedule(turns, self.cursor, self.consequences)
        self.divergence_log = DivergenceLog(plan, self.consequences, self.schedule.lock)
        self.log = Log(self.cursor.get, unpatched.perf_counter_ns())
        self.printing = Printing()
        self.streams: dict[int, OpenStream] = {}
        self.report: ChildReport | None = None
        self.listener: ModelListener | None = None

    def _reader(self, turns: Turns) -> Callable[[Envelope], None]:
        """Return the function that takes each envelope of the record as it is read, in order of start."""
        plan, consequences, states = self.plan, self.consequences, self.states
        if plan.is_full:
            return turns.add

        def read(envelope: Envelope) -> None:
            turns.add(envelope)
            is_live = plan.is_live(envelope)
            consequences.read(envelope, is_live=is_live)
            if is_live or envelope.parent is not None:
                states.read(envelope, is_live=is_live)

        return read

    def served(self, envelope: Envelope) -> None:
        """Note that a served crossing has ended."""
        with self.schedule.lock:
            if self.streams:
                self.streams.pop(envelope.seq, None)
            self.schedule.finish(envelope)

    def not_rebuilt(self, envelope: Envelope, error: Exception) -> None:
        """Note that an outcome can't be rebuilt. That is an error whatever is live."""
        message = f"{envelope.address} can't be served: {error}"
        self.divergence_log.note("outcome", envelope.address, message, severity="error")

    def end_streams(self) -> None:
        """Note at the end of the process which streams were not read as far as in the recording."""
        for stream in list(self.streams.values()):
            stream.left_open()
        self.streams.clear()

    def serve_child(self, report: ChildReport, lane: str) -> None:
        """Change to the state of a child process.

        Locks, log and divergences start anew. After a fork, threads that are gone may hold the old locks, and the old
        divergences are the parent's.

        Args:
            report: where the child reports to the first process.
            lane: the lane of the child.
        """

        def write_change(kind: Literal["met", "released", "closed"], seq: int) -> None:
            report.write(ChildEvent(kind=kind, seq=seq))

        turns = Turns(process_of(lane))
        self.schedule.begin_anew(turns)
        self.report = report
        self.streams.clear()
        self.cursor.on_change = write_change
        self.cursor.on_read = self._reader(turns)
        for envelope in self.cursor.window.by_seq.values():
            turns.add(envelope)
        self.divergence_log.begin_anew(report, self.schedule.lock)
        self.log = Log(self.cursor.get, unpatched.perf_counter_ns())
