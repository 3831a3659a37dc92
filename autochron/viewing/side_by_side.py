"""The data of pages with two sides: two traces, or a replay beside its record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from autochron.diff.crossings import Inputs
from autochron.model import Comparison, Divergence, Envelope, Footer, Header, Replayed
from autochron.report.text import plural
from autochron.viewing.page_data import PageData, PairRow, Side, difference_data

_GRAVEST_FIRST = ("error", "warning", "consequence", "notice")


def comparison_page(
    comparison: Comparison,
    envelopes: tuple[Iterable[Envelope], Iterable[Envelope]],
    footers: tuple[Footer | None, Footer | None],
    *,
    inputs: Inputs = "strict",
) -> PageData:
    """Return the data of a page of two traces.

    Args:
        comparison: what `diff.traces.differ` found.
        envelopes: the crossings of both traces. The comparison lacks those inside of a crossing that only one trace has.
        footers: the footers of both traces.
        inputs: what a changed input is, as it was compared.
    """
    headers = (comparison.first, comparison.second)
    data = PageData("comparison", " and ".join(header.name or header.id for header in headers))
    positions: list[dict[int, int]] = []
    for header, footer, crossings, title in zip(
        headers, footers, envelopes, ("first", "second"), strict=True
    ):
        side = data.side(header, footer, title)
        call = None if footer is None else footer.call
        first = {} if call is None else {call.seq: side.add_call(call)}
        positions.append(first | {envelope.seq: side.add(envelope) for envelope in crossings})
    first_at, second_at = positions
    rows = [
        PairRow(
            -1 if pair.first is None else first_at[pair.first.seq],
            -1 if pair.second is None else second_at[pair.second.seq],
            [difference_data(each) for each in pair.differences],
        )
        for pair in comparison.pairs
    ]
    data.pairs = list(_with_inner(rows, data.sides))
    data.pairs += [PairRow(-1, -1, [difference_data(each)]) for each in comparison.run]
    # A note, such as of a daemon that got further, is no difference.
    differing = [row for row in data.pairs if any(each["severity"] != "notice" for each in row.differences)]
    data.is_same = comparison.same
    data.verdict = _SAME[inputs] if comparison.same else plural(len(differing), "difference")
    return data


_SAME: dict[Inputs, str] = {
    "strict": "the same",
    "warn": "the same, but for inputs that are marked",
    "ignore": "the same; inputs were not compared",
}


def _with_inner(rows: Sequence[PairRow], sides: Sequence[Side]) -> Iterator[PairRow]:
    """Yield rows, and after each crossing that only one side has the crossings inside it that are no rows yet."""
    taken = [{row[at] for row in map(_places, rows)} for at in (0, 1)]
    inside: list[dict[int, list[int]]] = [{}, {}]
    for number, side in enumerate(sides):
        for at, parent in enumerate(side.columns.parent):
            if at not in taken[number]:
                inside[number].setdefault(parent, []).append(at)

    def below(row: PairRow) -> Iterator[PairRow]:
        waiting = [row]
        while waiting:
            each = waiting.pop()
            yield each
            number, at = (0, each.first) if each.first >= 0 else (1, each.second)
            children = inside[number].pop(at, []) if at >= 0 else []
            waiting += [
                PairRow(*((child, -1) if number == 0 else (-1, child))) for child in reversed(children)
            ]

    for number in (0, 1):  # a call that one trace alone was recorded for has no row yet
        for at in inside[number].pop(-1, []):
            yield from below(PairRow(*((at, -1) if number == 0 else (-1, at))))
    for row in rows:
        yield from below(row)


def _places(row: PairRow) -> tuple[int, int]:
    return row.first, row.second


def replay_page(
    header: Header,
    footer: Footer | None,
    recorded: Iterable[Envelope],
    replayed: Sequence[Replayed],
    divergences: Sequence[Divergence],
    *,
    title: str,
    verdict: str,
    is_same: bool,
    status: int | None = None,
) -> PageData:
    """Return the data of a page of a replay, with its record on the left.

    Args:
        header, footer: of the recorded trace.
        recorded: its crossings, in order of start.
        replayed: the crossings of the replay, in order of start.
        divergences: where they disagree.
        title: what was replayed.
        verdict: how the replay ended, in one line.
        is_same: whether replay and record agree.
        status: the exit status of the replay; None for a block.
    """
    data = PageData("replay", title)
    data.verdict, data.is_same = verdict, is_same
    record, replay = data.side(header, footer, "record"), data.side(header, None, "replay")
    replay.header = {"title": "replay", "complete": True, "status": status}
    recorded_at = {envelope.seq: record.add(envelope) for envelope in recorded}
    by_address: dict[str, list[dict[str, Any]]] = {}
    for divergence in sorted(divergences, key=lambda each: _GRAVEST_FIRST.index(each.severity)):
        by_address.setdefault(divergence.address, []).append(_divergence(divergence))
    met: dict[int, PairRow] = {}
    extra: dict[int, list[PairRow]] = {}
    latest = -1
    for crossing in replayed:
        at = replay.add(crossing.envelope, crossing.mode)
        counterpart = -1 if crossing.recorded is None else recorded_at.get(crossing.recorded.seq, -1)
        row = PairRow(counterpart, at, by_address.pop(crossing.envelope.address, []))
        if counterpart < 0:
            extra.setdefault(latest, []).append(row)
        else:
            met[counterpart] = row
            latest = counterpart
    data.pairs += extra.pop(-1, [])
    served = {row.first for row in met.values() if replayed[row.second].mode == "served"}
    for at in range(len(record)):
        row = met.get(at) or PairRow(at, -1, by_address.pop(record.address(at), []))
        if row.second < 0 and record.columns.parent[at] in served:
            served.add(at)  # its own inner crossings did not run, either
            if not row.differences:
                row.differences = [_NOT_RUN]
        data.pairs.append(row)
        data.pairs += extra.pop(at, [])
    # What was refused before it could cross, and the output and the exit status.
    data.pairs += [PairRow(-1, -1, left) for left in by_address.values()]
    return data


_NOT_RUN: dict[str, Any] = {
    "kind": "not-run",
    "message": "It is inside of a crossing that was served, so it did not run.",
    "severity": "notice",
}


def _divergence(divergence: Divergence) -> dict[str, Any]:
    data = {
        "kind": divergence.kind,
        "address": divergence.address,
        "message": divergence.message,
        "severity": divergence.severity,
        "path": divergence.path,
        "first": divergence.recorded,
        "second": divergence.replayed,
    }
    return {key: value for key, value in data.items() if value is not None}
