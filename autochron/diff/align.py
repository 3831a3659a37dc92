"""Which of two sequences belong together: an alignment with as little left over as there can be.

In steps from the exact to the loose: what is the same throughout, then what is alike, so that one that was put in doesn't
shift all that follow it. What is the same and stands elsewhere was moved.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeAlias

Keys: TypeAlias = tuple[Hashable, ...]
"""What an item is told by, from the exact to the loose."""

_MANY = 400
"""Edits up to which the best alignment is sought: that costs the length times the edits, and memory by their square."""


class AlignedPair(NamedTuple):
    """Two places that belong together."""

    first: int
    second: int
    moved: bool


def align(first: Sequence[Keys], second: Sequence[Keys]) -> list[AlignedPair]:
    """Match two sequences whose items are given by their keys, from the exact to the loose; in order of the first.

    By the last key alone nothing is matched with what stands elsewhere: that is one less and one more.
    """
    if not first or not second:
        return []
    levels = [([item[at] for item in first], [item[at] for item in second]) for at in range(len(first[0]))]
    matched, moved, exact = _matched(levels)
    if len(matched) < len(first) and exact < len(common(*levels[-1])) - len(matched):
        # A few that are equal by chance, and far apart, would tear the rest apart.
        matched, moved, _ = _matched(levels[-1:])
    found = [AlignedPair(*pair, moved=False) for pair in matched.items()]
    return sorted(found + [AlignedPair(*pair, moved=True) for pair in moved.items()])


_Level: TypeAlias = tuple[Sequence[Hashable], Sequence[Hashable]]


def _matched(levels: Sequence[_Level]) -> tuple[dict[int, int], dict[int, int], int]:
    """Return what keeps its order, what was moved, and how many of the first are the same exactly."""
    matched: dict[int, int] = {}
    moved: dict[int, int] = {}
    *exact, loose = levels
    for one, other in exact:
        _match_between(one, other, matched, moved)
    count = len(matched)
    for one, other in exact:
        _match_elsewhere(one, other, matched, moved)
    _match_between(*loose, matched, moved)
    return matched, moved, count


def _match_between(
    one: Sequence[Hashable], other: Sequence[Hashable], matched: dict[int, int], moved: dict[int, int]
) -> None:
    """Match what is left between two matches."""
    taken = {*matched.values(), *moved.values()}
    start, begin = 0, 0
    for stop, end in [*sorted(matched.items()), (len(one), len(other))]:
        if start < stop and begin < end:
            mine = [at for at in range(start, stop) if at not in moved]
            theirs = [at for at in range(begin, end) if at not in taken]
            for left, right in common([one[at] for at in mine], [other[at] for at in theirs]):
                matched[mine[left]] = theirs[right]
        start, begin = stop + 1, end + 1


def _match_elsewhere(
    one: Sequence[Hashable], other: Sequence[Hashable], matched: dict[int, int], moved: dict[int, int]
) -> None:
    """Match what is left wherever it stands, in order."""
    taken = {*matched.values(), *moved.values()}
    places: dict[Hashable, deque[int]] = defaultdict(deque)
    for at, key in enumerate(other):
        if at not in taken:
            places[key].append(at)
    for at, key in enumerate(one):
        if at not in matched and at not in moved and places.get(key):
            moved[at] = places[key].popleft()


def common(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return the places of a longest common subsequence; of a long one, where very many were changed."""
    start, shorter = 0, min(len(one), len(other))
    while start < shorter and one[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and one[-1 - end] == other[-1 - end]:
        end += 1
    known, given = set(one), set(other)
    mine = [at for at in range(start, len(one) - end) if one[at] in given]
    theirs = [at for at in range(start, len(other) - end) if other[at] in known]
    left, right = [one[at] for at in mine], [other[at] for at in theirs]
    inner = _shortest_edit(left, right)
    if inner is None:
        blocks = SequenceMatcher(None, left, right).get_matching_blocks()
        inner = [(a + step, b + step) for a, b, size in blocks for step in range(size)]
    found = [(at, at) for at in range(start)] + [(mine[a], theirs[b]) for a, b in inner]
    return found + [(len(one) - at, len(other) - at) for at in range(end, 0, -1)]


def _shortest_edit(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[tuple[int, int]] | None:
    """Return what the shortest edit script keeps (Myers, 1986); None where that has too many edits."""
    reach, history = {1: 0}, []
    for edits in range(min(len(one) + len(other), _MANY) + 1):
        history.append(dict(reach))
        for line in range(-edits, edits + 1, 2):
            down = line == -edits or (line != edits and reach[line - 1] < reach[line + 1])
            at = reach[line + 1] if down else reach[line - 1] + 1
            while at < len(one) and at - line < len(other) and one[at] == other[at - line]:
                at += 1
            reach[line] = at
            if at >= len(one) and at - line >= len(other):
                return _kept(history, len(one), len(other))
    return None


def _kept(history: list[dict[int, int]], at: int, to: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        reach, line = history[edits], at - to
        down = line == -edits or (line != edits and reach[line - 1] < reach[line + 1])
        before = line + 1 if down else line - 1
        came = 0 if edits == 0 else reach[before]
        back = 0 if edits == 0 else came - before
        while at > came and to > back:
            at, to = at - 1, to - 1
            found.append((at, to))
        at, to = came, back
    return found[::-1]
