"""Which envelope belongs to a crossing: by lane, parent, name and its place under that parent."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias

from autochron.crossing.lanes import DAEMON, process_of
from autochron.replaying.lookahead import SHORT, Window, marks

if TYPE_CHECKING:
    from autochron.model import Envelope
    from autochron.ports import Record

Key: TypeAlias = tuple[str, int | None, str]
"""A lane, or what lanes that were started alike share; the parent's place; a name."""


class Cursor:
    """The envelopes of a record, and which of them were met again."""

    def __init__(self, record: Record, on_read: Callable[[Envelope], object]) -> None:
        self.window = Window(record)
        self.is_short = record.is_whole and record.size <= SHORT
        """Whether all of it stays at hand, so that nothing is to be let go."""
        self.on_read = on_read
        """Told of each envelope as it is read, in order of start."""
        self._places: dict[Key, list[Envelope | None]] = {}
        """What a lane crossed of a name under a parent, in order; None for what can't be met, or was let go."""
        self._nth: dict[int, int] = {}
        """Of a long record: the place under its parent of each envelope, by which it is let go."""
        self._siblings: dict[Key, dict[int, Envelope]] | None = None
        """What lanes that were started alike have crossed: by key, and there by seq. None as long as nobody has asked."""
        self._wide: set[Key] = set()
        self._lanes: dict[str, deque[Envelope]] = {}
        """What was not met yet of each lane, in order of start."""
        self._above: dict[int, int] = {}
        self._identity: dict[str, str] = {}
        self._met = marks(record.size)
        self._closed = marks(record.size)
        self._reordered: set[str] = set()
        self.passes_values = False
        """Whether an ambient value that isn't asked for again is no matter of order: a fix may do without."""
        self._begun: dict[str, Envelope] = {}
        """The recorded lanes of which something was met, with the furthest."""
        self._reached = 0
        self.keeps_time = False
        """Whether somebody wants to know `time`."""
        self.time = 0
        """How far into the record what was met goes, in nanoseconds since it began."""
        self._left = 0
        """How many were read and not met."""
        self.tell: Callable[[Literal["met", "released", "closed"], int], object] | None = None
        """Told of what is met, released and closed, by place: in a child process, for the first one to know."""
        self._read_on()

    def _read_on(self) -> None:
        for envelope in self.window.read(self._reached):
            self._take_in(envelope)

    def _take_in(self, envelope: Envelope) -> None:
        lane, parent, name, seq = envelope.lane, envelope.parent, envelope.name, envelope.seq
        key = (lane, parent, name)
        places = self._places.get(key)
        if places is None:
            places = self._places[key] = []
        if not self.is_short:
            self._nth[seq] = len(places)
        if parent is not None:
            self._above[seq] = parent
            if self._is_inside_closed(envelope):
                places.append(None)
                self.window.let_go(envelope)
                return
        places.append(envelope)
        self._left += 1
        queue = self._lanes.get(lane)
        if queue is None:
            queue = self._lanes[lane] = deque()
        queue.append(envelope)
        if self._siblings is not None:
            self._add_sibling(self._siblings, envelope)
        self.on_read(envelope)

    def _every_sibling(self) -> dict[Key, dict[int, Envelope]]:
        if self._siblings is None:
            self._siblings = {}
            at_hand = [each for places in self._places.values() for each in places if each is not None]
            for envelope in sorted(at_hand, key=lambda each: each.seq):
                self._add_sibling(self._siblings, envelope)
        return self._siblings

    def _add_sibling(self, siblings: dict[Key, dict[int, Envelope]], envelope: Envelope) -> None:
        key = (_family(envelope.lane), envelope.parent, envelope.name)
        known = siblings.setdefault(key, {})
        if key not in self._wide and known and next(iter(known.values())).lane != envelope.lane:
            self._wide.add(key)
        known[envelope.seq] = envelope

    # --- finding -----------------------------------------------------------------------------------------------------

    def has_likes(self, lane: str, parent: int | None, name: str) -> bool:
        """Return whether a name was recorded in several lanes that were started alike: a cheap question before `alike`."""
        if len(self._lanes) < 2:
            return False
        self._every_sibling()
        return (_family(lane), parent, name) in self._wide

    def sure(self, lane: str, parent: int | None, name: str, nth: int) -> Envelope | None:
        """Return the envelope at a place where nothing else can be meant: one lane was recorded, and this is it.

        None where it takes more to tell: a cheap question before all others.
        """
        if self._identity or len(self._lanes) != 1:
            return None
        places = self._places.get((lane, parent, name))
        if places is None or nth > len(places):
            return None
        envelope = places[nth - 1]
        return None if envelope is None or envelope.seq in self._met else envelope

    def at(self, lane: str, parent: int | None, name: str, nth: int) -> Envelope | None:
        """Return the envelope recorded at a place, unless it was met and let go."""
        places = self._places.get((lane, parent, name))
        return places[nth - 1] if places is not None and 0 < nth <= len(places) else None

    def alike(self, lane: str, parent: int | None, name: str) -> list[Envelope]:
        """Return what was recorded under a name in the lanes that were started alike, that of this very lane first."""
        family = self._every_sibling().get((_family(lane), parent, name), {}).values()
        return sorted(family, key=lambda envelope: envelope.lane != lane)

    def get(self, seq: int) -> Envelope:
        """Return the envelope of a place in the record."""
        return self.window.get(seq)

    def recorded_lane(self, lane: str) -> str:
        """Return the recorded lane that a lane has turned out to be: its own name, until `identify` knows better."""
        if not self._identity:
            return lane
        known = self._identity.get(lane)
        if known is not None:
            return known
        above, slash, step = lane.rpartition("/")
        return f"{self.recorded_lane(above)}/{step}" if slash else lane

    def identify(self, lane: str, recorded: str) -> None:
        """Note which recorded lane a lane is, and so are those that it was started from, where they are as many."""
        if lane.count("/") != recorded.count("/"):
            self._identity[lane] = recorded
            return
        while lane and self.recorded_lane(lane) != recorded:
            self._identity[lane] = recorded
            lane, recorded = lane.rpartition("/")[0], recorded.rpartition("/")[0]

    def is_known(self, lane: str) -> bool:
        """Return whether anything was recorded in a lane, as far as the record was read."""
        return lane in self._lanes

    def beginnings(self, parent: int | None, name: str) -> Iterator[Envelope]:
        """Yield what a lane of another name may be: the first crossing of each lane of which none was met yet."""
        for lane, queue in self._lanes.items():
            if queue and lane not in self._begun and (queue[0].name, queue[0].parent) == (name, parent):
                yield queue[0]

    def continuations(self, lane: str, parent: int | None, name: str) -> Iterator[Envelope]:
        """Yield what a recorded lane may have gone on with in another: in one that it was started from, or that it started.

        A test awaits in one task what the recorded program ran in several: `load()`, and then `run_until_complete(main())`.
        """
        own = self._lanes.get(lane)
        ahead = own[0].seq if own else None
        for other, queue in self._lanes.items():
            if not queue or other == lane:
                continue
            if other.startswith(f"{lane}/"):  # not one that has begun, nor before its time
                first = queue[0]
                is_due = other not in self._begun and (ahead is None or first.seq < ahead)
                if is_due and (first.name, first.parent) == (name, parent):
                    yield first
            elif lane.startswith(f"{other}/"):
                yield from (each for each in queue if (each.name, each.parent) == (name, parent))

    def next_of(self, lane: str, parent: int | None, name: str) -> Envelope | None:
        """Return the next envelope of a name in a recorded lane that was not met yet."""
        queue = self._lanes.get(lane, ())
        alike = (each for each in queue if (each.name, each.parent) == (name, parent))
        return next((each for each in alike if each.seq not in self._met), None)

    def latest(self, lane: str) -> Envelope | None:
        """Return the furthest envelope of a recorded lane that was met."""
        return self._begun.get(lane)

    def latest_around(self, lane: str) -> Envelope | None:
        """Return the furthest envelope that was met of the nearest lane that one was started from."""
        while "/" in lane:
            lane = lane.rpartition("/")[0]
            if lane in self._begun:
                return self._begun[lane]
        return None

    # --- meeting -----------------------------------------------------------------------------------------------------

    def is_met(self, envelope: Envelope) -> bool:
        """Return whether an envelope was met."""
        return envelope.seq in self._met

    def meet(self, envelope: Envelope) -> Envelope | None:
        """Note that an envelope was met; return what should have come before it in its lane, the first time in a lane."""
        seq, lane = envelope.seq, envelope.lane
        if seq not in self._met:
            self._met.add(seq)
            self._left -= 1
        furthest = self._begun.get(lane)
        if furthest is None or furthest.seq < seq:
            self._begun[lane] = envelope
        if self.keeps_time:
            self.time = max(self.time, envelope.started)
        if self.tell is not None:
            self.tell("met", seq)
        if seq > self._reached:
            self._reached = seq
            if not self.window.is_whole:
                self._read_on()
        queue = self._lanes[lane]
        while queue and (queue[0].seq in self._met or self._is_inside_closed(queue[0])):
            queue.popleft()
        if queue and queue[0].seq < seq and lane not in self._reordered:
            while self.passes_values and queue and queue[0].seq < seq and queue[0].is_value:
                queue.popleft()
            if not queue or queue[0].seq >= seq:
                return None
            self._reordered.add(lane)
            return queue[0]
        return None

    def release(self, envelope: Envelope) -> None:
        """Note that an envelope was not met after all."""
        self._met.discard(envelope.seq)
        self._left += 1
        if self.tell is not None:
            self.tell("released", envelope.seq)
        queue = self._lanes[envelope.lane]
        if envelope not in queue:
            queue.appendleft(envelope)  # all that came before it was met

    def close(self, envelope: Envelope) -> None:
        """Note that an envelope's body is not run: nothing that was recorded inside will be met."""
        self._closed.add(envelope.seq)
        if self.keeps_time:
            self.time = max(self.time, _end(envelope))
        if self.tell is not None:
            self.tell("closed", envelope.seq)

    def let_go(self, envelope: Envelope) -> None:
        """Keep no longer what was met and has ended: a long record is never whole in memory."""
        self.window.let_go(envelope)
        lane, parent, name, seq = envelope.lane, envelope.parent, envelope.name, envelope.seq
        nth = self._nth.pop(seq, None)
        if nth is not None:
            self._places[lane, parent, name][nth] = None
            if self._siblings is not None:
                del self._siblings[_family(lane), parent, name][seq]

    def merge(self, met: Collection[int], closed: Collection[int]) -> None:
        """Note what another process met and closed."""
        for seq in met:
            self._met.add(seq)
        for seq in closed:
            self._closed.add(seq)

    @property
    def is_over(self) -> bool:
        """Whether all of the record has been met."""
        return self.window.is_whole and not self._left

    def missing(self) -> Iterator[Envelope]:
        """Yield what was recorded and never met.

        Without what lies inside a served crossing, or at the end of a daemon's lane.
        """
        if self.is_over:
            return
        for envelope in sorted(self.window.by_seq.values(), key=lambda each: each.seq):
            if self._is_missing(envelope):
                yield envelope
        for envelope in self.window.rest():
            if envelope.parent is not None:
                self._above[envelope.seq] = envelope.parent
            self.on_read(envelope)
            if self._is_missing(envelope):
                yield envelope

    def _is_missing(self, envelope: Envelope) -> bool:
        return (
            envelope.seq not in self._met
            and not (DAEMON in envelope.lane and self._is_tail(envelope))
            and not self._is_inside_closed(envelope)
        )

    def is_due(self, envelope: Envelope) -> bool:
        """Return whether an envelope was not met and may still be: it lies inside nothing that was served."""
        return envelope.seq not in self._met and not self._is_inside_closed(envelope)

    def _is_tail(self, envelope: Envelope) -> bool:
        """Return whether nothing that was met came after an envelope in its lane."""
        furthest = self._begun.get(envelope.lane)
        return furthest is None or furthest.seq < envelope.seq

    def nearest(self, name: str) -> Envelope | None:
        """Return the first envelope of a name that was not met, or the last one of that name, as far as was read."""
        last = None
        for envelope in self.window.by_seq.values():
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
            parent = self._above.get(parent)
        return False


def _family(lane: str) -> str:
    """Return a lane's name without numbers: lanes that were started alike share it."""
    if "/" not in lane:
        return lane
    return "/".join(step.rpartition(".")[0] or step for step in lane.split("/"))


class Turns:
    """The recorded order in which crossings of different lanes ended, in one process: none waits for another."""

    def __init__(self, process: str) -> None:
        self.parallel = False
        self._process = process
        self._lane: str | None = None
        self._open: dict[int, Envelope] = {}
        """What has not ended yet."""
        self._order: list[tuple[int, int]] = []
        """Its ends and places, in order; empty as long as there is one lane."""
        self._inside: dict[int, list[int]] = {}

    def add(self, envelope: Envelope) -> None:
        """Take in an envelope of the record."""
        lane = envelope.lane
        if lane != self._lane:
            if process_of(lane) != self._process:
                return
            if self._lane is None:
                self._lane = lane
            elif not self.parallel:
                self.parallel = True
                self._order = sorted((_end(each), seq) for seq, each in self._open.items())
        self._open[envelope.seq] = envelope
        if self.parallel:
            insort(self._order, (_end(envelope), envelope.seq))
        if envelope.parent is not None:
            self._inside.setdefault(envelope.parent, []).append(envelope.seq)

    def finish(self, envelope: Envelope) -> None:
        """Note that a crossing has ended, and so has what was recorded inside, whether it happened again or not."""
        if self._inside or self.parallel:
            self._end([envelope.seq])
        else:
            self._open.pop(envelope.seq, None)

    def close(self, envelope: Envelope) -> bool:
        """Note that a crossing is served, so that what was recorded inside won't happen; return whether anything was."""
        inside = self._inside.get(envelope.seq)
        if inside:
            self._end(list(inside))
        return bool(inside)

    def _end(self, ended: list[int]) -> None:
        while ended:
            seq = ended.pop()
            envelope = self._open.pop(seq, None)
            if envelope is not None and self.parallel:
                del self._order[bisect_left(self._order, (_end(envelope), seq))]
            if self._inside:
                ended += self._inside.pop(seq, ())

    @property
    def is_over(self) -> bool:
        """Whether all that was recorded has ended."""
        return not self._open

    def is_due(self, envelope: Envelope) -> bool:
        """Return whether all that ended before this crossing, in other lanes, have ended."""
        return next(self.earlier(envelope), None) is None

    def give_up(self, envelope: Envelope) -> None:
        """Wait no longer for what should have ended before: it may never begin."""
        for other in list(self.earlier(envelope)):
            self.finish(other)

    def earlier(self, envelope: Envelope) -> Iterator[Envelope]:
        """Yield what should have ended before and has not."""
        if self.parallel and envelope.seq in self._open:
            # What another process began to work on comes in no order here.
            for _, seq in self._order[: bisect_left(self._order, (_end(envelope), envelope.seq))]:
                other = self._open.get(seq)
                if (
                    other is not None
                    and other.lane != envelope.lane
                    and not _related(other.lane, envelope.lane)
                ):
                    yield other


def _end(envelope: Envelope) -> int:
    return envelope.started + envelope.duration


def _related(one: str, other: str) -> bool:
    """Return whether one lane was started inside the other."""
    return one.startswith(f"{other}/") or other.startswith(f"{one}/")
