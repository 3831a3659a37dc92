"""Crossings without a record. They run if the plan or a live crossing around them allows it, and are refused otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from autochron.crossing.lanes import DAEMON, Remote
from autochron.errors import DivergenceError
from autochron.model import VALUE
from autochron.replaying.plan import counts_of
from autochron.replaying.repeated import Repeated, find_repeated
from autochron.replaying.running import Running
from autochron.replaying.running_crossings import place_of

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.model import Envelope
    from autochron.ports import Serving
    from autochron.replaying.replay_state import ReplayState
    from autochron.replaying.running_crossings import RunningCrossings

CAP = 100_000
"""The number of values that are recorded of one line. Later ones are synthesised."""

_ENOUGH = 100
"""The number of refused crossings after which the program is stopped."""


class ReplayStoppedError(BaseException):
    """Ends a program that catches every DivergenceError and goes on. No `except Exception` catches this one."""


class Unrecorded:
    """Decides what happens to crossings without a record, and assigns addresses to them."""

    def __init__(self, state: ReplayState, runs: RunningCrossings) -> None:
        self._state = state
        self._runs = runs
        self._refused = 0
        self._counts: dict[str, int] = {}
        self._files: set[str] | None = None
        """The files with recorded crossings; None until they are needed."""

    def begin(self, crossing: Crossing[Running], arguments: tuple[Any, ...]) -> Serving | None:
        """Let a crossing run, or serve it the outcome of a record with the same name and input.

        It runs if the plan makes it live, or if it is inside a live crossing and no such record exists. An ambient value
        is synthesised. The caller holds the schedule's lock.

        Returns:
            What serves the crossing; None if its body is to run.

        Raises:
            DivergenceError: the crossing can neither run nor be served.
            ReplayStoppedError: the program goes on although many crossings were refused.
        """
        state = self._state
        if not self._is_live(crossing):
            if crossing.rule.id.startswith(VALUE):
                self._invent(crossing, arguments)
                return None
            around = _live_around(crossing)
            if around is None:
                raise self._refuse(crossing)
            input_body = state.inputs.input(crossing, arguments)
            known = find_repeated(self._before_live(around.record), crossing.name, input_body)
            if known is not None:
                return self._repeat(crossing, input_body, known, around)
        lane = state.cursor.recorded_lane(crossing.root.lane)
        state.consequences.happened_anew(lane, state.cursor.latest(lane), state.cursor.latest_around(lane))
        running = self._runs.begin(crossing, "live", None, self._next_address(crossing.name))
        running.entry.input = state.inputs.input(crossing, arguments)
        state.divergence_log.live_anew(running.entry.full_address)
        return None

    def _is_live(self, crossing: Crossing[Running]) -> bool:
        """Return whether the plan makes a crossing live. `after:` does not make an ambient value live."""
        plan = self._state.plan
        if plan.is_full:
            return False
        is_value = crossing.rule.id.startswith(VALUE)
        if (
            plan.after is not None
            and not is_value
            and self._state.cursor.is_met(self._state.cursor.get(plan.after))
        ):
            return True
        return crossing.name in plan.names or crossing.rule.kind in plan.kinds or crossing.rule.observe

    def _before_live(self, running: Running) -> Iterator[Envelope]:
        """Yield the envelopes between the previous live crossing and this one.

        Envelopes before the previous live crossing may not show its effects.
        """
        record, plan = self._state.record, self._state.plan
        last = record.size + 1 if running.envelope is None else running.envelope.seq
        earlier: list[Envelope] = []
        for envelope in record:
            if envelope.seq >= last:
                break
            if plan.is_live(envelope):
                earlier.clear()
            else:
                earlier.append(envelope)
        yield from earlier

    def _repeat(
        self, crossing: Crossing[Running], input_body: bytes, known: Envelope, around: Any
    ) -> Serving:
        """Serve the outcome of another record with the same name and input."""
        entry = self._state.log.begin(crossing, "served", None, self._next_address(crossing.name))
        entry.parent = place_of(crossing.parent)
        entry.input = input_body
        entry.outcome = known.outcome
        self._state.divergence_log.repeated(entry.full_address, around.record.entry.full_address, known)
        return Repeated(known)

    def _invent(self, crossing: Crossing[Running], arguments: tuple[Any, ...]) -> None:
        """Let an ambient value be synthesised that was not recorded, so that the program can go on."""
        running = self._runs.begin(crossing, "invented", None, self._next_address(crossing.name))
        running.entry.input = self._state.inputs.input(crossing, arguments)
        self._note_invented(crossing, running.entry.address)

    def _note_invented(self, crossing: Crossing[Running], address: tuple[str, int]) -> None:
        """Note an ambient value that is synthesised."""
        name, nth = address
        is_foreign = self._is_foreign(crossing.rule.place.file)
        self._state.divergence_log.invented(
            crossing, f"{name}[{nth}]", ran_out=nth > CAP, is_foreign=is_foreign
        )

    def _is_foreign(self, file: str) -> bool:
        """Return whether a file has no recorded crossings. It may be a test's, and no part of the recorded program."""
        if self._files is None:
            self._files = {
                boundary.site.removeprefix("@").rpartition(":")[0]
                for boundary in self._state.record.boundaries()
            }
        return file not in self._files

    def _next_address(self, name: str) -> tuple[str, int]:
        """Return name and occurrence of the next crossing of a name, counted on from the recorded ones."""
        if name not in self._counts:
            self._counts[name] = counts_of(self._state.record.boundaries()).get(name, 0)
        self._counts[name] += 1
        return name, self._counts[name]

    def _goes_on(self, lane: str, name: str) -> bool:
        """Return whether all envelopes of a recorded lane were met, and the lane has one of a name."""
        envelopes = [envelope for envelope in self._state.record if envelope.lane == lane]
        return all(self._state.cursor.is_met(envelope) for envelope in envelopes) and any(
            envelope.name == name for envelope in envelopes
        )

    def _refuse(self, crossing: Crossing[Running]) -> BaseException:
        """Note a crossing that can't be served. Return the error to raise for it."""
        nearest = self._state.cursor.nearest(crossing.name)
        lane = crossing.root.lane
        is_tail = DAEMON in lane and self._goes_on(self._state.cursor.recorded_lane(lane), crossing.name)
        message = self._state.divergence_log.unrecorded(
            crossing.address, crossing.name, crossing.rule.kind, lane, nearest, is_tail=is_tail
        )
        self._refused += 1
        return ReplayStoppedError(message) if self._refused > _ENOUGH else DivergenceError(message)


def _live_around(crossing: Crossing[Running]) -> Any:
    """Return the nearest live crossing that encloses a crossing; None if there is none."""
    above: Any = crossing.parent
    while above is not None:
        if type(above) is Remote:
            return None
        running = above.record
        if isinstance(running, Running) and running.mode == "live":
            return above
        above = above.parent
    return None
