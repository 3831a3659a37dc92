"""Draw crossings as a tree: a trace, a replay with what differed in it, or two traces beside each other.

A drawing gives plain lines, for an exception or a section of pytest's, or writes itself to a page with its styles.
"""

from __future__ import annotations

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
from autochron.report.branches import Branch, Elided, Knot, Row, Weight, fitted, grow, is_alone
from autochron.report.phrases import Part, cells, clean, cut, ending, lasted, words
from autochron.report.text import WIDTH, Page, plural

LINES = 40
"""Lines of a tree in an exception or a section of a test's report."""

DRAWN_WHOLE = 20_000
"""Crossings of a record up to which what did not happen is drawn in its place."""

_SHOWN = 300
"""Lines of a tree on a page."""

_STYLES: dict[Severity, str] = {"error": "red", "warning": "yellow", "consequence": "dim", "notice": "dim"}
_HEAVIEST: tuple[Severity, ...] = ("error", "warning", "consequence", "notice")


class Note(NamedTuple):
    """Something that differs, as a line below its crossing or at the end."""

    text: str
    severity: Severity
    values: tuple[str, str] | None = None
    """What stands there on both sides."""

    def fitted(self, room: int) -> str:
        """Return the text in a width, which both sides share equally."""
        text = clean(self.text)
        if self.values is None:
            return cut(text, room)
        if cells(text) > room // 2:  # the end of a path tells more than its beginning
            kind, _, path = text.partition(" ")
            text = f"{kind} …{path[-(room // 2) :]}"
        left = room - cells(text) - 5
        if left < _SIDES:
            return cut(f"{text}: {' → '.join(map(clean, self.values))}", room)
        one, other = _beside(clean(self.values[0]), clean(self.values[1]), left)
        first = cut(one, max(left // 2, left - cells(other)))
        return f"{text}: {first} → {cut(other, left - cells(first))}"


_SIDES = 16
_LEAST = 8
_LEAD = 6


def _beside(one: str, other: str, room: int) -> tuple[str, str]:
    """Leave away the beginning that two values share, where they don't fit and it is long."""
    if cells(one) + cells(other) <= room:
        return one, other
    pairs = enumerate(zip(one, other, strict=False))
    shared = next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other))) - _LEAD
    return (f"…{one[shared:]}", f"…{other[shared:]}") if shared > _LEAD else (one, other)


class DrawnCrossing(NamedTuple):
    """One crossing as it is drawn."""

    envelope: Envelope
    mark: Part | None = None
    remark: Part | None = None
    notes: tuple[Note, ...] = ()
    is_timed: bool = True


class Drawing:
    """A tree that is ready to be drawn."""

    def __init__(
        self,
        knots: Iterable[Knot],
        shown: Callable[[int], DrawnCrossing],
        *,
        weigh: Sequence[Weight],
        rest: str = "more",
        notes: Sequence[Note] = (),
    ) -> None:
        self._roots = grow(knots)
        self._shown = shown
        self._weigh = weigh
        self._rest = rest
        self._notes = notes

    def lines(self, limit: int | None = LINES, *, width: int = WIDTH) -> list[str]:
        """Return plain lines, as many as the limit at most: what is live or differs, and what encloses it, stays longest."""
        return ["".join(text for text, _ in parts).rstrip() for parts in self._limited(limit, width)]

    def write(self, page: Page, *, limit: int | None = _SHOWN, whole: bool = False) -> None:
        """Write the tree to a page; `whole` leaves nothing out."""
        for parts in (
            self._drawn(self._rows(None, whole=True), page.width)
            if whole
            else self._limited(limit, page.width)
        ):
            page.parts(parts)

    def _rows(self, limit: int | None, *, whole: bool = False) -> list[Row]:
        return fitted(self._roots, limit, weigh=((None, 0),) if whole else self._weigh)

    def _limited(self, limit: int | None, width: int) -> list[list[Part]]:
        rows = self._rows(limit)
        drawn = list(self._drawn(rows, width))
        if limit is None or len(drawn) <= limit:
            return drawn
        left_out = sum(row[2].count for row in rows if isinstance(row[2], Elided))
        drawn = list(self._drawn([row for row in rows if not isinstance(row[2], Elided)], width))
        if left_out:  # at once, and not each where it would be
            drawn.append([(f"… {left_out:,} {self._rest}", "dim")])
        if len(drawn) <= limit:
            return drawn
        head = max(limit - 1 - min(limit // 4, len(self._notes) or limit // 4), 0)
        tail = limit - 1 - head
        left = len(drawn) - head - tail
        return [*drawn[:head], [(f"… {left:,} more lines", "dim")], *drawn[len(drawn) - tail :]]

    def _drawn(self, rows: Iterable[Row], width: int) -> Iterator[list[Part]]:
        for guide, below, each in rows:
            kept = guide if len(guide) <= width // 2 else f"…{guide[-(width // 2) :]}"
            if isinstance(each, Elided):
                yield [(kept, "dim"), (cut(self._elided(each), width - len(kept)), "dim")]
                continue
            room = width - len(kept)
            if each.knot is None and not is_alone(each):
                yield [(kept, "dim"), *_lane(each, room)]
                continue
            lane = [] if each.knot is not None else _lane_of_one(each, room // 3)
            knot = each.knot or each.children[0].knot
            assert knot is not None  # noqa: S101 - alone in its lane
            shown = self._shown(knot.key)
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


def _lane_of_one(branch: Branch, room: int) -> list[Part]:
    mark, lane = "∥ " if branch.parallel else "", clean(branch.lane)
    left = max(room - cells(mark) - 2, _LEAST)
    if cells(lane) > left:  # its last step tells more than the first, and what crosses there more than both
        lane = f"…{lane[1 - left :]}"
    return [(f"{mark}{lane}  ", "magenta")]


def _crossing(shown: DrawnCrossing, room: int) -> list[Part]:
    envelope = shown.envelope
    head: list[Part] = [] if shown.mark is None else [(f"{shown.mark[0]} ", shown.mark[1])]
    head += [(clean(envelope.address), "cyan"), (f" {envelope.kind}", "dim")]
    tail: list[Part] = [(f"  {lasted(envelope.duration)}", "dim")] if shown.is_timed else []
    tail += [(f"  {text}", style) for text, style in ending(envelope)]
    if shown.remark is not None:
        tail.append((f"  {shown.remark[0]}", shown.remark[1]))
    said = words(envelope, room - _width(head) - _width(tail) - 2)
    return [*head, (f"  {said}" if said else "", None), *tail]


def _width(parts: Iterable[Part]) -> int:
    return sum(cells(text) for text, _ in parts)


def _fit(parts: Iterable[Part], room: int) -> list[Part]:
    """Cut a line that is too long in spite of all."""
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
    """Draw the crossings of a trace, in order of start, below the call that it is of, if it is one's.

    With `get` none is kept, and those that are shown are asked for.
    """
    kept: dict[int, Envelope] = {}
    knots = [] if call is None else [_knot(call)]
    root = None if call is None else call.seq
    for envelope in envelopes:
        if get is None:
            kept[envelope.seq] = envelope
        knots.append(_knot(envelope, root=root))
    find = get or kept.__getitem__

    def shown(seq: int) -> DrawnCrossing:
        return DrawnCrossing(call if call is not None and seq == call.seq else find(seq))

    return Drawing(knots, shown, weigh=((3, 1), (1, 1)))


def _knot(envelope: Envelope, *, rank: int = 0, remark: str = "", root: int | None = None) -> Knot:
    outcome = envelope.outcome
    end = outcome.end if isinstance(outcome, Streamed) else outcome
    span = (envelope.started, envelope.started + envelope.duration)
    alike = (envelope.name, type(end) is Raised, remark)
    parent = root if envelope.parent is None else envelope.parent
    return Knot(envelope.seq, parent, envelope.lane, envelope.name, alike, rank=rank, span=span)


# --- a replay ------------------------------------------------------------------------------------------------------


def draw_replay(
    crossings: Iterable[Replayed],
    divergences: Sequence[Divergence],
    recorded: Iterable[Envelope] = (),
    *,
    get: Callable[[int], Envelope] | None = None,
) -> Drawing:
    """Draw a replay: what was live or opened, what is extra, what did not happen, and what differed where.

    Args:
        crossings: in order of start.
        divergences: what differed.
        recorded: the recorded envelopes; with them what did not happen stands in its place, else at the end.
        get: reads a recorded envelope; with it none is kept that went as it was recorded.
    """
    by_address: dict[str, list[Divergence]] = {}
    for each in divergences:
        by_address.setdefault(each.address, []).append(each)
    shown: dict[int, DrawnCrossing] = {}
    places: dict[int, int] = {}
    knots: list[tuple[tuple[int, int], Knot]] = []
    for crossing in crossings:
        notes = by_address.pop(crossing.envelope.address, [])
        drawn = _replayed(crossing, notes)
        if crossing.recorded is not None:
            places[crossing.envelope.seq] = crossing.recorded.seq
        if get is None or drawn.mark is not None:
            shown[crossing.envelope.seq] = drawn
        rank = max(_rank(drawn.notes), int(crossing.mode != "served"), 2 * (drawn.mark == _EXTRA))
        knot = _knot(crossing.envelope, rank=rank, remark=crossing.mode)
        knots.append(((crossing.envelope.seq, 0), knot))
    missing = {
        address for address, told in by_address.items() if any(each.kind == "missing" for each in told)
    }
    now = {seq: place for place, seq in places.items()}
    for place, knot, drawn in list(_missing(missing, now, recorded if missing else (), by_address)):
        shown[knot.key] = drawn
        knots.append((place, knot))
        del by_address[drawn.envelope.address]
    rest = [Note(each.message, each.severity) for told in by_address.values() for each in told]
    rest.sort(key=lambda note: _HEAVIEST.index(note.severity))
    ordered = [knot for _, knot in sorted(knots, key=lambda each: each[0])]

    def find(place: int) -> DrawnCrossing:
        drawn = shown.get(place)
        if drawn is not None or get is None:
            return shown[place]
        return DrawnCrossing(get(places[place]))

    return Drawing(ordered, find, weigh=((3, 1), (1, 1), (0, 1), (0, 2)), notes=rest)


_LIVE: Part = ("●", "green")
_OPENED: Part = ("○", "green")
_INVENTED: Part = ("◌", "yellow")
_EXTRA: Part = ("+", "red")
_MISSING: Part = ("−", "red")
_DIFFERS = "≠"


def _replayed(crossing: Replayed, divergences: Sequence[Divergence]) -> DrawnCrossing:
    extra = [each for each in divergences if each.kind == "extra"]
    notes = tuple(_note(each) for each in divergences if each.kind != "extra")
    if extra or (crossing.recorded is None and crossing.mode == "served"):
        nearest = next((f"; nearest {each.nearest}" for each in extra if each.nearest), "")
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
    severities = {each.severity for each in divergences} or {default}
    return _STYLES[next(each for each in _HEAVIEST if each in severities)]


def _missing(
    addresses: set[str],
    now: Mapping[int, int],
    recorded: Iterable[Envelope],
    told: Mapping[str, Sequence[Divergence]],
) -> Iterator[tuple[tuple[int, int], Knot, DrawnCrossing]]:
    """Yield what did not happen, behind what came before it when it was recorded; `now` has places by recorded ones."""
    met = sorted(now.items())
    found = {each.seq: each for each in recorded if each.address in addresses}
    for seq, envelope in found.items():
        at = bisect_right(met, (seq, 0))
        anchor = met[at - 1][1] if at else 0
        parent = envelope.parent
        above = None if parent is None else -parent if parent in found else now.get(parent)
        divergences = told[envelope.address]
        style = _style(divergences, "error")
        rank = 2 if any(each.severity == "error" for each in divergences) else 1
        knot = Knot(-seq, above, envelope.lane, envelope.name, (envelope.name, "missing"), rank=rank)
        notes = tuple(_note(each) for each in divergences if each.kind != "missing")
        mark, remark = (_MISSING[0], style), ("did not happen", style)
        if above is not None and above > anchor:
            anchor = above
        yield (anchor, seq), knot, DrawnCrossing(envelope, mark, remark, notes, is_timed=False)


def _rank(notes: Iterable[Note]) -> int:
    return max((2 if note.severity == "error" else 1 for note in notes), default=0)


def _note(each: Divergence | Difference) -> Note:
    one, other = (each.recorded, each.replayed) if isinstance(each, Divergence) else (each.first, each.second)
    if one is None or other is None:
        return Note(f"{each.kind}: {each.message}", each.severity)
    where = f" {each.path}" if each.path and not each.path.startswith("(") else ""
    return Note(f"{each.kind}{where}", each.severity, (one, other))


# --- two traces ----------------------------------------------------------------------------------------------------


def draw_comparison(comparison: Comparison) -> Drawing:
    """Draw in what two traces differ, with what encloses it; what is the same is counted only."""
    pairs = comparison.pairs
    firsts = {pair.first.seq: at for at, pair in enumerate(pairs) if pair.first is not None}
    seconds = {pair.second.seq: at for at, pair in enumerate(pairs) if pair.second is not None}
    knots = []
    for at, pair in enumerate(pairs):
        envelope, known = (pair.first, firsts) if pair.first is not None else (pair.second, seconds)
        assert envelope is not None  # noqa: S101 - a pair has one side at least
        parent = None if envelope.parent is None else known.get(envelope.parent)
        rank = _rank(_note(each) for each in pair.differences)
        span = (envelope.started, envelope.started + envelope.duration)
        knots.append(Knot(at, parent, envelope.lane, envelope.name, rank=rank, span=span))
    return Drawing(
        knots,
        lambda at: _paired(pairs[at]),
        weigh=((0, 1), (0, 2)),
        rest="the same",
        notes=[_note(each) for each in comparison.run],
    )


def _paired(pair: Paired) -> DrawnCrossing:
    envelope = pair.first or pair.second
    assert envelope is not None  # noqa: S101 - a pair has one side at least
    severities = {each.severity for each in pair.differences}
    style = next((_STYLES[each] for each in _HEAVIEST if each in severities), "red")
    if pair.first is None or pair.second is None:
        mark, remark = ("+", "in the second only") if pair.first is None else ("−", "in the first only")
        return DrawnCrossing(envelope, (mark, style), (remark, style), is_timed=False)
    notes = tuple(_note(each) for each in pair.differences)
    return DrawnCrossing(envelope, (_DIFFERS, style) if notes else None, None, notes, is_timed=not notes)
