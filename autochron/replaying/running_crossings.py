"""The crossings of a replay whose body runs: their beginning, comparison with the record, and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autochron.inputs import request_input, shaped_input
from autochron.replaying import compare
from autochron.replaying.child_reports import ChildEvent
from autochron.replaying.divergence_log import MASKED
from autochron.replaying.log import masked
from autochron.replaying.running import Running

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.http import exchange
    from autochron.model import Envelope, Mode
    from autochron.ports import LiveObserver
    from autochron.replaying.lookup import Finder
    from autochron.replaying.replay_state import ReplayState


class RunningCrossings:
    """Begins, compares and ends the crossings whose body runs.

    Attributes:
        observer: called as live crossings begin and end; None if nobody observes their effects.
    """

    def __init__(self, state: ReplayState, finder: Finder) -> None:
        self._state = state
        self._finder = finder
        self.observer: LiveObserver[Crossing[Running]] | None = None

    def begin(
        self,
        crossing: Crossing[Running],
        mode: Mode,
        envelope: Envelope | None,
        address: tuple[str, int] | None = None,
    ) -> Running:
        """Begin a crossing whose body runs. The caller holds the schedule's lock.

        Args:
            crossing: the crossing.
            mode: how it is replayed.
            envelope: its record, or None.
            address: name and occurrence. A crossing without a record needs it.
        """
        state = self._state
        entry = state.log.begin(crossing, mode, envelope, address)
        entry.parent = place_of(crossing.parent)
        crossing.record = running = Running(envelope, mode, entry)
        if running.answers and envelope is not None:
            self._finder.awaiting_request[envelope.seq] = running
        if mode == "live":
            state.schedule.live_now += 1
            if self.observer is not None:
                self.observer.entered(crossing)
            if entry.kind == "tool" and crossing.rule.state is None:
                lane = state.cursor.recorded_lane(crossing.root.lane)
                state.divergence_log.hint_at_state(entry.full_address, lane)
        return running

    def end(self, crossing: Crossing[Running]) -> Running | None:
        """End a crossing whose body ran. Return what was kept with it; None if its body did not run."""
        running = crossing.record
        if not isinstance(running, Running):
            return None
        envelope, schedule = running.envelope, self._state.schedule
        with schedule.lock:
            if running.mode == "live":
                schedule.live_now -= 1
            if envelope is None:
                schedule.finish_unrecorded()
                return running
            self._finder.awaiting_request.pop(envelope.seq, None)
            if (attempts := running.attempts()) is not None:
                recorded, now = attempts
                message = f"{envelope.address} was attempted {now}×; when it was recorded, {recorded}×"
                self._state.divergence_log.note(
                    "attempts", envelope.address, message, envelope=envelope, severity="warning"
                )
            schedule.finish(envelope)
        return running

    def compare_request(self, running: Running, wire: exchange.Wire, crossing: Crossing[Running]) -> None:
        """Compare the request that the provider would get with the recorded one.

        Args:
            running: what is kept with the crossing.
            wire: the request.
            crossing: the crossing that sends it. Only its first request is compared.
        """
        if running.compared:
            return
        running.compared = True
        state, envelope = self._state, running.envelope
        input_body = raw = request_input(wire)
        if envelope is None or input_body != envelope.input:
            input_body = state.inputs.masked(crossing, raw)
            input_body = shaped_input(input_body, crossing.rule, from_wire=True)
        if envelope is not None and MASKED in envelope.meta:
            state.divergence_log.compare_masked(
                envelope, state.inputs, (raw, input_body), crossing.rule, from_wire=True
            )
        if envelope is None or not envelope.reenters:
            running.entry.input = input_body
            return
        with state.schedule.lock:
            self._finder.awaiting_request.pop(envelope.seq, None)
            if compare.differs(envelope, input_body, crossing.rule):
                self._finder.exchange(running, input_body, crossing, state.log)
                envelope = running.envelope or envelope
        if input_body != envelope.input:
            running.entry.input = input_body
        state.divergence_log.compare_input(envelope, input_body, crossing.rule)

    def compare_outcome(self, running: Running, crossing: Crossing[Running]) -> None:
        """Compare the outcome of a crossing with the recorded one. A child process reports it to the first process."""
        state, envelope, outcome = self._state, running.envelope, running.entry.outcome
        if envelope is not None and outcome is not None and outcome != envelope.outcome:
            outcome, live = masked(outcome, state.inputs), running.mode == "live"
            state.divergence_log.compare_live(envelope, outcome, crossing.rule, live=live)
            if live and outcome == envelope.outcome:
                state.divergence_log.masked_outcome(envelope)
        if state.report is not None:
            replayed = state.log.replayed_at(running.entry, state.inputs)
            state.report.write(ChildEvent(kind="replayed", replayed=replayed))


def place_of(crossing: Any) -> int | None:
    """Return the place of a running crossing in the log; None for one whose body does not run, and for None."""
    running = None if crossing is None else crossing.record
    return running.entry.place if isinstance(running, Running) else None
