"""The data of pages with two sides: two traces, or a replay beside its record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from autochron.model import Comparison, Divergence, Envelope, Footer, Header, Replayed
from autochron.report.text import plural
from autochron.viewing.page_data import PageData, PairRow, difference_data

_GRAVEST_FIRST = ("error", "warning", "consequence", "notice")


def comparison_page(
    comparison: Comparison,
    envelopes: tuple[Iterable[Envelope], Iterable[Envelope]],
    footers: tuple[Footer | None, Footer | None],
) -> PageData:
    """Return the data of a page of two traces.

    Args:
        comparison: what `diff.traces.differ` found.
        envelopes: the crossings of both traces. Those inside of a crossing that only one trace has are in the comparison not.
        footers: the footers of both traces.
    """
    headers = (comparison.first, comparison.second)
    data = PageData("comparison", " and ".join(header.name or header.id for header in headers))
    positions: list[dict[int, int]] = []
    for header, footer, crossings, title in zip(
        headers, footers, envelopes, ("first", "second"), strict=True
    ):
        side = data.side(header, footer, title)
        positions.append({envelope.seq: side.add(envelope) for envelope in crossings})
    first_at, second_at = positions
    for pair in comparison.pairs:
        first = -1 if pair.first is None else first_at[pair.first.seq]
        second = -1 if pair.second is None else second_at[pair.second.seq]
        data.pairs.append(PairRow(first, second, [difference_data(each) for each in pair.differences]))
    data.run = [difference_data(difference) for difference in comparison.run]
    # A note, such as of a daemon that got further, is no difference.
    differing = [
        pair for pair in comparison.pairs if any(each.severity != "notice" for each in pair.differences)
    ]
    data.is_same = comparison.same
    data.verdict = "the same" if comparison.same else plural(len(differing) + len(data.run), "difference")
    return data


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
    """
    data = PageData("replay", title)
    data.verdict, data.is_same = verdict, is_same
    record, replay = data.side(header, footer, "record"), data.side(header, None, "replay")
    replay.header = {"title": "replay", "complete": True}
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
    names = {position: name for name, position in data.names.numbers.items()}
    for at in range(len(record)):
        address = f"{names[record.columns.name[at]]}[{record.columns.nth[at]}]"
        data.pairs.append(met.get(at) or PairRow(at, -1, by_address.pop(address, [])))
        data.pairs += extra.pop(at, [])
    data.run = [each for left in by_address.values() for each in left]
    return data


def _divergence(divergence: Divergence) -> dict[str, Any]:
    data = {
        "kind": divergence.kind,
        "message": divergence.message,
        "severity": divergence.severity,
        "path": divergence.path,
        "first": divergence.recorded,
        "second": divergence.replayed,
    }
    return {key: value for key, value in data.items() if value is not None}
