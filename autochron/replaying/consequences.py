"""What follows from something live: there, replay and record may disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from autochron.replaying.lookahead import Marks

if TYPE_CHECKING:
    from autochron.model import Envelope


class _Moment(NamedTuple):
    """When the earliest live crossing of a lane was recorded to start, and when one first ended."""

    seq: int
    started: int
    ended: int


class Consequences:
    """Knows what of a record may be otherwise because something before it, around it or upstream of it is live.

    Judged by the record alone, which is the same in every replay: in one lane by order, in lanes that were started from
    each other by when, and between others only where one had ended before the other began.
    """

    def __init__(self) -> None:
        self._lanes: dict[str, _Moment] = {}
        self._beginnings: dict[str, int] = {}
        """When each lane, and what was started in it, first crossed anything."""
        self._live = Marks()
        self._above: dict[int, int] = {}

    def read(self, envelope: Envelope, *, is_live: bool) -> None:
        """Take in an envelope of the record, in order of start."""
        if envelope.parent is not None:
            self._above[envelope.seq] = envelope.parent
        lane = envelope.lane
        while lane not in self._beginnings:
            self._beginnings[lane] = envelope.started
            lane = lane.rpartition("/")[0] or lane
        if is_live:
            self.happened(envelope)

    def happened(self, envelope: Envelope) -> None:
        """Note that a crossing is live."""
        self._live.add(envelope.seq)
        self._note(envelope.lane, envelope.seq, envelope.started, envelope.started + envelope.duration)

    def happened_anew(self, lane: str, after: Envelope | None, around: Envelope | None) -> None:
        """Note that something live happened that was not recorded, after a crossing of its lane or as the first there.

        `around` is the latest of the lanes that its own was started from: as the first in its lane it came after that.
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
        """Return whether a crossing lies below, after or downstream of something live."""
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
        if lane.startswith(f"{own}/"):  # it was started from here
            return moment.ended <= envelope.started
        shared = _shared(lane, own)
        branch = "/".join(own.split("/")[: shared + 1])
        began = self._beginnings.get(branch, envelope.started)
        if own.startswith(f"{lane}/"):
            return moment.started <= began
        return moment.ended <= began


NOTHING_LIVE = Consequences()
"""Those of a replay in which nothing is live: none."""


def _shared(one: str, other: str) -> int:
    """Count the steps that two lanes begin with alike."""
    count = 0
    for mine, theirs in zip(one.split("/"), other.split("/"), strict=False):
        if mine != theirs:
            break
        count += 1
    return count
