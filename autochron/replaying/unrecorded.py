"""Crossings that have no record: run where the plan or something live around them says so, and refused elsewhere."""

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
"""Values of one line that are recorded; what is asked for beyond is made up."""

_ENOUGH = 100
"""Refused crossings after which a program that goes on regardless is stopped."""


class ReplayStoppedError(BaseException):
    """Ends a program that swallows every divergence and goes on; no `except Exception` catches it."""


class Unrecorded:
    """Decides what becomes of them, and gives those that run an address."""

    def __init__(self, state: ReplayState, runs: RunningCrossings) -> None:
        self._state = state
        self._runs = runs
        self._refused = 0
        self._counts: dict[str, int] = {}
        self._files: set[str] | None = None
        """Those in which something was recorded; None until that is asked."""

    def begin(self, crossing: Crossing[Running], arguments: tuple[Any, ...]) -> Serving | None:
        """Let a crossing run where the plan says so or it is inside something live, or serve it what a like one returned.

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
        """Return whether a plan lets it run; an ambient value is live only where it is named."""
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
        """Yield what was recorded before a live crossing, and after the live one before it: what that did is not in it."""
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
        """Serve what another crossing of the name and input gave."""
        entry = self._state.log.begin(crossing, "served", None, self._next_address(crossing.name))
        entry.parent = place_of(crossing.parent)
        entry.input = input_body
        entry.outcome = known.outcome
        self._state.divergence_log.repeated(entry.full_address, around.record.entry.full_address, known)
        return Repeated(known)

    def _invent(self, crossing: Crossing[Running], arguments: tuple[Any, ...]) -> None:
        """Have a value made up that was not recorded: the program goes on with it."""
        running = self._runs.begin(crossing, "invented", None, self._next_address(crossing.name))
        running.entry.input = self._state.inputs.input(crossing, arguments)
        self._note_invented(crossing, running.entry.address)

    def _note_invented(self, crossing: Crossing[Running], address: tuple[str, int]) -> None:
        """Note an ambient value that is made up."""
        name, nth = address
        is_foreign = self._is_foreign(crossing.rule.place.file)
        self._state.divergence_log.invented(
            crossing, f"{name}[{nth}]", ran_out=nth > CAP, is_foreign=is_foreign
        )

    def _is_foreign(self, file: str) -> bool:
        """Return whether nothing was recorded in a file: it is a test's own, say, and no part of the recorded program."""
        if self._files is None:
            self._files = {
                each.site.removeprefix("@").rpartition(":")[0] for each in self._state.record.boundaries()
            }
        return file not in self._files

    def _next_address(self, name: str) -> tuple[str, int]:
        """Return the next address of a name after those that were recorded."""
        if name not in self._counts:
            self._counts[name] = counts_of(self._state.record.boundaries()).get(name, 0)
        self._counts[name] += 1
        return name, self._counts[name]

    def _goes_on(self, lane: str, name: str) -> bool:
        """Return whether all of a recorded lane was met, and something of a name among it."""
        envelopes = [envelope for envelope in self._state.record if envelope.lane == lane]
        return all(self._state.cursor.is_met(envelope) for envelope in envelopes) and any(
            envelope.name == name for envelope in envelopes
        )

    def _refuse(self, crossing: Crossing[Running]) -> BaseException:
        """Note one that can't be served; return what is raised in its place."""
        nearest = self._state.cursor.nearest(crossing.name)
        lane = crossing.root.lane
        is_tail = DAEMON in lane and self._goes_on(self._state.cursor.recorded_lane(lane), crossing.name)
        message = self._state.divergence_log.unrecorded(
            crossing.address, crossing.name, crossing.rule.kind, lane, nearest, is_tail=is_tail
        )
        self._refused += 1
        return ReplayStoppedError(message) if self._refused > _ENOUGH else DivergenceError(message)


def _live_around(crossing: Crossing[Running]) -> Any:
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
