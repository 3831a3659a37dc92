"""Which crossings follow from something live. They may differ from the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from autochron.replaying.lookahead import Marks

if TYPE_CHECKING:
    from autochron.model import Envelope


class _Moment(NamedTuple):
    """The earliest live crossing of a lane.

    Attributes:
        seq: the lowest `seq` of the lane's live crossings.
        started: when the first of them started, in nanoseconds of the recording.
        ended: when the first of them ended.
    """

    seq: int
    started: int
    ended: int


class Consequences:
    """Decides which recorded crossings may differ because something before, around or upstream of them is live.

    It decides by the record alone, so that the answer is the same in every replay. Crossings of one lane are compared by
    their order. If one lane was started from the other, they are compared by their times. In other lanes, a crossing
    follows only if the live one had ended before the branch of lanes that it belongs to began.
    """

    def __init__(self) -> None:
        self._lanes: dict[str, _Moment] = {}
        self._beginnings: dict[str, int] = {}
        """When each lane or a lane that was started in it first crossed anything, in nanoseconds of the recording."""
        self._live = Marks()
        self._above: dict[int, int] = {}
        """The parent of each envelope that has one, by `seq`."""

    def read(self, envelope: Envelope, *, is_live: bool) -> None:
        """Add an envelope of the record. They come in order of start."""
        if envelope.parent is not None:
            self._above[envelope.seq] = envelope.parent
        lane = envelope.lane
        while lane not in self._beginnings:
            self._beginnings[lane] = envelope.started
            lane = lane.rpartition("/")[0] or lane
        if is_live:
            self.happened(envelope)

    def happened(self, envelope: Envelope) -> None:
        """Note that a recorded crossing is live."""
        self._live.add(envelope.seq)
        self._note(envelope.lane, envelope.seq, envelope.started, envelope.started + envelope.duration)

    def happened_anew(self, lane: str, after: Envelope | None, around: Envelope | None) -> None:
        """Note a live crossing that was not recorded.

        Args:
            lane: its recorded lane.
            after: the furthest envelope of the lane that was met; None if the crossing is the first of its lane.
            around: the furthest envelope that was met in the lanes that its own was started from. The first crossing of
                a lane came after it.
        """
        latest = around if after is None else after
        end = 0 if latest is None else latest.started + latest.duration
        self._note(lane, 0 if after is None else after.seq, end, end)

    def _note(self, lane: str, seq: int, started: int, ended: int) -> None:
        known = self._lanes.get(lane)
        if known is not None:
            seq, started, ended = min(seq, known.seq), min(started, known.started), min(ended, known.ended)
        self._lanes[lane] = _Moment(seq, started, ended)

    def include(self, envelope: Envelope) -> bool:
        """Return whether a crossing is inside, after or downstream of something live."""
        if not self._lanes:
            return False
        parent = envelope.parent
        while parent is not None:
            if parent in self._live:
                return True
            parent = self._above.get(parent)
        return any(self._reaches(moment, lane, envelope) for lane, moment in self._lanes.items())

    def _reaches(self, moment: _Moment, lane: str, envelope: Envelope) -> bool:
        own = envelope.lane
        if lane == own:
            return moment.seq < envelope.seq
        if lane.startswith(f"{own}/"):  # the live lane was started from this one
            return moment.ended <= envelope.started
        shared = _shared(lane, own)
        branch = "/".join(own.split("/")[: shared + 1])
        began = self._beginnings.get(branch, envelope.started)
        if own.startswith(f"{lane}/"):
            return moment.started <= began
        return moment.ended <= began


NOTHING_LIVE = Consequences()
"""The consequences in a replay in which nothing is live: none."""


def _shared(first: str, second: str) -> int:
    """Return the number of steps with which both lanes begin."""
    count = 0
    for step, other in zip(first.split("/"), second.split("/"), strict=False):
        if step != other:
            break
        count += 1
    return count
