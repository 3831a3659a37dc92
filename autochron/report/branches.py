"""Arrange crossings as a tree: nested by parent, with a branch for each lane, and with long runs of similar ones elided.

This module knows nothing of a crossing's contents. `phrases` writes these, and `tree` draws the lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from autochron.crossing.lanes import CHILD, DAEMON

_FEW = 3
"""How many similar crossings are shown at each end of their run."""

_WIDE = 20
"""How many crossings of one parent are shown at each end, similar or not."""


class Node:
    """One crossing in a tree.

    Attributes:
        key: its identity in the tree.
        parent: the key of the crossing that encloses it; None for a root.
        lane: the name of its lane.
        name: the crossing's name, without its number.
        alike: equal for similar crossings, of which a few may represent all.
        rank: how important it is: 0 may be elided; 1 stays, with the crossings that enclose it; 2 stays longest.
        span: when it started and ended, in nanoseconds.
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
    """A crossing with the branches inside it, or a lane with its crossings.

    Attributes:
        node: the crossing; None for a lane.
        lane: the label of a lane; empty for a crossing.
        parallel: whether another lane with the same parent ran at the same time.
        children: the branches below this one.
        rank: the highest rank of the branch and all that is below it; see `Node`.
    """

    __slots__ = ("children", "lane", "node", "parallel", "rank")

    def __init__(self, node: Node | None = None, lane: str = "") -> None:
        self.node = node
        self.lane = lane
        self.parallel = False
        self.children: list[Branch] = []
        self.rank = 0 if node is None else node.rank

    @property
    def alike(self) -> Hashable:
        """A value that is equal for similar branches, of which a few may represent all."""
        if self.node is not None:
            return self.node.alike
        return "lane", _family(self.lane), self.children[0].alike if has_one_crossing(self) else None

    @property
    def span(self) -> tuple[int, int]:
        """When it started and ended, in nanoseconds."""
        if self.node is not None:
            return self.node.span
        spans = [child.span for child in self.children]
        return min(start for start, _ in spans), max(end for _, end in spans)

    def count(self) -> int:
        """Return the number of crossings of a lane, without those inside them; 1 for a crossing."""
        return 1 if self.node is not None else sum(child.count() for child in self.children)


class Elided:
    """A run of neighbouring branches that is not shown, with the number of branches by name."""

    __slots__ = ("count", "names")

    def __init__(self, branches: Sequence[Branch]) -> None:
        self.names = Counter(
            branch.node.name if branch.node is not None else f"lane {_family(branch.lane)}"
            for branch in branches
        )
        self.count = len(branches)


Row: TypeAlias = tuple[str, str, Branch | Elided]
"""The guides in front of a line, the guides in front of lines below it, and the item that the line shows."""


def build_tree(nodes: Iterable[Node]) -> list[Branch]:
    """Return the roots of a tree.

    Args:
        nodes: the crossings in the order in which they are shown. One whose parent does not come before it is a root.
    """
    branches: dict[int, Branch] = {}
    above: dict[int, Branch] = {}
    inside: dict[int | None, list[Branch]] = {}
    for node in nodes:
        branch = Branch(node)
        parent = None if node.parent is None else branches.get(node.parent)
        if parent is not None:
            above[node.key] = parent
        inside.setdefault(None if parent is None else node.parent, []).append(branch)
        branches[node.key] = branch
    for key, branch in branches.items():
        branch.children = _by_lane(inside.get(key, ()), branch.node.lane if branch.node is not None else None)
        _raise_ancestors(branch, above)
    roots = _by_lane(inside.get(None, ()), None)
    for root in roots:
        _rank_lanes(root)
    return roots


def _raise_ancestors(branch: Branch, above: Mapping[int, Branch]) -> None:
    """Raise the ranks of a crossing's ancestors to its own, so that none is elided before it."""
    rank, node = branch.rank, branch.node
    while node is not None and node.key in above:
        parent = above[node.key]
        if parent.rank >= rank:
            return
        parent.rank, node = rank, parent.node


def _rank_lanes(branch: Branch) -> int:
    """Set the rank of each lane below a branch to the highest of its crossings, and return the branch's rank."""
    waiting = [branch]
    lanes: list[Branch] = []
    while waiting:
        reached = waiting.pop()
        if reached.node is None:
            lanes.append(reached)
        waiting += reached.children
    for reached in reversed(lanes):
        reached.rank = max(child.rank for child in reached.children)
    return branch.rank


# --- lanes ---------------------------------------------------------------------------------------------------------


def _by_lane(children: Sequence[Branch], around: str | None) -> list[Branch]:
    """Return the children of a crossing, or of the program, with those of each other lane in a branch of their own.

    `around` is the lane of the parent; None for the program.
    """
    lanes = dict.fromkeys(child.node.lane for child in children if child.node is not None)
    if len(lanes) < 2:
        return list(children)
    base = around if around in lanes else _common_lane(list(lanes))
    own: list[Branch] = []
    groups: dict[str, list[Branch]] = {base: own}
    for child in children:
        assert child.node is not None  # noqa: S101 - the branches of lanes are made below
        _group(child.node.lane, lanes, groups, base).append(child)
    _mark_parallel(own)
    return own


def _group(lane: str, lanes: dict[str, None], groups: dict[str, list[Branch]], base: str) -> list[Branch]:
    """Return the list of a lane's children. A new lane is added to the nearest known lane that encloses it."""
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


def _common_lane(lanes: list[str]) -> str:
    """Return the innermost lane that encloses all of these."""
    first, *others = (lane.split("/") for lane in lanes)
    shared = 0
    while shared < len(first) and all(
        steps[shared : shared + 1] == first[shared : shared + 1] for steps in others
    ):
        shared += 1
    return "/".join(first[:shared])


def _label(lane: str) -> str:
    """Return a lane's name with its markers of processes and daemons written as words."""
    labels = []
    for step in lane.split("/"):
        label = f"process {step.removeprefix(CHILD)}" if step.startswith(CHILD) else step
        labels.append(f"daemon {step[1:]}" if f"/{step}".startswith(DAEMON) else label)
    return "/".join(labels)


def _family(lane: str) -> str:
    return "/".join(step.rpartition(".")[0] or step for step in lane.split("/"))


def _mark_parallel(branches: list[Branch]) -> None:
    """Mark lanes with one parent that ran at the same time, at each level."""
    waiting = [branches]
    while waiting:
        lanes = [branch for branch in waiting.pop() if branch.node is None]
        waiting += [branch.children for branch in lanes]
        spans = sorted(((branch.span, at) for at, branch in enumerate(lanes)))
        last, until = -1, -1
        for (start, end), at in spans:
            if start < until:
                lanes[at].parallel = lanes[last].parallel = True
            if end > until:
                last, until = at, end


Weight: TypeAlias = tuple[int | None, int]
"""How many similar branches are shown at each end of their run (None: all), and the least rank of which all are shown."""


# --- rows ----------------------------------------------------------------------------------------------------------


def iterate_rows(roots: Sequence[Branch], *, few: int | None = _FEW, least: int = 1) -> Iterator[Row]:
    """Yield the lines of a tree.

    Args:
        roots: the branches at the top.
        few: how many similar branches are shown at each end of their run; None for all.
        least: branches of this rank or a higher one are always shown.
    """
    waiting: list[tuple[str, Branch | Elided, bool]] = []

    def push(children: Sequence[Branch], prefix: str) -> None:
        shown = elide(children, few, least)
        waiting.extend((prefix, item, at == len(shown) - 1) for at, item in reversed(list(enumerate(shown))))

    push(roots, "")
    while waiting:
        prefix, item, is_last = waiting.pop()
        inside = prefix + ("   " if is_last else "│  ")
        children: list[Branch] = []
        if isinstance(item, Branch):
            children = item.children[0].children if has_one_crossing(item) else item.children
        yield prefix + ("└─ " if is_last else "├─ "), inside + ("│  " if children else "   "), item
        push(children, inside)


def has_one_crossing(branch: Branch) -> bool:
    """Return whether a branch is a lane with a single crossing, which is drawn in the lane's line."""
    return branch.node is None and len(branch.children) == 1 and branch.children[0].node is not None


def elide(children: Sequence[Branch], few: int | None, least: int) -> list[Branch | Elided]:
    """Return the children of a branch with the middle of each run of similar ones elided, and of a very long list."""
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
    return _with_gaps(children, kept, few)


def _with_gaps(children: Sequence[Branch], kept: Sequence[bool], few: int) -> list[Branch | Elided]:
    shown: list[Branch | Elided] = []
    hidden: list[Branch] = []
    for child, is_kept in [*zip(children, kept, strict=True), (None, True)]:
        if not is_kept and child is not None:
            hidden.append(child)
            continue
        if len(hidden) == 1 and few:  # a single branch takes no more room than the line that elides it
            shown += hidden
        elif hidden:
            shown.append(Elided(hidden))
        hidden = []
        if child is not None:
            shown.append(child)
    return shown


def fit_rows(roots: Sequence[Branch], limit: int | None, *, weigh: Sequence[Weight]) -> list[Row]:
    """Return the lines of a tree, elided until they fit.

    Args:
        roots: the branches at the top.
        limit: the number of lines; None for no limit.
        weigh: weights to try, from the mildest on. The first with which the tree fits is taken, else the last.
    """
    fitting: list[Row] = []
    for few, least in weigh:
        fitting = list(iterate_rows(roots, few=few, least=least))
        if limit is None or len(fitting) <= limit:
            break
    return fitting
