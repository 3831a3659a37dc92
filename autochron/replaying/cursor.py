"""Which envelope belongs to a crossing: by lane, parent, name and its place under that parent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Literal

from autochron.model import Envelope, Trace

DAEMON = "/~"
"""Stands in the name of a lane that is a daemon thread: how far those get depends on timing."""


class Cursor:
    """The envelopes of a trace, and which of them were met again."""

    def __init__(self, trace: Trace) -> None:
        self.envelopes = trace.envelopes
        self.by_seq = {envelope.seq: envelope for envelope in trace.envelopes}
        self._by_place: dict[tuple[str, int | None, str, int], Envelope] = {}
        self._siblings: dict[tuple[str, int | None, str], list[Envelope]] = {}
        self._lanes: dict[str, list[Envelope]] = {}
        self._lane_at: dict[str, int] = {}
        self._identity: dict[str, str] = {}
        self._met: set[int] = set()
        self._closed: set[int] = set()
        self._reordered: set[str] = set()
        self.tell: Callable[[Literal["met", "released", "closed"], int], object] | None = None
        """Told of what is met, released and closed, by seq: in a child process, for the first one to know."""
        counts: dict[tuple[str, int | None, str], int] = {}
        for envelope in trace.envelopes:
            key = (envelope.lane, envelope.parent, envelope.name)
            nth = counts[key] = counts.get(key, 0) + 1
            self._by_place[(*key, nth)] = envelope
            self._siblings.setdefault((_family(envelope.lane), envelope.parent, envelope.name), []).append(
                envelope
            )
            self._lanes.setdefault(envelope.lane, []).append(envelope)
        self._wide = {
            key for key, family in self._siblings.items() if len({each.lane for each in family}) > 1
        }

    def has_likes(self, lane: str, parent: int | None, name: str) -> bool:
        """Tell whether a name was recorded in several lanes that were started alike: a cheap question before `alike`."""
        return (_family(lane), parent, name) in self._wide

    def at(self, lane: str, parent: int | None, name: str, nth: int) -> Envelope | None:
        """Give the envelope recorded at a place."""
        return self._by_place.get((lane, parent, name, nth))

    def alike(self, lane: str, parent: int | None, name: str) -> list[Envelope]:
        """Give what was recorded under a name in the lanes that were started alike, that of this very lane first."""
        family = self._siblings.get((_family(lane), parent, name), ())
        return sorted(family, key=lambda envelope: envelope.lane != lane) if len(family) > 1 else list(family)

    def recorded_lane(self, lane: str) -> str:
        """Give the recorded lane that a lane has turned out to be: its own name, until `identify` knows better."""
        if not self._identity:
            return lane
        known = self._identity.get(lane)
        if known is not None:
            return known
        above, slash, step = lane.rpartition("/")
        return f"{self.recorded_lane(above)}/{step}" if slash else lane

    def identify(self, lane: str, recorded: str) -> None:
        """Note which recorded lane a lane is, and so are those that it was started from."""
        while lane and self.recorded_lane(lane) != recorded:
            self._identity[lane] = recorded
            lane, recorded = lane.rpartition("/")[0], recorded.rpartition("/")[0]

    def is_met(self, envelope: Envelope) -> bool:
        """Tell whether an envelope was met."""
        return envelope.seq in self._met

    def meet(self, envelope: Envelope) -> Envelope | None:
        """Note that an envelope was met; give what should have come before it in its lane, the first time in a lane."""
        self._met.add(envelope.seq)
        if self.tell is not None:
            self.tell("met", envelope.seq)
        lane = self._lanes[envelope.lane]
        at = self._lane_at.get(envelope.lane, 0)
        while at < len(lane) and (lane[at].seq in self._met or self._is_inside_closed(lane[at])):
            at += 1
        self._lane_at[envelope.lane] = at
        if at < len(lane) and lane[at].seq < envelope.seq and envelope.lane not in self._reordered:
            self._reordered.add(envelope.lane)
            return lane[at]
        return None

    def release(self, envelope: Envelope) -> None:
        """Note that an envelope was not met after all."""
        self._met.discard(envelope.seq)
        if self.tell is not None:
            self.tell("released", envelope.seq)
        self._lane_at.pop(envelope.lane, None)

    def close(self, envelope: Envelope) -> None:
        """Note that an envelope's body is not run: nothing that was recorded inside will be met."""
        self._closed.add(envelope.seq)
        if self.tell is not None:
            self.tell("closed", envelope.seq)

    def merge(self, met: Collection[int], closed: Collection[int]) -> None:
        """Note what another process met and closed."""
        self._met.update(met)
        self._closed.update(closed)

    def missing(self) -> list[Envelope]:
        """Give what was recorded and never met, without what lies inside a served crossing or in a daemon's lane."""
        return [
            envelope
            for envelope in self.envelopes
            if envelope.seq not in self._met
            and not self._is_inside_closed(envelope)
            and DAEMON not in envelope.lane
        ]

    def nearest(self, name: str) -> Envelope | None:
        """Give the first envelope of a name that was not met, or the last one of that name."""
        last = None
        for envelope in self.envelopes:
            if envelope.name == name:
                if envelope.seq not in self._met:
                    return envelope
                last = envelope
        return last

    def _is_inside_closed(self, envelope: Envelope) -> bool:
        parent = envelope.parent
        while parent is not None:
            if parent in self._closed:
                return True
            above = self.by_seq.get(parent)
            parent = None if above is None else above.parent
        return False


class Turns:
    """The recorded order in which crossings of different lanes ended."""

    def __init__(self, envelopes: tuple[Envelope, ...]) -> None:
        self.parallel = len({envelope.lane for envelope in envelopes}) > 1
        self._ended = sorted(envelopes, key=_end) if self.parallel else []
        self._place = {envelope.seq: place for place, envelope in enumerate(self._ended)}
        self._first = 0
        """Up to here all are done."""
        self._done: set[int] = set()
        self._inside: dict[int, list[int]] = {}
        for envelope in self._ended:
            if envelope.parent is not None:
                self._inside.setdefault(envelope.parent, []).append(envelope.seq)

    def finish(self, envelope: Envelope) -> None:
        """Note that a crossing has ended, and so has what was recorded inside, whether it happened again or not."""
        if self.parallel:
            self._end([envelope.seq])

    def close(self, envelope: Envelope) -> bool:
        """Note that a crossing is served, so that what was recorded inside won't happen; tell whether anything was."""
        inside = self._inside.get(envelope.seq) if self.parallel else None
        if inside:
            self._end(list(inside))
        return bool(inside)

    def _end(self, ended: list[int]) -> None:
        while ended:
            seq = ended.pop()
            self._done.add(seq)
            ended += self._inside.get(seq, ())
        while self._first < len(self._ended) and self._ended[self._first].seq in self._done:
            self._first += 1

    def is_due(self, envelope: Envelope) -> bool:
        """Tell whether all that ended before this crossing, in other lanes, have ended."""
        return next(self._earlier(envelope), None) is None

    def give_up(self, envelope: Envelope) -> None:
        """Wait no longer for what should have ended before: it may never begin."""
        for other in list(self._earlier(envelope)):
            self.finish(other)

    def _earlier(self, envelope: Envelope) -> Iterator[Envelope]:
        if self.parallel:
            # What another process began to work on comes in no order here.
            for place in range(self._first, self._place.get(envelope.seq, 0)):
                other = self._ended[place]
                if (
                    other.seq not in self._done
                    and other.lane != envelope.lane
                    and not _related(other, envelope)
                ):
                    yield other


def _end(envelope: Envelope) -> int:
    return envelope.started + envelope.duration


def _related(one: Envelope, other: Envelope) -> bool:
    """Tell whether one crossing's lane was started inside the other's."""
    return one.lane.startswith(other.lane + "/") or other.lane.startswith(one.lane + "/")


def _family(lane: str) -> str:
    """Give a lane's name without numbers: lanes that were started alike share it."""
    return "/".join(step.rpartition(".")[0] or step for step in lane.split("/"))
