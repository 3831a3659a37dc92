"""Find the record of a crossing: by its place, and where several lanes were started alike by what it was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autochron.crossing.lanes import Remote
from autochron.replaying import compare
from autochron.replaying.running import Running

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.model import Envelope
    from autochron.ports import Record
    from autochron.replaying.cursor import Cursor
    from autochron.replaying.log import Log


class Finder:
    """Matches crossings with envelopes, under the schedule's lock.

    Attributes:
        unasked: crossings that run again and have sent nothing yet, by the place of the record that they stand for so far.
    """

    def __init__(self, cursor: Cursor, read: Callable[[Crossing[Running], tuple[Any, ...]], bytes]) -> None:
        self._cursor = cursor
        self._read = read
        """Returns the input of a crossing."""
        self.unasked: dict[int, Running] = {}
        self._mixed: set[str] = set()
        """Lanes that go on with what was recorded in several."""
        self._own: set[str] = set()
        """Recorded lanes of which something was met in a lane of the same name."""
        self._others: dict[str, set[str]] = {}
        """The other lanes in which the records of a recorded lane were met."""

    def find(self, crossing: Crossing[Running], arguments: tuple[Any, ...]) -> Envelope | None:
        """Return the envelope that a crossing is the replay of; None where it was not recorded."""
        above, lane = crossing.parent, crossing.root.lane
        parent = None if above is None else parent_of(above)
        envelope = self._cursor.sure(lane, parent, crossing.name, crossing.within)
        if envelope is not None:
            return envelope
        if lane not in self._mixed:
            envelope = self._find_in_lane(crossing, arguments, parent)
        else:  # how many of a name it has crossed says nothing of how many the recorded lane had
            envelope = self._cursor.next_of(self._cursor.recorded_lane(lane), parent, crossing.name)
        return envelope or self._find_continued(crossing, arguments, parent)

    def _find_continued(
        self, crossing: Crossing[Running], arguments: tuple[Any, ...], parent: int | None
    ) -> Envelope | None:
        """Find what a lane may have gone on with where the recorded program did so in a lane of its own."""
        lane, cursor = crossing.root.lane, self._cursor
        input_body: bytes | None = None
        for candidate in list(cursor.continuations(cursor.recorded_lane(lane), parent, crossing.name)):
            if not candidate.reenters:  # what a model was asked is known with its first request
                input_body = input_body or self._read(crossing, arguments)
                if compare.differs(candidate, input_body, crossing.rule):
                    continue
            if not cursor.is_met(candidate):
                self._mixed.add(lane)
                cursor.identify(lane, candidate.lane)
                return candidate
        return None

    def _find_in_lane(
        self, crossing: Crossing[Running], arguments: tuple[Any, ...], parent: int | None
    ) -> Envelope | None:
        cursor = self._cursor
        lane, name = cursor.recorded_lane(crossing.root.lane), crossing.name
        envelope = cursor.at(lane, parent, name, crossing.within)
        if envelope is not None and cursor.is_met(envelope):
            envelope = None
        if envelope is None and not cursor.is_known(lane):
            return self._find_lane(crossing, arguments, parent)
        if envelope is not None and not cursor.has_likes(lane, parent, name):
            return envelope
        alike = [
            candidate
            for candidate in cursor.alike(lane, parent, name)
            if candidate is not envelope and not cursor.is_met(candidate)
        ]
        if not alike or (envelope is not None and envelope.reenters):
            return envelope
        # Lanes that were started alike may start in any order: the input tells them apart.
        input_body = self._read(crossing, arguments)
        if envelope is not None and not compare.differs(envelope, input_body, crossing.rule):
            return envelope
        # For each crossing anew, not once a lane: threads that take their work from one queue may share it out otherwise.
        for candidate in alike:
            if not compare.differs(candidate, input_body, crossing.rule):
                cursor.identify(crossing.root.lane, candidate.lane)
                return candidate
        # What a model was asked is known with its first request.
        return envelope or next((candidate for candidate in alike if candidate.reenters), None)

    def _find_lane(
        self, crossing: Crossing[Running], arguments: tuple[Any, ...], parent: int | None
    ) -> Envelope | None:
        """Find what a lane of a name that was not recorded may be, by what it crosses first.

        A test awaits the agent in a task of its own; a thread's function gets another name.
        """
        lane, cursor = crossing.root.lane, self._cursor
        alike = cursor.alike(cursor.recorded_lane(lane), parent, crossing.name)
        candidates = [candidate for candidate in alike if not cursor.is_met(candidate)]
        candidates = candidates or list(cursor.beginnings(parent, crossing.name))
        if len(candidates) > 1 and not candidates[0].reenters:
            input_body = self._read(crossing, arguments)
            candidates.sort(key=lambda candidate: compare.differs(candidate, input_body, crossing.rule))
        if not candidates:
            return None
        cursor.identify(lane, candidates[0].lane)
        return candidates[0]

    def exchange(self, running: Running, input_body: bytes, crossing: Crossing[Running], log: Log) -> None:
        """Assign to a crossing the record that was asked the same, in a lane that was started alike.

        Where another crossing stands for that one so far, it gets this one's.
        """
        own, cursor = running.envelope, self._cursor
        assert own is not None  # noqa: S101 - it answers from it
        lane = cursor.recorded_lane(crossing.root.lane)
        for candidate in cursor.alike(lane, parent_of(crossing.parent), crossing.name):
            holder = self.unasked.get(candidate.seq)
            if candidate is own or not candidate.reenters or (holder is None and cursor.is_met(candidate)):
                continue
            if not compare.differs(candidate, input_body, crossing.rule):
                running.envelope = candidate
                log.replaced(running.entry, candidate)
                cursor.identify(crossing.root.lane, candidate.lane)
                cursor.meet(candidate)
                if holder is None:
                    cursor.release(own)
                else:
                    holder.envelope = own
                    log.replaced(holder.entry, own)
                    self.unasked[own.seq] = holder
                return

    def met_in(self, envelope: Envelope, lane: str) -> None:
        """Note the lane in which a record was met."""
        if envelope.lane == lane:
            self._own.add(lane)
        else:
            self._others.setdefault(envelope.lane, set()).add(lane)

    def is_shared_out(self, address: str, record: Record) -> bool:
        """Return whether the lane that a crossing was recorded in was met in several lanes: who did what was up to timing."""
        return any(each.address == address and self._lanes_of(each.lane) > 1 for each in record)

    def _lanes_of(self, lane: str) -> int:
        return len(self._others.get(lane, ())) + (lane in self._own)


def parent_of(parent: Any) -> int | None:
    """Return the recorded seq of what is open around a crossing; -1 where it has no record."""
    if parent is None:
        return None
    if type(parent) is Remote:
        return parent.seq
    running = parent.record
    if not isinstance(running, Running) or running.envelope is None:
        return -1
    return running.envelope.seq
