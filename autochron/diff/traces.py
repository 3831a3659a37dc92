"""In what two traces differ: which crossings belong together, and what is another in each pair.

Crossings are matched inside matched parents, lane by lane. Lanes that were started alike are told apart by what crossed in
them, then by their names and order, as on replay (see `cursor`). Durations, ids of traces and the order between lanes
never count.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator
from hashlib import blake2b
from typing import TypeAlias

from msgspec import structs
from msgspec.json import encode

from autochron.crossing.lanes import DAEMON
from autochron.diff.align import align
from autochron.diff.crossings import Contrasts, Inputs, differences_of_runs, plural
from autochron.envelope.type_trees import without_types
from autochron.model import Comparison, Difference, Envelope, Paired, Trace


def differ(first: Trace, second: Trace, *, inputs: Inputs = "strict") -> Comparison:
    """Compare two traces."""
    one, other = _Side(first), _Side(second)
    typed = first.header.typed and second.header.typed
    if not typed:
        first, second = _untyped(first), _untyped(second)
    contrasts = Contrasts(inputs)
    # In this order, so that an identifier is known where it is used.
    found = [_told(match, one, other, contrasts) for match in _ordered(_matched(one, other))]
    run = tuple(differences_of_runs(first, second))
    told = [*run, *(each for pair in found for each in pair.differences)]
    return Comparison(
        first=first.header,
        second=second.header,
        same=not any(each.severity == "error" for each in told),
        pairs=tuple(found),
        run=run,
    )


def _untyped(trace: Trace) -> Trace:
    """Return a trace with the inputs as older versions wrote them."""
    envelopes = [structs.replace(each, input=without_types(each.input)) for each in trace.envelopes]
    return structs.replace(trace, envelopes=tuple(envelopes))


class _Side:
    """One of the traces, by parent and lane."""

    def __init__(self, trace: Trace) -> None:
        self._seqs = {envelope.seq for envelope in trace.envelopes}
        self._places: dict[int, int] = {}
        self.inside: dict[int | None, dict[str, list[Envelope]]] = defaultdict(lambda: defaultdict(list))
        for envelope in trace.envelopes:
            beside = self.inside[self.parent(envelope)][envelope.lane]
            self._places[envelope.seq] = len(beside)
            beside.append(envelope)
        self._digests: dict[int, bytes] = {}
        for envelope in reversed(trace.envelopes):  # what is inside started later
            self._digests[envelope.seq] = self._digest(envelope)

    def parent(self, envelope: Envelope) -> int | None:
        """Return the seq of the enclosing crossing; None where that was lost."""
        parent = envelope.parent
        return parent if parent is not None and parent < envelope.seq and parent in self._seqs else None

    def whole(self, envelope: Envelope) -> bytes:
        """Return what is equal where two crossings are the same with all that is inside them."""
        return self._digests[envelope.seq]

    def count_inside(self, envelope: Envelope) -> int:
        """Count what lies inside a crossing, at any depth."""
        count, waiting = 0, [envelope.seq]
        while waiting:
            for found in self.inside.get(waiting.pop(), {}).values():
                count += len(found)
                waiting += [each.seq for each in found]
        return count

    def before(self, envelope: Envelope) -> str:
        """Return what a crossing follows in its lane."""
        beside = self.inside[self.parent(envelope)][envelope.lane]
        at = self._places[envelope.seq]
        return f"after {beside[at - 1].address}" if at else "the first"

    def _digest(self, envelope: Envelope) -> bytes:
        inside = [
            (lane, [self._digests.get(each.seq, b"").hex() for each in found])
            for lane, found in sorted(self.inside.get(envelope.seq, {}).items())
        ]
        digest = blake2b(
            encode((envelope.name, envelope.outcome, envelope.exchanges, inside)), digest_size=16
        )
        for part in (envelope.input, envelope.changed or b"", envelope.meta):
            digest.update(b"%d:" % len(part) + part)
        return digest.digest()


# --- matching ------------------------------------------------------------------------------------------------------


class _Match:
    """A crossing in both traces, or in one of them."""

    __slots__ = ("first", "moved", "second")

    def __init__(self, first: Envelope | None, second: Envelope | None, *, moved: bool = False) -> None:
        self.first = first
        self.second = second
        self.moved = moved


def _matched(one: _Side, other: _Side) -> Iterator[_Match]:
    lanes = _Lanes()
    waiting: list[tuple[int | None, int | None]] = [(None, None)]
    while waiting:
        above, below = waiting.pop()
        for mine, theirs in lanes.paired(one.inside.get(above, {}), other.inside.get(below, {})):
            for match in _aligned(mine, theirs, one, other):
                if match.first is not None and match.second is not None:
                    waiting.append((match.first.seq, match.second.seq))
                yield match


def _aligned(mine: list[Envelope], theirs: list[Envelope], one: _Side, other: _Side) -> Iterator[_Match]:
    found = align(
        [(one.whole(each), (each.name, each.input), each.name) for each in mine],
        [(other.whole(each), (each.name, each.input), each.name) for each in theirs],
    )
    left, right = {match.first for match in found}, {match.second for match in found}
    for match in found:
        yield _Match(mine[match.first], theirs[match.second], moved=match.moved)
    yield from (_Match(each, None) for at, each in enumerate(mine) if at not in left)
    yield from (_Match(None, each) for at, each in enumerate(theirs) if at not in right)


_Crossed: TypeAlias = dict[str, list[Envelope]]


class _Lanes:
    """Which lane of one trace is which of the other."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        """Lanes of the second trace, by what they are called in the first."""

    def paired(self, one: _Crossed, other: _Crossed) -> Iterator[tuple[list[Envelope], list[Envelope]]]:
        """Pair what crossed inside two parents by lane."""
        left, right = _by_creation(one), _by_creation(other)
        for family in dict.fromkeys([_family(lane) for lane in (*left, *right)]):
            mine = [lane for lane in left if _family(lane) == family]
            theirs = [lane for lane in right if _family(lane) == family]
            for lane, twin in self._twins(mine, theirs, one, other):
                if lane is not None and twin is not None:
                    self._known.setdefault(twin, lane)
                yield one[lane] if lane is not None else [], other[twin] if twin is not None else []

    def _twins(
        self, mine: list[str], theirs: list[str], one: _Crossed, other: _Crossed
    ) -> Iterator[tuple[str | None, str | None]]:
        left, right = dict.fromkeys(mine), {twin: self._called(twin) for twin in theirs}
        for key in (_inputs, _first_input, _names, _nothing):
            named = {lane: twin for twin, lane in right.items()}
            places: dict[Hashable, deque[str]] = defaultdict(deque)
            for lane in list(left):
                twin = named.get(lane)
                if twin is not None and key(one[lane]) == key(other[twin]):
                    del left[lane], right[twin]
                    yield lane, twin
            for twin in right:
                places[key(other[twin])].append(twin)
            for lane in list(left):
                alike = places[key(one[lane])]
                if alike:
                    twin = alike.popleft()
                    del left[lane], right[twin]
                    yield lane, twin
        yield from ((lane, None) for lane in left)
        yield from ((None, twin) for twin in right)

    def _called(self, lane: str) -> str:
        """Return the name that a lane of the second trace has in the first."""
        known = self._known.get(lane)
        if known is not None:
            return known
        above, slash, step = lane.rpartition("/")
        return f"{self._called(above)}/{step}" if slash else lane


def _inputs(crossed: list[Envelope]) -> Hashable:
    return tuple((each.name, each.input) for each in crossed)


def _first_input(crossed: list[Envelope]) -> Hashable:
    return crossed[0].name, crossed[0].input


def _names(crossed: list[Envelope]) -> Hashable:
    return tuple(each.name for each in crossed)


def _nothing(_crossed: list[Envelope]) -> Hashable:
    return None


def _by_creation(lanes: Iterable[str]) -> list[str]:
    """Order lanes by when they were created: outer ones first, `x.2` before `x.10`."""
    return sorted(lanes, key=lambda lane: (lane.count("/"), _numbers(lane), lane))


def _numbers(lane: str) -> list[int]:
    ends = [step.rpartition(".")[2] for step in lane.split("/")]
    return [int(end) if end.isdecimal() else 0 for end in ends]


def _family(lane: str) -> str:
    """Return a lane's name without numbers: lanes that were started alike share it."""
    return "/".join(step.rpartition(".")[0] or step for step in lane.split("/"))


# --- telling -------------------------------------------------------------------------------------------------------


def _ordered(matches: Iterable[_Match]) -> list[_Match]:
    """Order matches as in the first trace, with what is extra behind what it follows in the second."""
    found = list(matches)
    both = sorted(
        (each.second.seq, each.first.seq)
        for each in found
        if each.first is not None and each.second is not None and not each.moved
    )

    known = {
        each.second.seq: each.first.seq
        for each in found
        if each.first is not None and each.second is not None
    }

    def place(match: _Match) -> tuple[int, int]:
        if match.first is not None:
            return match.first.seq, 0
        assert match.second is not None  # noqa: S101 - a match has one side at least
        seq, parent = match.second.seq, match.second.parent
        at = bisect_right(both, (seq, 0))
        # What encloses it may have been moved.
        above = 0 if parent is None else known.get(parent, 0)
        return max(both[at - 1][1] if at else 0, above), seq

    return sorted(found, key=place)


def _told(match: _Match, one: _Side, other: _Side, contrasts: Contrasts) -> Paired:
    first, second = match.first, match.second
    if first is None or second is None:
        alone = first or second
        assert alone is not None  # noqa: S101 - a match has one side at least
        return Paired(first, second, (_alone(alone, one if first else other, is_first=first is not None),))
    found = list(contrasts.of(first, second))
    if match.moved:
        before, now = one.before(first), other.before(second)
        message = (
            f"{first.address} was moved in its lane: in the first trace it is {before}, in the second {now}"
        )
        moved = Difference(kind="reordered", address=first.address, message=message, first=before, second=now)
        found.insert(0, moved)
    return Paired(first, second, tuple(found))


def _alone(envelope: Envelope, side: _Side, *, is_first: bool) -> Difference:
    inside = side.count_inside(envelope)
    more = f", with {plural(inside, 'crossing')} inside it" if inside else ""
    which = "first" if is_first else "second"
    return Difference(
        kind="missing" if is_first else "extra",
        address=envelope.address,
        message=f"{envelope.address} ({envelope.site}) is in the {which} trace only{more}",
        # How far a daemon gets depends on when the program ends.
        severity="notice" if DAEMON in envelope.lane else "error",
    )
