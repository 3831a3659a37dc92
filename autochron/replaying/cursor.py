"""The envelopes of a record by lane, parent, name and number, with those that were met, and the order of their ends."""

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
"""(lane, or the family name of lanes that were started alike; `seq` of the parent; name)."""


class Cursor:
    """The envelopes of a record, and which of them were met: matched with a crossing of the replay.

    Attributes:
        window: the envelopes in memory.
        is_short: whether the whole record stays in memory, so that `let_go` need not be called.
        on_read: called with each envelope as it is read, in order of start.
        passes_values: whether ambient values that are not asked for again don't count as overtaken. A fixed program may
            not need them.
        keeps_time: whether `time` is kept up to date.
        time: the latest moment of the recording that was met, in nanoseconds since its start.
        on_change: called with `met`, `released` or `closed`, and the `seq`. A child process reports these to the first
            process. None in the first process.
    """

    def __init__(self, record: Record, on_read: Callable[[Envelope], object]) -> None:
        """Read the beginning of a record.

        Args:
            record: the trace.
            on_read: called with each envelope as it is read.
        """
        self.window = Window(record)
        self.is_short = record.is_whole and record.size <= SHORT
        self.on_read = on_read
        self._places: dict[Key, list[Envelope | None]] = {}
        """The envelopes of a lane, parent and name, in order. None stands for one that can't be met, or was let go."""
        self._nth: dict[int, int] = {}
        """Of a long record: the index of each envelope in its list of `_places`, by `seq`. `let_go` needs it."""
        self._siblings: dict[Key, dict[int, Envelope]] | None = None
        """The envelopes of lanes that were started alike, by key and `seq`. None until they are needed."""
        self._wide: set[Key] = set()
        """The keys of `_siblings` with envelopes of several lanes."""
        self._lanes: dict[str, deque[Envelope]] = {}
        """The envelopes of each lane that were not met yet, in order of start."""
        self._above: dict[int, int] = {}
        """The parent of each envelope that has one, by `seq`."""
        self._identity: dict[str, str] = {}
        """The recorded lane of each lane of the replay that has another name."""
        self._met = marks(record.size)
        self._closed = marks(record.size)
        self._reordered: set[str] = set()
        """The lanes of which another order was noted. It is noted once for each."""
        self.passes_values = False
        self._begun: dict[str, Envelope] = {}
        """By recorded lane: the furthest envelope that was met."""
        self._reached = 0
        """The highest `seq` that was met."""
        self.keeps_time = False
        self.time = 0
        self._left = 0
        """The number of envelopes that were read and not met."""
        self.on_change: Callable[[Literal["met", "released", "closed"], int], object] | None = None
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
            at_hand = [
                envelope for places in self._places.values() for envelope in places if envelope is not None
            ]
            for envelope in sorted(at_hand, key=lambda envelope: envelope.seq):
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
        """Return whether `alike` has envelopes of several lanes. This is cheaper than `alike`."""
        if len(self._lanes) < 2:
            return False
        self._every_sibling()
        return (_family(lane), parent, name) in self._wide

    def sure(self, lane: str, parent: int | None, name: str, nth: int) -> Envelope | None:
        """Return the envelope of a place if the record has one lane only, so that no other can be meant.

        This is the cheapest lookup, and comes first.

        Args:
            lane: of the crossing.
            parent: the `seq` of the parent's envelope, or None.
            name: of the crossing.
            nth: its number among those of its name under the parent, from 1.

        Returns:
            The envelope; None if the record has several lanes, the place is empty, or its envelope was met.
        """
        if self._identity or len(self._lanes) != 1:
            return None
        places = self._places.get((lane, parent, name))
        if places is None or nth > len(places):
            return None
        envelope = places[nth - 1]
        return None if envelope is None or envelope.seq in self._met else envelope

    def at(self, lane: str, parent: int | None, name: str, nth: int) -> Envelope | None:
        """Return the envelope of a place, as for `sure`; None if the place is empty, or its envelope was let go."""
        places = self._places.get((lane, parent, name))
        return places[nth - 1] if places is not None and 0 < nth <= len(places) else None

    def alike(self, lane: str, parent: int | None, name: str) -> list[Envelope]:
        """Return the envelopes of a parent and name in the lanes that were started alike. Those of this lane come first."""
        family = self._every_sibling().get((_family(lane), parent, name), {}).values()
        return sorted(family, key=lambda envelope: envelope.lane != lane)

    def get(self, seq: int) -> Envelope:
        """Return the envelope of a `seq`."""
        return self.window.get(seq)

    def recorded_lane(self, lane: str) -> str:
        """Return the recorded lane that a lane of the replay stands for: the one of its own name, unless identified."""
        if not self._identity:
            return lane
        known = self._identity.get(lane)
        if known is not None:
            return known
        above, slash, step = lane.rpartition("/")
        return f"{self.recorded_lane(above)}/{step}" if slash else lane

    def identify(self, lane: str, recorded: str) -> None:
        """Note which recorded lane a lane of the replay stands for.

        If both are nested equally deep, the lanes that enclose them are identified, too.
        """
        if lane.count("/") != recorded.count("/"):
            self._identity[lane] = recorded
            return
        while lane and self.recorded_lane(lane) != recorded:
            self._identity[lane] = recorded
            lane, recorded = lane.rpartition("/")[0], recorded.rpartition("/")[0]

    def is_known(self, lane: str) -> bool:
        """Return whether a lane has envelopes, as far as the record was read."""
        return lane in self._lanes

    def beginnings(self, parent: int | None, name: str) -> Iterator[Envelope]:
        """Yield the first envelope of each lane that was not begun yet, if it has this parent and name.

        A lane that was recorded under another name may be one of these.
        """
        for lane, queue in self._lanes.items():
            if queue and lane not in self._begun and (queue[0].name, queue[0].parent) == (name, parent):
                yield queue[0]

    def continuations(self, lane: str, parent: int | None, name: str) -> Iterator[Envelope]:
        """Yield envelopes with which a lane may go on, from the lanes that it was started from and that it started.

        A test may await in one task what the recorded program ran in several: `load()`, and then
        `run_until_complete(main())`.
        """
        own = self._lanes.get(lane)
        ahead = own[0].seq if own else None
        for other, queue in self._lanes.items():
            if not queue or other == lane:
                continue
            if other.startswith(
                f"{lane}/"
            ):  # only a lane that has not begun, and is due before this one goes on
                first = queue[0]
                is_due = other not in self._begun and (ahead is None or first.seq < ahead)
                if is_due and (first.name, first.parent) == (name, parent):
                    yield first
            elif lane.startswith(f"{other}/"):
                yield from (
                    envelope for envelope in queue if (envelope.name, envelope.parent) == (name, parent)
                )

    def next_of(self, lane: str, parent: int | None, name: str) -> Envelope | None:
        """Return the next envelope of a parent and name in a recorded lane that was not met yet; None if there is none."""
        queue = self._lanes.get(lane, ())
        alike = (envelope for envelope in queue if (envelope.name, envelope.parent) == (name, parent))
        return next((envelope for envelope in alike if envelope.seq not in self._met), None)

    def latest(self, lane: str) -> Envelope | None:
        """Return the furthest envelope of a recorded lane that was met; None if none was."""
        return self._begun.get(lane)

    def latest_around(self, lane: str) -> Envelope | None:
        """Return the furthest met envelope of the nearest enclosing lane that has one; None if none has."""
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
        """Note that an envelope was met.

        Returns:
            An envelope of the same lane that should have come earlier; None if there is none. A lane's second and later
            ones are not returned.
        """
        seq, lane = envelope.seq, envelope.lane
        if seq not in self._met:
            self._met.add(seq)
            self._left -= 1
        furthest = self._begun.get(lane)
        if furthest is None or furthest.seq < seq:
            self._begun[lane] = envelope
        if self.keeps_time:
            self.time = max(self.time, envelope.started)
        if self.on_change is not None:
            self.on_change("met", seq)
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
        """Note that an envelope was not met after all, because its crossing got another one."""
        self._met.discard(envelope.seq)
        self._left += 1
        if self.on_change is not None:
            self.on_change("released", envelope.seq)
        queue = self._lanes[envelope.lane]
        if envelope not in queue:
            queue.appendleft(envelope)  # all earlier ones of the lane were met

    def close(self, envelope: Envelope) -> None:
        """Note that the body of an envelope's crossing does not run, so that no envelope inside it will be met."""
        self._closed.add(envelope.seq)
        if self.keeps_time:
            self.time = max(self.time, _end(envelope))
        if self.on_change is not None:
            self.on_change("closed", envelope.seq)

    def let_go(self, envelope: Envelope) -> None:
        """Drop an envelope that was met and has ended. So a long record is never in memory as a whole."""
        self.window.let_go(envelope)
        lane, parent, name, seq = envelope.lane, envelope.parent, envelope.name, envelope.seq
        nth = self._nth.pop(seq, None)
        if nth is not None:
            self._places[lane, parent, name][nth] = None
            if self._siblings is not None:
                del self._siblings[_family(lane), parent, name][seq]

    def merge(self, met: Collection[int], closed: Collection[int]) -> None:
        """Note the envelopes that another process met and closed, by `seq`."""
        for seq in met:
            self._met.add(seq)
        for seq in closed:
            self._closed.add(seq)

    @property
    def is_over(self) -> bool:
        """Whether the whole record was met."""
        return self.window.is_whole and not self._left

    def missing(self) -> Iterator[Envelope]:
        """Yield the envelopes that were never met.

        Those inside a served crossing and those at the end of a daemon's lane are left out.
        """
        if self.is_over:
            return
        for envelope in sorted(self.window.by_seq.values(), key=lambda envelope: envelope.seq):
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
        """Return whether an envelope was not met and may still be, because it is not inside a served crossing."""
        return envelope.seq not in self._met and not self._is_inside_closed(envelope)

    def _is_tail(self, envelope: Envelope) -> bool:
        """Return whether no later envelope of the same lane was met."""
        furthest = self._begun.get(envelope.lane)
        return furthest is None or furthest.seq < envelope.seq

    def nearest(self, name: str) -> Envelope | None:
        """Return the first envelope of a name in memory that was not met. If all were met, return the last one, or None."""
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
    """Return a lane's name without numbers. Lanes that were started alike share it."""
    if "/" not in lane:
        return lane
    return "/".join(step.rpartition(".")[0] or step for step in lane.split("/"))


class Turns:
    """The recorded order in which the crossings of one process ended. No process waits for another.

    Attributes:
        parallel: whether the process has several lanes, so that there is an order to keep.
    """

    def __init__(self, process: str) -> None:
        """Start without envelopes, for the process of this name."""
        self.parallel = False
        self._process = process
        self._lane: str | None = None
        """The first lane of the process."""
        self._open: dict[int, Envelope] = {}
        """The envelopes that have not ended yet, by `seq`."""
        self._order: list[tuple[int, int]] = []
        """(end in nanoseconds, `seq`) of these envelopes, sorted. Empty as long as there is one lane."""
        self._inside: dict[int, list[int]] = {}
        """The `seq` numbers of the envelopes directly inside each."""

    def add(self, envelope: Envelope) -> None:
        """Add an envelope of the record. Those of other processes are left out."""
        lane = envelope.lane
        if lane != self._lane:
            if process_of(lane) != self._process:
                return
            if self._lane is None:
                self._lane = lane
            elif not self.parallel:
                self.parallel = True
                self._order = sorted((_end(earlier), seq) for seq, earlier in self._open.items())
        self._open[envelope.seq] = envelope
        if self.parallel:
            insort(self._order, (_end(envelope), envelope.seq))
        if envelope.parent is not None:
            self._inside.setdefault(envelope.parent, []).append(envelope.seq)

    def finish(self, envelope: Envelope) -> None:
        """Note that a crossing has ended, and with it all that was recorded inside, whether that happened or not."""
        if self._inside or self.parallel:
            self._end([envelope.seq])
        else:
            self._open.pop(envelope.seq, None)

    def close(self, envelope: Envelope) -> bool:
        """Note that a crossing is served, so that what was recorded inside will not happen. Return whether there was any."""
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
        """Whether all envelopes have ended."""
        return not self._open

    def is_due(self, envelope: Envelope) -> bool:
        """Return whether all crossings of other lanes that ended earlier in the recording have ended."""
        return next(self.earlier(envelope), None) is None

    def give_up(self, envelope: Envelope) -> None:
        """Treat all crossings that should end earlier as ended: some may never begin."""
        for other in list(self.earlier(envelope)):
            self.finish(other)

    def are_over(self, moment: int, stream: Envelope) -> bool:
        """Return whether all crossings of the process, but for a stream, have ended that had ended at a moment."""
        return next(self._before(moment, stream), None) is None

    def end_until(self, moment: int, stream: Envelope) -> None:
        """Treat all these crossings as ended: some may never begin."""
        for other in list(self._before(moment, stream)):
            self.finish(other)

    def _before(self, moment: int, stream: Envelope) -> Iterator[Envelope]:
        for _, seq in self._order[: bisect_left(self._order, (moment, 0))]:
            other = self._open.get(seq)
            if other is not None and other is not stream:
                yield other

    def earlier(self, envelope: Envelope) -> Iterator[Envelope]:
        """Yield the crossings of unrelated lanes that should have ended earlier and have not."""
        if self.parallel and envelope.seq in self._open:
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


def _related(first: str, second: str) -> bool:
    """Return whether one lane was started inside the other."""
    return first.startswith(f"{second}/") or second.startswith(f"{first}/")
