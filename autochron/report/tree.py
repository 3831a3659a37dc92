"""Draw crossings as a tree: of a trace, of a replay with its divergences, or of a comparison of two traces.

A drawing returns plain lines, for an exception or a section of pytest's report, or writes itself to a page with styles.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from autochron.model import (
    Comparison,
    Difference,
    Divergence,
    Envelope,
    Paired,
    Raised,
    Replayed,
    Severity,
    Streamed,
)
from autochron.report.branches import (
    Branch,
    Elided,
    Node,
    Row,
    Weight,
    build_tree,
    fit_rows,
    has_one_crossing,
)
from autochron.report.phrases import Part, cells, clean, cut, duration_text, ending, words
from autochron.report.text import WIDTH, Page, plural

LINES = 40
"""The most lines of a tree in an exception or a section of a test's report."""

DRAWN_WHOLE = 20_000
"""The largest record, in crossings, whose missing crossings are drawn in their place; see `recorded` of `draw_replay`."""

_SHOWN = 300
"""The most lines of a tree on a page."""

_STYLES: dict[Severity, str] = {"error": "red", "warning": "yellow", "consequence": "dim", "notice": "dim"}
_HEAVIEST: tuple[Severity, ...] = ("error", "warning", "consequence", "notice")


class Note(NamedTuple):
    """A difference, shown as a line below its crossing or at the end of the tree."""

    text: str
    severity: Severity
    values: tuple[str, str] | None = None
    """The values of both sides."""
    sentence: str = ""
    """What is shown instead of the text and the values, where it fits."""

    def fitted(self, room: int) -> str:
        """Return the text and both values in `room` columns, of which each value gets half of what is left."""
        if self.sentence and cells(clean(self.sentence)) <= room:
            return clean(self.sentence)
        text = clean(self.text)
        if self.values is None:
            return cut(text, room)
        if cells(text) > room // 2:  # cut the beginning of a path: its end tells more
            kind, _, path = text.partition(" ")
            text = f"{kind} …{path[-(room // 2) :]}"
        left = room - cells(text) - 5
        if left < _SIDES:
            return cut(f"{text}: {' → '.join(map(clean, self.values))}", room)
        first, second = _beside(clean(self.values[0]), clean(self.values[1]), left)
        cut_first = cut(first, max(left // 2, left - cells(second)))
        return f"{text}: {cut_first} → {cut(second, left - cells(cut_first))}"


_SIDES = 16
"""Columns that both values of a note need together to be cut separately."""
_SHORT = 18
"""Columns, with the space after it, that the name of a lane gets where the input or outcome of its crossing is cut."""
_LEAST = 8
"""Columns that the name of a lane gets in any case."""
_LEAD = 6
"""Characters that are shown before the first difference of two values."""


def _beside(first: str, second: str, room: int) -> tuple[str, str]:
    """Return two values without the beginning that they share, if they don't fit and it is long."""
    if cells(first) + cells(second) <= room:
        return first, second
    pairs = enumerate(zip(first, second, strict=False))
    differs = next((at for at, (a, b) in pairs if a != b), min(len(first), len(second)))
    start = differs - _LEAD
    return (f"…{first[start:]}", f"…{second[start:]}") if start > _LEAD else (first, second)


class DrawnCrossing(NamedTuple):
    """One crossing and what its line shows."""

    envelope: Envelope
    mark: Part | None = None
    """A sign before its name, such as `●` for a live one."""
    remark: Part | None = None
    """Words after it, such as `did not happen`."""
    notes: tuple[Note, ...] = ()
    is_timed: bool = True
    """Whether its duration is shown."""


class Drawing:
    """A tree that is ready to be drawn."""

    def __init__(
        self,
        nodes: Iterable[Node],
        shown: Callable[[int], DrawnCrossing],
        *,
        weigh: Sequence[Weight],
        rest: str = "more",
        notes: Sequence[Note] = (),
    ) -> None:
        """Make a drawing.

        Args:
            nodes: the crossings, in the order in which they are shown.
            shown: returns the crossing of a node's key.
            weigh: how to elide crossings until the tree fits, the mildest way first; see `fit_rows`.
            rest: what elided crossings are called.
            notes: lines at the end.
        """
        self._roots = build_tree(nodes)
        self._shown = shown
        self._weigh = weigh
        self._rest = rest
        self._notes = notes

    def lines(self, limit: int | None = LINES, *, width: int = WIDTH) -> list[str]:
        """Return the tree as plain text.

        Args:
            limit: the most lines; None for no limit. Crossings that are live or differ, and those that enclose them, are
                elided last.
            width: columns of a line.
        """
        return ["".join(text for text, _ in parts).rstrip() for parts in self._limited(limit, width)]

    def write(self, page: Page, *, limit: int | None = _SHOWN, whole: bool = False) -> None:
        """Write the tree to a page, in `limit` lines at most (None: no limit); `whole` elides nothing."""
        for parts in (
            self._drawn(self._rows(None, whole=True), page.width)
            if whole
            else self._limited(limit, page.width)
        ):
            page.parts(parts)

    def _rows(self, limit: int | None, *, whole: bool = False) -> list[Row]:
        return fit_rows(self._roots, limit, weigh=((None, 0),) if whole else self._weigh)

    def _limited(self, limit: int | None, width: int) -> list[list[Part]]:
        rows = self._rows(limit)
        drawn = list(self._drawn(rows, width))
        if limit is None or len(drawn) <= limit:
            return drawn
        left_out = sum(row[2].count for row in rows if isinstance(row[2], Elided))
        drawn = list(self._drawn([row for row in rows if not isinstance(row[2], Elided)], width))
        if left_out:  # one line at the end for all that is elided
            drawn.append([(f"… {left_out:,} {self._rest}", "dim")])
        if len(drawn) <= limit:
            return drawn
        head = max(limit - 1 - min(limit // 4, len(self._notes) or limit // 4), 0)
        tail = limit - 1 - head
        left = len(drawn) - head - tail
        return [*drawn[:head], [(f"… {left:,} more lines", "dim")], *drawn[len(drawn) - tail :]]

    def _drawn(self, rows: Iterable[Row], width: int) -> Iterator[list[Part]]:
        for guide, below, item in rows:
            kept = guide if len(guide) <= width // 2 else f"…{guide[-(width // 2) :]}"
            if isinstance(item, Elided):
                yield [(kept, "dim"), (cut(self._elided(item), width - len(kept)), "dim")]
                continue
            room = width - len(kept)
            if item.node is None and not has_one_crossing(item):
                yield [(kept, "dim"), *_lane(item, room)]
                continue
            node = item.node or item.children[0].node
            assert node is not None  # noqa: S101 - else it is a lane with one crossing
            shown = self._shown(node.key)
            lane = [] if item.node is not None else _lane_beside(item, shown, room)
            yield [(kept, "dim"), *_fit([*lane, *_crossing(shown, room - _width(lane))], room)]
            for note in shown.notes:
                start = below if len(below) <= width // 2 else f"…{below[-(width // 2) :]}"
                yield [(f"{start}  ", "dim"), (note.fitted(width - len(start) - 2), _STYLES[note.severity])]
        for note in self._notes:
            yield [(note.fitted(width), _STYLES[note.severity])]

    def _elided(self, elided: Elided) -> str:
        names = elided.names.most_common(6)
        named = ", ".join(clean(name) + (f" ×{count:,}" if count > 1 else "") for name, count in names)
        more = f", and {len(elided.names) - 6:,} names more" if len(elided.names) > 6 else ""
        return f"… {elided.count:,} {self._rest}: {named}{more}"


def _lane(branch: Branch, room: int) -> list[Part]:
    count = plural(branch.count(), "crossing")
    return _fit([*_lane_of_one(branch, room - cells(count)), (count, "dim")], room)


def _lane_beside(branch: Branch, shown: DrawnCrossing, room: int) -> list[Part]:
    """Return the name of a lane with one crossing. It is cut before the input and the outcome of the crossing are."""
    left = room - _width(_crossing(shown, sys.maxsize))
    return _lane_of_one(branch, min(room // 3, max(left, _SHORT)))


def _lane_of_one(branch: Branch, room: int) -> list[Part]:
    mark, lane = "∥ " if branch.parallel else "", clean(branch.lane)
    left = max(room - cells(mark) - 2, _LEAST)
    if cells(lane) > left:  # cut the beginning: the last step tells most
        kept = lane[1 - left :]
        step, _, number = kept.rpartition(".")
        name = step.replace("/", ".").rpartition(".")[2]
        # A short name begins with a whole word, as `…_call_tool.1` for `ToolCallProcessor._call_tool.1`.
        lane = f"…{name}.{number}" if left <= _SHORT and name else f"…{kept}"
    return [(f"{mark}{lane}  ", "magenta")]


def _crossing(shown: DrawnCrossing, room: int) -> list[Part]:
    envelope = shown.envelope
    head: list[Part] = [] if shown.mark is None else [(f"{shown.mark[0]} ", shown.mark[1])]
    head += [(clean(envelope.address), "cyan"), (f" {envelope.kind}", "dim")]
    tail: list[Part] = [(f"  {duration_text(envelope.duration)}", "dim")] if shown.is_timed else []
    tail += [(f"  {text}", style) for text, style in ending(envelope)]
    if shown.remark is not None:
        tail.append((f"  {shown.remark[0]}", shown.remark[1]))
    summary = words(envelope, room - _width(head) - _width(tail) - 2)
    return [*head, (f"  {summary}" if summary else "", None), *tail]


def _width(parts: Iterable[Part]) -> int:
    return sum(cells(text) for text, _ in parts)


def _fit(parts: Iterable[Part], room: int) -> list[Part]:
    """Cut a line of parts to `room` columns."""
    kept: list[Part] = []
    for text, style in parts:
        if cells(text) > room:
            return [*kept, (cut(text, room), style)]
        kept.append((text, style))
        room -= cells(text)
    return kept


# --- a trace -------------------------------------------------------------------------------------------------------


def draw_trace(
    envelopes: Iterable[Envelope],
    get: Callable[[int], Envelope] | None = None,
    call: Envelope | None = None,
) -> Drawing:
    """Draw the crossings of a trace.

    Args:
        envelopes: the crossings in order of start.
        get: reads an envelope by its seq. With it the drawing keeps no envelopes in memory.
        call: the call that the trace was recorded for, if it is the trace of one call. It becomes the root.
    """
    kept: dict[int, Envelope] = {}
    nodes = [] if call is None else [_node(call)]
    root = None if call is None else call.seq
    for envelope in envelopes:
        if get is None:
            kept[envelope.seq] = envelope
        nodes.append(_node(envelope, root=root))
    find = get or kept.__getitem__

    def shown(seq: int) -> DrawnCrossing:
        return DrawnCrossing(call if call is not None and seq == call.seq else find(seq))

    return Drawing(nodes, shown, weigh=((3, 1), (1, 1)))


def _node(envelope: Envelope, *, rank: int = 0, remark: str = "", root: int | None = None) -> Node:
    outcome = envelope.outcome
    end = outcome.end if isinstance(outcome, Streamed) else outcome
    span = (envelope.started, envelope.started + envelope.duration)
    alike = (envelope.name, type(end) is Raised, remark)
    parent = root if envelope.parent is None else envelope.parent
    return Node(envelope.seq, parent, envelope.lane, envelope.name, alike, rank=rank, span=span)


# --- a replay ------------------------------------------------------------------------------------------------------


def draw_replay(
    crossings: Iterable[Replayed],
    divergences: Sequence[Divergence],
    recorded: Iterable[Envelope] = (),
    *,
    get: Callable[[int], Envelope] | None = None,
) -> Drawing:
    """Draw a replay: live, opened, extra and missing crossings, and the divergences below their crossings.

    Args:
        crossings: the crossings of the replay, in order of start.
        divergences: the divergences of the replay.
        recorded: the recorded envelopes. With them a missing crossing is drawn in its place, without them as a note at the
            end.
        get: reads a recorded envelope by its seq. With it the drawing keeps only crossings that have a mark in memory.
    """
    by_address: dict[str, list[Divergence]] = {}
    for divergence in divergences:
        by_address.setdefault(divergence.address, []).append(divergence)
    shown: dict[int, DrawnCrossing] = {}
    places: dict[int, int] = {}
    nodes: list[tuple[tuple[int, int], Node]] = []
    for crossing in crossings:
        notes = by_address.pop(crossing.envelope.address, [])
        drawn = _replayed(crossing, notes)
        if crossing.recorded is not None:
            places[crossing.envelope.seq] = crossing.recorded.seq
        if get is None or drawn.mark is not None:
            shown[crossing.envelope.seq] = drawn
        rank = max(_rank(drawn.notes), int(crossing.mode != "served"), 2 * (drawn.mark == _EXTRA))
        node = _node(crossing.envelope, rank=rank, remark=crossing.mode)
        nodes.append(((crossing.envelope.seq, 0), node))
    missing = _missing_addresses(by_address)
    replayed_seqs = {seq: place for place, seq in places.items()}
    for place, node, drawn in list(_missing(missing, replayed_seqs, recorded if missing else (), by_address)):
        shown[node.key] = drawn
        nodes.append((place, node))
        del by_address[drawn.envelope.address]
    ordered = [node for _, node in sorted(nodes, key=lambda placed: placed[0])]

    def find(place: int) -> DrawnCrossing:
        drawn = shown.get(place)
        if drawn is not None or get is None:
            return shown[place]
        return DrawnCrossing(get(places[place]))

    notes_at_end = _notes_without_crossing(by_address)
    return Drawing(ordered, find, weigh=((3, 1), (1, 1), (0, 1), (0, 2)), notes=notes_at_end)


def _missing_addresses(by_address: Mapping[str, Sequence[Divergence]]) -> set[str]:
    return {
        address
        for address, divergences in by_address.items()
        if any(divergence.kind == "missing" for divergence in divergences)
    }


def _notes_without_crossing(by_address: Mapping[str, Sequence[Divergence]]) -> list[Note]:
    """Return notes for divergences of crossings that are not drawn, the gravest first."""
    notes = [_note_at_end(divergence) for divergences in by_address.values() for divergence in divergences]
    return sorted(notes, key=lambda note: _HEAVIEST.index(note.severity))


def _note_at_end(divergence: Divergence) -> Note:
    if divergence.path is None or divergence.recorded is None or divergence.replayed is None:
        return Note(divergence.message, divergence.severity)
    text = f"{divergence.address} {divergence.path}"
    return Note(text, divergence.severity, (divergence.recorded, divergence.replayed), divergence.message)


_LIVE: Part = ("●", "green")
_OPENED: Part = ("○", "green")
_INVENTED: Part = ("◌", "yellow")
_EXTRA: Part = ("+", "red")
_MISSING: Part = ("−", "red")
_DIFFERS = "≠"


def _replayed(crossing: Replayed, divergences: Sequence[Divergence]) -> DrawnCrossing:
    extra = [divergence for divergence in divergences if divergence.kind == "extra"]
    notes = tuple(_note(divergence) for divergence in divergences if divergence.kind != "extra")
    if extra or (crossing.recorded is None and crossing.mode == "served"):
        nearest = next((f"; nearest {divergence.nearest}" for divergence in extra if divergence.nearest), "")
        mark, remark = _EXTRA, (f"was not recorded{nearest}", _style(extra, "error"))
    elif crossing.mode == "live":
        mark, remark = _LIVE, ("live" if crossing.recorded else "live, was not recorded", "green")
    elif crossing.mode == "opened":
        mark, remark = _OPENED, ("opened", "green")
    elif crossing.mode == "invented":
        mark, remark = _INVENTED, ("invented", _style(divergences, "notice"))
    else:
        return DrawnCrossing(
            crossing.envelope, (_DIFFERS, _style(divergences, "error")) if notes else None, None, notes
        )
    return DrawnCrossing(crossing.envelope, mark, remark, notes)


def _style(divergences: Sequence[Divergence], default: Severity) -> str:
    severities = {divergence.severity for divergence in divergences} or {default}
    return _STYLES[next(severity for severity in _HEAVIEST if severity in severities)]


def _missing(
    addresses: set[str],
    replayed_seqs: Mapping[int, int],
    recorded: Iterable[Envelope],
    by_address: Mapping[str, Sequence[Divergence]],
) -> Iterator[tuple[tuple[int, int], Node, DrawnCrossing]]:
    """Yield the missing crossings with their places: after the crossing that preceded them when they were recorded.

    Args:
        addresses: the addresses of the missing crossings.
        replayed_seqs: the seqs of replayed crossings, by the recorded seq.
        recorded: the recorded envelopes.
        by_address: the divergences of each missing crossing.
    """
    met = sorted(replayed_seqs.items())
    envelopes = {envelope.seq: envelope for envelope in recorded if envelope.address in addresses}
    for seq, envelope in envelopes.items():
        at = bisect_right(met, (seq, 0))
        anchor = met[at - 1][1] if at else 0
        parent = envelope.parent
        above = None if parent is None else -parent if parent in envelopes else replayed_seqs.get(parent)
        divergences = by_address[envelope.address]
        style = _style(divergences, "error")
        rank = 2 if any(divergence.severity == "error" for divergence in divergences) else 1
        node = Node(-seq, above, envelope.lane, envelope.name, (envelope.name, "missing"), rank=rank)
        notes = tuple(_note(divergence) for divergence in divergences if divergence.kind != "missing")
        mark, remark = (_MISSING[0], style), ("did not happen", style)
        if above is not None and above > anchor:
            anchor = above
        yield (anchor, seq), node, DrawnCrossing(envelope, mark, remark, notes, is_timed=False)


def _rank(notes: Iterable[Note]) -> int:
    return max((2 if note.severity == "error" else 1 for note in notes), default=0)


def _note(difference: Divergence | Difference) -> Note:
    first, second = (
        (difference.recorded, difference.replayed)
        if isinstance(difference, Divergence)
        else (difference.first, difference.second)
    )
    if first is None or second is None:
        return Note(f"{difference.kind}: {difference.message}", difference.severity)
    where = f" {difference.path}" if difference.path and not difference.path.startswith("(") else ""
    return Note(f"{difference.kind}{where}", difference.severity, (first, second))


# --- two traces ----------------------------------------------------------------------------------------------------


def draw_comparison(comparison: Comparison) -> Drawing:
    """Draw the differences between two traces, with the crossings that enclose them. Equal crossings are only counted."""
    pairs = comparison.pairs
    firsts = {pair.first.seq: at for at, pair in enumerate(pairs) if pair.first is not None}
    seconds = {pair.second.seq: at for at, pair in enumerate(pairs) if pair.second is not None}
    nodes = []
    for at, pair in enumerate(pairs):
        envelope, known = (pair.first, firsts) if pair.first is not None else (pair.second, seconds)
        assert envelope is not None  # noqa: S101 - a pair has one side at least
        parent = None if envelope.parent is None else known.get(envelope.parent)
        rank = _rank(_note(difference) for difference in pair.differences)
        span = (envelope.started, envelope.started + envelope.duration)
        nodes.append(Node(at, parent, envelope.lane, envelope.name, rank=rank, span=span))
    return Drawing(
        nodes,
        lambda at: _paired(pairs[at]),
        weigh=((0, 1), (0, 2)),
        rest="the same",
        notes=[_note(difference) for difference in comparison.run],
    )


def _paired(pair: Paired) -> DrawnCrossing:
    envelope = pair.first or pair.second
    assert envelope is not None  # noqa: S101 - a pair has one side at least
    severities = {difference.severity for difference in pair.differences}
    style = next((_STYLES[difference] for difference in _HEAVIEST if difference in severities), "red")
    if pair.first is None or pair.second is None:
        mark, remark = ("+", "in the second only") if pair.first is None else ("−", "in the first only")
        return DrawnCrossing(envelope, (mark, style), (remark, style), is_timed=False)
    notes = tuple(_note(difference) for difference in pair.differences)
    return DrawnCrossing(envelope, (_DIFFERS, style) if notes else None, None, notes, is_timed=not notes)
