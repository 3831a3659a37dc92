"""The state of a replay that the director shares with what it serves and with what runs."""

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
    from autochron.ports import Record
    from autochron.redaction.redactor import Redactor
    from autochron.replaying.child_reports import ChildReport
    from autochron.replaying.plan import ReplayPlan


class OpenStream(Protocol):
    """A stream that is served and has not come to its end."""

    def left_open(self) -> None:
        """Note that the program ends without having read on."""


class ReplayState:
    """What one process of a replay knows: the record and the plan, and how far the program has come in them.

    It does not know the director, nor does anything in it: a replay that is let go is freed at once, and not when garbage
    is collected.

    Attributes:
        record: the trace that is replayed.
        plan: which crossings are live.
        inputs: reads inputs, and masks them as the record's.
        consequences: what follows from something live.
        states: what tools share outside their arguments.
        cursor: which recorded crossings were met.
        schedule: the recorded order of ends, and who waits for it.
        divergence_log: the divergences.
        log: what crossed.
        printing: what served crossings are still to print.
        streams: the served streams that are being read, by the `seq` of their record.
        report: where a child process tells the first one what it does; None in the first one.
    """

    def __init__(
        self, record: Record, redactor: Redactor, plan: ReplayPlan, state_of: Callable[[Envelope], str | None]
    ) -> None:
        """Take `state_of`, which returns the `state` that a recorded crossing shares with others."""
        self.record = record
        self.plan = plan
        self.inputs = InputReader(redactor, typed=record.header.typed)
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

    def _reader(self, turns: Turns) -> Callable[[Envelope], None]:
        """Return what hears of each envelope of the record, in order of start."""
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
        """Note that a crossing that was served has ended."""
        with self.schedule.lock:
            if self.streams:
                self.streams.pop(envelope.seq, None)
            self.schedule.finish(envelope)

    def not_rebuilt(self, envelope: Envelope, error: Exception) -> None:
        """Note that an outcome can't be served, whatever is live."""
        message = f"{envelope.address} can't be served: {error}"
        self.divergence_log.note("outcome", envelope.address, message, severity="error")

    def end_streams(self) -> None:
        """Note which streams were not read as far as they were recorded: the process is at its end."""
        for stream in list(self.streams.values()):
            stream.left_open()
        self.streams.clear()

    def serve_child(self, report: ChildReport, lane: str) -> None:
        """Serve a child process from now on, whose lane this is; what is noted goes into its report.

        After a fork, too: then locks may be held by threads that are gone, and what was noted is the parent's.
        """

        def tell(kind: Literal["met", "released", "closed"], seq: int) -> None:
            report.tell(ChildEvent(kind=kind, seq=seq))

        turns = Turns(process_of(lane))
        self.schedule.begin_anew(turns)
        self.report = report
        self.streams.clear()
        self.cursor.tell = tell
        self.cursor.on_read = self._reader(turns)
        for envelope in self.cursor.window.by_seq.values():
            turns.add(envelope)
        self.divergence_log.begin_anew(report, self.schedule.lock)
        self.log = Log(self.cursor.get, unpatched.perf_counter_ns())
