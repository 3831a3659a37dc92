"""Traces that several processes wrote: where their seqs come from, and how one order is made of them.

The first process counts its crossings from 1. A child process takes runs of seqs from `FIRST` on, so that no two meet and
none waits for another. Who reads gets one order, by start, as of a trace that one process wrote: seqs, parents and
occurrences are numbered anew. A trace without children is read as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from autochron._runtime.lazy import late_decoder, late_module
from autochron.effects.footprints import first_reads, first_snapshots
from autochron.model import Child, ChildEnd, Envelope, Footer
from autochron.store.rows import SHIFT

if TYPE_CHECKING:
    import sqlite3
else:
    late_module(globals(), "sqlite3")

FIRST = 1 << 31
"""The first seq of child processes."""

TAKEN = 1 << 16
"""Seqs that a process takes at a time."""

MAIN = "0"
"""The lane of the first process."""

PUT_ENDING = "UPDATE child SET ending = ? WHERE id = ?"

_MASK = (1 << SHIFT) - 1
_ending = late_decoder(ChildEnd)


def bounds_of(number: int) -> tuple[int, int]:
    """Return the range of ids that belong to a trace."""
    return number << SHIFT, (number + 1 << SHIFT) - 1


def reserve(connection: sqlite3.Connection, number: int, lane: str, label: str | None) -> tuple[str, int]:
    """Take a run of seqs; gives the lane and the id of the new row. See `SqliteSink.reserve`."""
    connection.execute("BEGIN IMMEDIATE")
    bounds = bounds_of(number)
    if label is not None:
        taken = {
            row[0] for row in connection.execute("SELECT lane FROM child WHERE id BETWEEN ? AND ?", bounds)
        }
        lane = free_lane(lane, label, taken)
    (highest,) = connection.execute("SELECT max(id) FROM child WHERE id BETWEEN ? AND ?", bounds).fetchone()
    first = (number << SHIFT | FIRST) if highest is None else highest + TAKEN
    if first > bounds[1]:
        connection.execute("ROLLBACK")
        raise sqlite3.DataError("a trace has room for 32,768 child processes; this one is full")
    connection.execute("INSERT INTO child VALUES (?, ?, NULL)", (first, lane))
    connection.execute("COMMIT")
    return lane, first


def free_lane(lane: str, label: str, taken: Iterable[str]) -> str:
    """Return a lane that no process has begun in: the one that is wanted, where it is a child's, or the next one below it."""
    known = set(taken)
    if not label:
        label = lane.rpartition("/")[2].rpartition(".")[0]
        if lane not in known:
            return lane
    nth = 1
    while f"{lane}/{label}.{nth}" in known:
        nth += 1
    return f"{lane}/{label}.{nth}"


def children(connection: sqlite3.Connection, number: int) -> list[Child]:
    """Return the child processes that were recorded into a trace, in the order in which they came."""
    found: dict[str, Child] = {}
    for lane, ending in _rows(connection, number):
        if ending is not None or lane.decode() not in found:
            end = None if ending is None else _ending.decode(ending)
            found[lane.decode()] = Child(lane.decode(), end)
    return list(found.values())


def _rows(connection: sqlite3.Connection, number: int) -> list[tuple[bytes, bytes | None]]:
    try:
        return connection.execute(
            "SELECT lane, ending FROM child WHERE id BETWEEN ? AND ? ORDER BY id", bounds_of(number)
        ).fetchall()
    except sqlite3.OperationalError:  # an older store that can't be written
        return []


# --- one order -----------------------------------------------------------------------------------------------------


class Order:
    """The order of start of a trace's crossings.

    Attributes:
        seqs: the seqs as they were written, in that order.
        runs: the first and last seq of each process's runs that hold crossings, ascending.
    """

    def __init__(self, connection: sqlite3.Connection, number: int) -> None:
        rows = connection.execute(
            "SELECT id, name, lane, nth, started FROM crossing WHERE id BETWEEN ? AND ? ORDER BY id",
            bounds_of(number),
        ).fetchall()
        placed: list[tuple[int, int]] = []
        began, run = 0, -1
        for row in rows:
            seq = row[0] & _MASK
            if run_of(seq) != run:
                run, began = run_of(seq), 0
            # Within a process seqs have the last word: a thread takes its seq a moment before it reads the clock.
            began = max(began, row[4])
            placed.append((began, seq))
        placed.sort()
        self.seqs = [seq for _, seq in placed]
        self.runs = sorted({run_of(seq) for seq in self.seqs})
        self._new = {seq: place for place, seq in enumerate(self.seqs, 1)}
        self._nth = _occurrences(rows)

    def renumbered(self, envelope: Envelope) -> Envelope:
        """Return an envelope with its place in the whole."""
        parent = envelope.parent
        return msgspec.structs.replace(
            envelope,
            seq=self._new[envelope.seq],
            nth=self._nth.get(envelope.seq, envelope.nth),
            # A parent that was lost stays one that isn't there.
            parent=None if parent is None else self._new.get(parent, parent | FIRST),
        )


def run_of(seq: int) -> int:
    """Return which run of seqs one belongs to: 0 for the first process."""
    return 0 if seq < FIRST else (seq - FIRST) // TAKEN + 1


def bounds_of_run(number: int, run: int) -> tuple[int, int]:
    """Return the range of ids of a run."""
    first = number << SHIFT
    if run == 0:
        return first, first | FIRST - 1
    start = first | FIRST + (run - 1) * TAKEN
    return start, start + TAKEN - 1


def _occurrences(rows: list[tuple[int, bytes, bytes, int, int]]) -> dict[int, int]:
    """Count the crossings of child processes on from those of the first, lane by lane: so it is the same in every run."""
    last: dict[bytes, int] = {}
    others: list[tuple[list[int | str], int, bytes]] = []
    for identity, name, lane, nth, _ in rows:
        seq = identity & _MASK
        if seq < FIRST:
            last[name] = max(last.get(name, 0), nth)
        else:
            others.append((_natural(lane.decode()), seq, name))
    found: dict[int, int] = {}
    for _, seq, name in sorted(others):
        found[seq] = last[name] = last.get(name, 0) + 1
    return found


def _natural(lane: str) -> list[int | str]:
    """Return a key that sorts `x.10` behind `x.2`."""
    return [int(part) if at % 2 else part for at, part in enumerate(re.split(r"(\d+)", lane))]


# --- the last word -------------------------------------------------------------------------------------------------


def merged(connection: sqlite3.Connection, number: int, footer: Footer) -> Footer:
    """Return the footer of a trace with what its child processes had to say."""
    ended = [child for child in children(connection, number) if child.end is not None]
    footers = [footer, *(child.end.footer for child in ended if child.end is not None)]
    asked: dict[str, None] = {}
    declined: dict[str, None] = {}
    if any(each.unwoven_tools or each.declined_tools for each in footers):
        crossed = _names(connection, number)
        for lane, each in zip([MAIN, *(child.lane for child in ended)], footers, strict=True):
            # Asked for in one process, a tool may have crossed in another.
            elsewhere = {name for other, names in crossed.items() if other != lane for name in names}
            asked |= dict.fromkeys(_not_in(elsewhere, each.unwoven_tools))
            declined |= dict.fromkeys(_not_in(elsewhere, each.declined_tools))
    snapshots = first_snapshots(each.snapshots for each in footers)
    return msgspec.structs.replace(
        footer,
        snapshots=snapshots,
        reads=first_reads((each.reads for each in footers), snapshots),
        unwoven_tools=tuple(asked),
        declined_tools=tuple(tool for tool in declined if tool not in asked),
        connections=tuple(dict.fromkeys(found for each in footers for found in each.connections)),
        ledger=tuple(dict.fromkeys(found for each in footers for found in each.ledger)),
        versions=tuple(dict.fromkeys(found for each in footers for found in each.versions)),
        environment=tuple(dict.fromkeys(found for each in footers for found in each.environment)),
        credentials=tuple(dict.fromkeys(found for each in footers for found in each.credentials)),
        lost=sum(each.lost for each in footers),
    )


def _not_in(names: set[str], tools: tuple[str, ...]) -> list[str]:
    return [tool for tool in tools if tool.partition(" ")[0] not in names]


def _names(connection: sqlite3.Connection, number: int) -> dict[str, set[str]]:
    """Return the names that each process crossed, by the lane that it began in: of boundaries and of functions."""
    bounds = bounds_of(number)
    try:
        rows = connection.execute("SELECT id, lane FROM child WHERE id BETWEEN ? AND ?", bounds).fetchall()
    except sqlite3.OperationalError:
        rows = []
    lanes = {run_of(identity & _MASK): lane.decode() for identity, lane in rows}
    found: dict[str, set[str]] = {}
    for identity, name, site in connection.execute(
        "SELECT id, name, site FROM crossing WHERE id BETWEEN ? AND ?", bounds
    ):
        names = found.setdefault(lanes.get(run_of(identity & _MASK), MAIN), set())
        names.add(name.decode())
        names.add(site.decode().rpartition(":")[2].rpartition(".")[2])
    return found
