"""Align two sequences so that as few items as possible are left over.

Items are matched in steps, from exact keys to loose ones: first equal items, then similar ones. So an inserted item does not
shift all that follow it. An equal item in another place was moved.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeAlias

Keys: TypeAlias = tuple[Hashable, ...]
"""The keys of one item, from the exact one to the loosest. All items have equally many."""

_MANY = 400
"""The largest number of edits for which the best alignment is computed. Time grows with the length times the edits, and
memory with the square of the edits."""


class AlignedPair(NamedTuple):
    """The positions of two items that belong together, and whether the item was moved."""

    first: int
    second: int
    moved: bool


def align(first: Sequence[Keys], second: Sequence[Keys]) -> list[AlignedPair]:
    """Align two sequences of items, each represented by its keys.

    Items that share a key other than the last may be matched across others, and then count as moved. An item in another
    place that shares the last key alone counts as removed and added.

    Returns:
        The pairs in order of the first sequence.
    """
    if not first or not second:
        return []
    levels = [([item[at] for item in first], [item[at] for item in second]) for at in range(len(first[0]))]
    kept, moved, exact = _match_levels(levels)
    if len(kept) < len(first) and exact < len(common(*levels[-1])) - len(kept):
        # A few items that are equal by chance and far apart would keep many similar ones from being matched.
        kept, moved, _ = _match_levels(levels[-1:])
    pairs = [AlignedPair(*pair, moved=False) for pair in kept.items()]
    return sorted(pairs + [AlignedPair(*pair, moved=True) for pair in moved.items()])


_Level: TypeAlias = tuple[Sequence[Hashable], Sequence[Hashable]]


def _match_levels(levels: Sequence[_Level]) -> tuple[dict[int, int], dict[int, int], int]:
    """Return the pairs that keep their order, the pairs that were moved, and the number of exact pairs in order."""
    kept: dict[int, int] = {}
    moved: dict[int, int] = {}
    *exact, loose = levels
    for first, second in exact:
        _match_between(first, second, kept, moved)
    count = len(kept)
    for first, second in exact:
        _match_elsewhere(first, second, kept, moved)
    _match_between(*loose, kept, moved)
    return kept, moved, count


def _match_between(
    first: Sequence[Hashable], second: Sequence[Hashable], kept: dict[int, int], moved: dict[int, int]
) -> None:
    """Match the unmatched items between each two neighbouring matches, keeping their order."""
    taken = {*kept.values(), *moved.values()}
    first_start, second_start = 0, 0
    for first_stop, second_stop in [*sorted(kept.items()), (len(first), len(second))]:
        if first_start < first_stop and second_start < second_stop:
            first_left = [at for at in range(first_start, first_stop) if at not in moved]
            second_left = [at for at in range(second_start, second_stop) if at not in taken]
            for first_at, second_at in common(
                [first[at] for at in first_left], [second[at] for at in second_left]
            ):
                kept[first_left[first_at]] = second_left[second_at]
        first_start, second_start = first_stop + 1, second_stop + 1


def _match_elsewhere(
    first: Sequence[Hashable], second: Sequence[Hashable], kept: dict[int, int], moved: dict[int, int]
) -> None:
    """Match unmatched items with equal ones anywhere in the second sequence, the first such one first."""
    taken = {*kept.values(), *moved.values()}
    places: dict[Hashable, deque[int]] = defaultdict(deque)
    for at, key in enumerate(second):
        if at not in taken:
            places[key].append(at)
    for at, key in enumerate(first):
        if at not in kept and at not in moved and places.get(key):
            moved[at] = places[key].popleft()


def common(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return the pairs of positions of a longest common subsequence.

    Where the sequences differ by more than 400 edits, it is a long common subsequence, but maybe not the longest.
    """
    start, shorter = 0, min(len(first), len(second))
    while start < shorter and first[start] == second[start]:
        start += 1
    end = 0
    while end < shorter - start and first[-1 - end] == second[-1 - end]:
        end += 1
    in_first, in_second = set(first), set(second)
    first_places = [at for at in range(start, len(first) - end) if first[at] in in_second]
    second_places = [at for at in range(start, len(second) - end) if second[at] in in_first]
    first_shared, second_shared = [first[at] for at in first_places], [second[at] for at in second_places]
    inner = _shortest_edit(first_shared, second_shared)
    if inner is None:
        blocks = SequenceMatcher(None, first_shared, second_shared).get_matching_blocks()
        inner = [(a + step, b + step) for a, b, size in blocks for step in range(size)]
    pairs = [(at, at) for at in range(start)] + [(first_places[a], second_places[b]) for a, b in inner]
    return pairs + [(len(first) - at, len(second) - at) for at in range(end, 0, -1)]


def _shortest_edit(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[tuple[int, int]] | None:
    """Return the positions that the shortest edit script keeps (Myers, 1986); None where it has more than 400 edits."""
    reach, history = {1: 0}, []
    for edits in range(min(len(first) + len(second), _MANY) + 1):
        history.append(dict(reach))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
            at = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            while at < len(first) and at - diagonal < len(second) and first[at] == second[at - diagonal]:
                at += 1
            reach[diagonal] = at
            if at >= len(first) and at - diagonal >= len(second):
                return _kept_pairs(history, len(first), len(second))
    return None


def _kept_pairs(history: list[dict[int, int]], first_at: int, second_at: int) -> list[tuple[int, int]]:
    """Trace the shortest edit script back from the ends of both sequences."""
    pairs: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        reach, diagonal = history[edits], first_at - second_at
        down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
        previous = diagonal + 1 if down else diagonal - 1
        start = 0 if edits == 0 else reach[previous]
        second_start = 0 if edits == 0 else start - previous
        while first_at > start and second_at > second_start:
            first_at, second_at = first_at - 1, second_at - 1
            pairs.append((first_at, second_at))
        first_at, second_at = start, second_start
    return pairs[::-1]
