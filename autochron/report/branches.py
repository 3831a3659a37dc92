"""Crossings as a tree: nested by parent, lanes apart from each other, and long runs of the alike left out.

Nothing here knows what a crossing says; see `phrases`, and `tree` for what is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from autochron.crossing.lanes import CHILD, DAEMON

_FEW = 3
"""How many of the alike are shown at each end of their row."""

_WIDE = 20
"""How many crossings are shown at each end of a row, alike or not."""


class Knot:
    """One crossing in a tree.

    Attributes:
        key: what it is known by; a child's `parent` is the key of another.
        alike: what is equal in crossings of which a few stand for all.
        rank: 0 may be left out; 1 stays, with what encloses it; 2 stays longest.
        span: when it started and ended.
    """

    __slots__ = ("alike", "key", "lane", "name", "parent", "rank", "span")

    def __init__(
        self,
        key: int,
        parent: int | None,
        lane: str,
        name: str,
        alike: Hashable = None,
        *,
        rank: int = 0,
        span: tuple[int, int] = (0, 0),
    ) -> None:
        self.key = key
        self.parent = parent
        self.lane = lane
        self.name = name
        self.alike = name if alike is None else alike
        self.rank = rank
        self.span = span


class Branch:
    """A crossing with what is inside it, or a lane (then `knot` is None) with what crossed there."""

    __slots__ = ("beside", "children", "knot", "lane", "parallel", "rank")

    def __init__(self, knot: Knot | None = None, lane: str = "") -> None:
        self.knot = knot
        self.lane = lane
        """What a lane is called where it stands."""
        self.parallel = False
        """Whether another lane beside it was at work at the same time."""
        self.children: list[Branch] = []
        self.rank = 0 if knot is None else knot.rank

    @property
    def alike(self) -> Hashable:
        """What is equal in branches of which a few stand for all."""
        if self.knot is not None:
            return self.knot.alike
        return "lane", _family(self.lane), self.children[0].alike if is_alone(self) else None

    @property
    def span(self) -> tuple[int, int]:
        """When it started and ended."""
        if self.knot is not None:
            return self.knot.span
        spans = [child.span for child in self.children]
        return min(start for start, _ in spans), max(end for _, end in spans)

    def count(self) -> int:
        """Count the crossings of a lane, without what is inside them."""
        return 1 if self.knot is not None else sum(child.count() for child in self.children)


class Elided:
    """Branches beside each other that are not shown."""

    __slots__ = ("count", "names")

    def __init__(self, branches: Sequence[Branch]) -> None:
        self.names = Counter(
            each.knot.name if each.knot is not None else f"lane {_family(each.lane)}" for each in branches
        )
        self.count = len(branches)


Row: TypeAlias = tuple[str, str, Branch | Elided]
"""The guides in front of a row, those in front of what stands below it, and what it shows."""


def grow(knots: Iterable[Knot]) -> list[Branch]:
    """Nest crossings that come in the order in which they are shown; one whose parent didn't come before is a root."""
    branches: dict[int, Branch] = {}
    above: dict[int, Branch] = {}
    inside: dict[int | None, list[Branch]] = {}
    for knot in knots:
        branch = Branch(knot)
        parent = None if knot.parent is None else branches.get(knot.parent)
        if parent is not None:
            above[knot.key] = parent
        inside.setdefault(None if parent is None else knot.parent, []).append(branch)
        branches[knot.key] = branch
    for key, branch in branches.items():
        branch.children = _by_lane(inside.get(key, ()), branch.knot.lane if branch.knot is not None else None)
        _keep_above(branch, above)
    roots = _by_lane(inside.get(None, ()), None)
    for each in roots:
        _rank(each)
    return roots


def _keep_above(branch: Branch, above: Mapping[int, Branch]) -> None:
    """Keep what encloses a crossing as long as that."""
    rank, knot = branch.rank, branch.knot
    while knot is not None and knot.key in above:
        parent = above[knot.key]
        if parent.rank >= rank:
            return
        parent.rank, knot = rank, parent.knot


def _rank(branch: Branch) -> int:
    """Rank lanes by what is in them, at any depth."""
    waiting = [branch]
    lanes: list[Branch] = []
    while waiting:
        each = waiting.pop()
        if each.knot is None:
            lanes.append(each)
        waiting += each.children
    for each in reversed(lanes):
        each.rank = max(child.rank for child in each.children)
    return branch.rank


# --- lanes ---------------------------------------------------------------------------------------------------------


def _by_lane(children: Sequence[Branch], around: str | None) -> list[Branch]:
    """Put the lanes that were started inside a crossing, or in the program, apart from what goes on in its own."""
    lanes = dict.fromkeys(child.knot.lane for child in children if child.knot is not None)
    if len(lanes) < 2:
        return list(children)
    base = around if around in lanes else _common(list(lanes))
    found: list[Branch] = []
    groups: dict[str, list[Branch]] = {base: found}
    for child in children:
        assert child.knot is not None  # noqa: S101 - lanes are made below
        _group(child.knot.lane, lanes, groups, base).append(child)
    _mark_parallel(found)
    return found


def _group(lane: str, lanes: dict[str, None], groups: dict[str, list[Branch]], base: str) -> list[Branch]:
    """Return the children of a lane, which is put into the lane that it was started from if it is new."""
    known = groups.get(lane)
    if known is not None:
        return known
    above = lane.rpartition("/")[0]
    while above and above != base and above not in lanes:
        above = above.rpartition("/")[0]
    above = above or base
    group = Branch(lane=_label(lane.removeprefix(f"{above}/")))
    _group(above, lanes, groups, base).append(group)
    groups[lane] = group.children
    return group.children


def _common(lanes: list[str]) -> str:
    """Return the lane that all were started from."""
    first, *others = (lane.split("/") for lane in lanes)
    shared = 0
    while shared < len(first) and all(
        each[shared : shared + 1] == first[shared : shared + 1] for each in others
    ):
        shared += 1
    return "/".join(first[:shared])


def _label(lane: str) -> str:
    """Write the steps of a lane's name out as people say them."""
    found = []
    for step in lane.split("/"):
        said = f"process {step.removeprefix(CHILD)}" if step.startswith(CHILD) else step
        found.append(f"daemon {step[1:]}" if f"/{step}".startswith(DAEMON) else said)
    return "/".join(found)


def _family(lane: str) -> str:
    return "/".join(step.rpartition(".")[0] or step for step in lane.split("/"))


def _mark_parallel(branches: list[Branch]) -> None:
    """Mark lanes that were at work at the same time."""
    waiting = [branches]
    while waiting:
        lanes = [each for each in waiting.pop() if each.knot is None]
        waiting += [each.children for each in lanes]
        spans = sorted(((each.span, at) for at, each in enumerate(lanes)))
        last, until = -1, -1
        for (start, end), at in spans:
            if start < until:
                lanes[at].parallel = lanes[last].parallel = True
            if end > until:
                last, until = at, end


Weight: TypeAlias = tuple[int | None, int]
"""How many of the alike are shown at each end of their row (None: all), and from which rank on each is."""


# --- rows ----------------------------------------------------------------------------------------------------------


def rows(roots: Sequence[Branch], *, few: int | None = _FEW, least: int = 1) -> Iterator[Row]:
    """Yield what is shown, line by line.

    Of a row of the alike the first and last `few` are (None: all), and always what is of a rank from `least` on.
    """
    waiting: list[tuple[str, Branch | Elided, bool]] = []

    def push(children: Sequence[Branch], prefix: str) -> None:
        shown = thinned(children, few, least)
        waiting.extend((prefix, each, at == len(shown) - 1) for at, each in reversed(list(enumerate(shown))))

    push(roots, "")
    while waiting:
        prefix, each, is_last = waiting.pop()
        inside = prefix + ("   " if is_last else "│  ")
        children: list[Branch] = []
        if isinstance(each, Branch):
            children = each.children[0].children if is_alone(each) else each.children
        yield prefix + ("└─ " if is_last else "├─ "), inside + ("│  " if children else "   "), each
        push(children, inside)


def is_alone(branch: Branch) -> bool:
    """Return whether a lane has one crossing: both stand in one line then."""
    return branch.knot is None and len(branch.children) == 1 and branch.children[0].knot is not None


def thinned(children: Sequence[Branch], few: int | None, least: int) -> list[Branch | Elided]:
    """Leave out the middle of what is alike, and of what is very much."""
    if few is None or len(children) <= 2 * few:
        return list(children)
    kept = [child.rank >= least for child in children]
    counts = Counter(child.alike for child in children)
    seen: Counter[Hashable] = Counter()
    plain: list[int] = []
    for at, child in enumerate(children):
        seen[child.alike] += 1
        if not kept[at] and (seen[child.alike] <= few or seen[child.alike] > counts[child.alike] - few):
            plain.append(at)
    if len(plain) > 2 * _WIDE:
        plain = plain[:_WIDE] + plain[-_WIDE:]
    for at in plain:
        kept[at] = True
    return _gathered(children, kept, few)


def _gathered(children: Sequence[Branch], kept: Sequence[bool], few: int) -> list[Branch | Elided]:
    shown: list[Branch | Elided] = []
    hidden: list[Branch] = []
    for child, is_kept in [*zip(children, kept, strict=True), (None, True)]:
        if not is_kept and child is not None:
            hidden.append(child)
            continue
        if len(hidden) == 1 and few:  # it takes no more room than to say that it is left out
            shown += hidden
        elif hidden:
            shown.append(Elided(hidden))
        hidden = []
        if child is not None:
            shown.append(child)
    return shown


def fitted(roots: Sequence[Branch], limit: int | None, *, weigh: Sequence[Weight]) -> list[Row]:
    """Return as much as goes into a number of rows: of the weights the first with which it fits, or the last."""
    found: list[Row] = []
    for few, least in weigh:
        found = list(rows(roots, few=few, least=least))
        if limit is None or len(found) <= limit:
            break
    return found
