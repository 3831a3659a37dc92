"""Finding the record of a crossing: by its place, and by its input if several lanes were started alike."""

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
    """Matches crossings with envelopes. Its caller holds the schedule's lock.

    Attributes:
        awaiting_request: crossings that run again and have not sent a request yet, by the `seq` of the record that is
            assigned to them so far.
    """

    def __init__(self, cursor: Cursor, read: Callable[[Crossing[Running], tuple[Any, ...]], bytes]) -> None:
        """Take the cursor of the record, and the function that returns the input of a crossing."""
        self._cursor = cursor
        self._read = read
        self.awaiting_request: dict[int, Running] = {}
        self._mixed: set[str] = set()
        """Lanes whose crossings were recorded in several lanes."""
        self._own: set[str] = set()
        """Recorded lanes with an envelope that was met in the lane of the same name."""
        self._others: dict[str, set[str]] = {}
        """By recorded lane: the lanes of other names in which its envelopes were met."""

    def find(self, crossing: Crossing[Running], arguments: tuple[Any, ...]) -> Envelope | None:
        """Return the record of a crossing; None if it has none."""
        above, lane = crossing.parent, crossing.root.lane
        parent = None if above is None else parent_of(above)
        envelope = self._cursor.sure(lane, parent, crossing.name, crossing.within)
        if envelope is not None:
            return envelope
        if lane not in self._mixed:
            envelope = self._find_in_lane(crossing, arguments, parent)
        else:  # the number of its crossings of a name is not that of the recorded lane
            envelope = self._cursor.next_of(self._cursor.recorded_lane(lane), parent, crossing.name)
        return envelope or self._find_continued(crossing, arguments, parent)

    def _find_continued(
        self, crossing: Crossing[Running], arguments: tuple[Any, ...], parent: int | None
    ) -> Envelope | None:
        """Find the record in another lane, in which the recorded program did what this lane goes on with."""
        lane, cursor = crossing.root.lane, self._cursor
        input_body: bytes | None = None
        for candidate in list(cursor.continuations(cursor.recorded_lane(lane), parent, crossing.name)):
            if not candidate.reenters:  # the input of a model call is known only with its first request
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
        # Lanes that were started alike may start in any order, so they are matched by input.
        input_body = self._read(crossing, arguments)
        if envelope is not None and not compare.differs(envelope, input_body, crossing.rule):
            return envelope
        # For each crossing, and not once for a lane: threads that take work from one queue may share it differently.
        for candidate in alike:
            if not compare.differs(candidate, input_body, crossing.rule):
                cursor.identify(crossing.root.lane, candidate.lane)
                return candidate
        # The input of a model call is known only with its first request.
        return envelope or next((candidate for candidate in alike if candidate.reenters), None)

    def _find_lane(
        self, crossing: Crossing[Running], arguments: tuple[Any, ...], parent: int | None
    ) -> Envelope | None:
        """Find the record of the first crossing of a lane that was recorded under another name.

        A test may await the agent in a task of its own, or a thread's function may have been renamed.
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
        """Assign to a crossing the record with the same input, in a lane that was started alike.

        If this record is assigned to another crossing so far, the two crossings exchange their records.

        Args:
            running: a crossing that has sent its first request.
            input_body: the input of that request.
            crossing: the same crossing, as the kernel knows it.
            log: of the replay.
        """
        own, cursor = running.envelope, self._cursor
        assert own is not None  # noqa: S101 - its requests are answered from it
        lane = cursor.recorded_lane(crossing.root.lane)
        for candidate in cursor.alike(lane, parent_of(crossing.parent), crossing.name):
            holder = self.awaiting_request.get(candidate.seq)
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
                    self.awaiting_request[own.seq] = holder
                return

    def met_in(self, envelope: Envelope, lane: str) -> None:
        """Note the lane in which an envelope was met."""
        if envelope.lane == lane:
            self._own.add(lane)
        else:
            self._others.setdefault(envelope.lane, set()).add(lane)

    def is_shared_out(self, address: str, record: Record) -> bool:
        """Return whether the recorded lane of a crossing was met in several lanes. Then timing decides the order."""
        return any(envelope.address == address and self._lanes_of(envelope.lane) > 1 for envelope in record)

    def _lanes_of(self, lane: str) -> int:
        return len(self._others.get(lane, ())) + (lane in self._own)


def parent_of(parent: Any) -> int | None:
    """Return the recorded `seq` of a parent crossing; None without a parent, and -1 if the parent has no record."""
    if parent is None:
        return None
    if type(parent) is Remote:
        return parent.seq
    running = parent.record
    if not isinstance(running, Running) or running.envelope is None:
        return -1
    return running.envelope.seq
