"""The differences between two traces: which crossings correspond, and how each pair differs.

Crossings are matched inside matched parents, lane by lane. Lanes of one family (see `_family`) are matched by the inputs of
their crossings, then by their names and order, as on replay (see `replaying.cursor`). Durations, ids of traces and the order
between lanes never count.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator
from hashlib import blake2b
from typing import Literal, TypeAlias

from msgspec import structs
from msgspec.json import encode

from autochron.crossing.lanes import DAEMON
from autochron.diff.align import align
from autochron.diff.crossings import CrossingComparer, Inputs, differences_of_runs, plural
from autochron.envelope.type_trees import without_types
from autochron.model import Comparison, Difference, Envelope, Footer, Paired, Trace


def differ(first: Trace, second: Trace, *, inputs: Inputs = "strict") -> Comparison:
    """Compare two traces.

    Args:
        first: a trace.
        second: the trace that it is compared with.
        inputs: what a changed input counts as: `strict` an error, `warn` a warning, `ignore` nothing.

    Returns:
        All crossings in pairs, in order of the first trace. It is `same` if no difference is an error.
    """
    first_side, second_side = _Side(first), _Side(second)
    typed = first.header.typed and second.header.typed
    if not typed:
        first, second = _untyped(first), _untyped(second)
    comparer = CrossingComparer(inputs)
    # In order of start, so that an identifier is known before the program sends it back.
    pairs = [
        *_compare_calls(first.footer, second.footer, comparer),
        *(
            _compare_match(match, first_side, second_side, comparer)
            for match in _ordered(_match_crossings(first_side, second_side))
        ),
    ]
    run = tuple(differences_of_runs(first, second))
    differences = [*run, *(difference for pair in pairs for difference in pair.differences)]
    return Comparison(
        first=first.header,
        second=second.header,
        same=not any(difference.severity == "error" for difference in differences),
        pairs=tuple(pairs),
        run=run,
    )


def _compare_calls(
    first: Footer | None, second: Footer | None, comparer: CrossingComparer
) -> Iterator[Paired]:
    """Yield the calls that the traces were recorded for, as a pair; nothing for traces of whole programs."""
    calls = [None if footer is None else footer.call for footer in (first, second)]
    if calls[0] is not None and calls[1] is not None:
        yield Paired(calls[0], calls[1], tuple(comparer.differences(calls[0], calls[1])))
        return
    for number, call in enumerate(calls):
        if call is not None:
            which = ("first", "second")[number]
            message = f"the {which} trace alone is of a call, {call.name}"
            kind: Literal["missing", "extra"] = "extra" if number else "missing"
            difference = Difference(kind=kind, address=call.address, message=message)
            yield Paired(None if number else call, call if number else None, (difference,))


def _untyped(trace: Trace) -> Trace:
    """Return a trace whose inputs have no types, as older versions wrote them."""
    envelopes = [
        structs.replace(envelope, input=without_types(envelope.input)) for envelope in trace.envelopes
    ]
    return structs.replace(trace, envelopes=tuple(envelopes))


class _Side:
    """The crossings of one trace by parent and lane."""

    def __init__(self, trace: Trace) -> None:
        self._seqs = {envelope.seq for envelope in trace.envelopes}
        self._places: dict[int, int] = {}
        self.inside: dict[int | None, dict[str, list[Envelope]]] = defaultdict(lambda: defaultdict(list))
        for envelope in trace.envelopes:
            siblings = self.inside[self.parent(envelope)][envelope.lane]
            self._places[envelope.seq] = len(siblings)
            siblings.append(envelope)
        self._digests: dict[int, bytes] = {}
        for envelope in reversed(trace.envelopes):  # children first: they started later
            self._digests[envelope.seq] = self._digest(envelope)

    def parent(self, envelope: Envelope) -> int | None:
        """Return the seq of the enclosing crossing; None where that was lost."""
        parent = envelope.parent
        return parent if parent is not None and parent < envelope.seq and parent in self._seqs else None

    def digest(self, envelope: Envelope) -> bytes:
        """Return a digest of a crossing and all crossings inside it."""
        return self._digests[envelope.seq]

    def count_inside(self, envelope: Envelope) -> int:
        """Return the number of crossings inside this one, at any depth."""
        count, waiting = 0, [envelope.seq]
        while waiting:
            for crossings in self.inside.get(waiting.pop(), {}).values():
                count += len(crossings)
                waiting += [child.seq for child in crossings]
        return count

    def position(self, envelope: Envelope) -> str:
        """Return a phrase for a crossing's place in its lane, such as `after agent[1]`."""
        siblings = self.inside[self.parent(envelope)][envelope.lane]
        at = self._places[envelope.seq]
        return f"after {siblings[at - 1].address}" if at else "the first"

    def _digest(self, envelope: Envelope) -> bytes:
        inside = [
            (lane, [self._digests.get(child.seq, b"").hex() for child in children])
            for lane, children in sorted(self.inside.get(envelope.seq, {}).items())
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


def _match_crossings(first: _Side, second: _Side) -> Iterator[_Match]:
    """Yield all crossings of both traces, each pair before the crossings inside it."""
    lanes = _Lanes()
    waiting: list[tuple[int | None, int | None]] = [(None, None)]
    while waiting:
        first_parent, second_parent = waiting.pop()
        for first_crossings, second_crossings in lanes.paired(
            first.inside.get(first_parent, {}), second.inside.get(second_parent, {})
        ):
            for match in _align(first_crossings, second_crossings, first, second):
                if match.first is not None and match.second is not None:
                    waiting.append((match.first.seq, match.second.seq))
                yield match


def _align(
    first_crossings: list[Envelope], second_crossings: list[Envelope], first: _Side, second: _Side
) -> Iterator[_Match]:
    pairs = align(
        [
            (first.digest(envelope), (envelope.name, envelope.input), envelope.name)
            for envelope in first_crossings
        ],
        [
            (second.digest(envelope), (envelope.name, envelope.input), envelope.name)
            for envelope in second_crossings
        ],
    )
    first_matched, second_matched = {pair.first for pair in pairs}, {pair.second for pair in pairs}
    for pair in pairs:
        yield _Match(first_crossings[pair.first], second_crossings[pair.second], moved=pair.moved)
    yield from (
        _Match(envelope, None) for at, envelope in enumerate(first_crossings) if at not in first_matched
    )
    yield from (
        _Match(None, envelope) for at, envelope in enumerate(second_crossings) if at not in second_matched
    )


_CrossingsByLane: TypeAlias = dict[str, list[Envelope]]


class _Lanes:
    """The lanes of two traces that correspond."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        """The first trace's name of each matched lane of the second."""

    def paired(
        self, first: _CrossingsByLane, second: _CrossingsByLane
    ) -> Iterator[tuple[list[Envelope], list[Envelope]]]:
        """Yield the crossings inside two matched parents, lane by lane; an empty list where a lane has no counterpart."""
        first_lanes, second_lanes = _by_creation(first), _by_creation(second)
        for family in dict.fromkeys([_family(lane) for lane in (*first_lanes, *second_lanes)]):
            first_family = [lane for lane in first_lanes if _family(lane) == family]
            second_family = [lane for lane in second_lanes if _family(lane) == family]
            for lane, twin in self._twins(first_family, second_family, first, second):
                if lane is not None and twin is not None:
                    self._known.setdefault(twin, lane)
                yield first[lane] if lane is not None else [], second[twin] if twin is not None else []

    def _twins(
        self,
        first_family: list[str],
        second_family: list[str],
        first: _CrossingsByLane,
        second: _CrossingsByLane,
    ) -> Iterator[tuple[str | None, str | None]]:
        """Yield the corresponding lanes of one family: those with the most in common first, None for a missing one."""
        first_left = dict.fromkeys(first_family)
        second_left = {twin: self._first_name(twin) for twin in second_family}
        for key in (_inputs, _first_input, _names, _nothing):
            named = {lane: twin for twin, lane in second_left.items()}
            places: dict[Hashable, deque[str]] = defaultdict(deque)
            for lane in list(first_left):
                twin = named.get(lane)
                if twin is not None and key(first[lane]) == key(second[twin]):
                    del first_left[lane], second_left[twin]
                    yield lane, twin
            for twin in second_left:
                places[key(second[twin])].append(twin)
            for lane in list(first_left):
                alike = places[key(first[lane])]
                if alike:
                    twin = alike.popleft()
                    del first_left[lane], second_left[twin]
                    yield lane, twin
        yield from ((lane, None) for lane in first_left)
        yield from ((None, twin) for twin in second_left)

    def _first_name(self, lane: str) -> str:
        """Return the name that a lane of the second trace has in the first, as far as it is known."""
        known = self._known.get(lane)
        if known is not None:
            return known
        above, slash, step = lane.rpartition("/")
        return f"{self._first_name(above)}/{step}" if slash else lane


def _inputs(crossed: list[Envelope]) -> Hashable:
    return tuple((envelope.name, envelope.input) for envelope in crossed)


def _first_input(crossed: list[Envelope]) -> Hashable:
    return crossed[0].name, crossed[0].input


def _names(crossed: list[Envelope]) -> Hashable:
    return tuple(envelope.name for envelope in crossed)


def _nothing(_crossed: list[Envelope]) -> Hashable:
    return None


def _by_creation(lanes: Iterable[str]) -> list[str]:
    """Return lanes in order of creation: outer ones first, `x.2` before `x.10`."""
    return sorted(lanes, key=lambda lane: (lane.count("/"), _numbers(lane), lane))


def _numbers(lane: str) -> list[int]:
    ends = [step.rpartition(".")[2] for step in lane.split("/")]
    return [int(end) if end.isdecimal() else 0 for end in ends]


def _family(lane: str) -> str:
    """Return a lane's name without numbers: lanes that were started in the same way share it."""
    return "/".join(step.rpartition(".")[0] or step for step in lane.split("/"))


# --- comparing -----------------------------------------------------------------------------------------------------


def _ordered(matches: Iterable[_Match]) -> list[_Match]:
    """Return matches in order of the first trace. An extra crossing comes after the one that it follows in the second."""
    unordered = list(matches)
    pairs = [
        (match.second.seq, match.first.seq, match.moved)
        for match in unordered
        if match.first is not None and match.second is not None
    ]
    first_seqs = {second: first for second, first, _ in pairs}
    in_order = sorted((second, first) for second, first, is_moved in pairs if not is_moved)

    def place(match: _Match) -> tuple[int, int]:
        if match.first is not None:
            return match.first.seq, 0
        assert match.second is not None  # noqa: S101 - a match has one side at least
        seq, parent = match.second.seq, match.second.parent
        at = bisect_right(in_order, (seq, 0))
        # After its parent, too, which may have been moved.
        above = 0 if parent is None else first_seqs.get(parent, 0)
        return max(in_order[at - 1][1] if at else 0, above), seq

    return sorted(unordered, key=place)


def _compare_match(
    match: _Match, first_side: _Side, second_side: _Side, comparer: CrossingComparer
) -> Paired:
    first, second = match.first, match.second
    if first is None or second is None:
        envelope = first or second
        assert envelope is not None  # noqa: S101 - a match has one side at least
        return Paired(
            first,
            second,
            (_unmatched(envelope, first_side if first else second_side, is_first=first is not None),),
        )
    differences = list(comparer.differences(first, second))
    if match.moved:
        before, after = first_side.position(first), second_side.position(second)
        message = (
            f"{first.address} was moved in its lane: in the first trace it is {before}, in the second {after}"
        )
        moved = Difference(
            kind="reordered", address=first.address, message=message, first=before, second=after
        )
        differences.insert(0, moved)
    return Paired(first, second, tuple(differences))


def _unmatched(envelope: Envelope, side: _Side, *, is_first: bool) -> Difference:
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
