"""Traces that several processes wrote: the seqs that each process uses, and the one order in which a reader gets them.

The first process counts its crossings from 1. A child process reserves runs of seqs from `FIRST` on, so that no seq is used
twice and no process waits for another. A reader gets all crossings in order of start, with new seqs, parents and occurrences,
as if one process had written them. A trace without child processes is read as it was written.
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
"""Seqs in a run: as many as a process reserves at a time."""

MAIN = "0"
"""The lane of the first process."""

PUT_ENDING = "UPDATE child SET ending = ? WHERE id = ?"

_MASK = (1 << SHIFT) - 1
_ending = late_decoder(ChildEnd)


def bounds_of(number: int) -> tuple[int, int]:
    """Return the first and the last id that a row of a trace can have."""
    return number << SHIFT, (number + 1 << SHIFT) - 1


def reserve(connection: sqlite3.Connection, number: int, lane: str, label: str | None) -> tuple[str, int]:
    """Reserve a run of seqs for a child process; return its lane and the id of its new row. See `SqliteSink.reserve`.

    Raises:
        sqlite3.Error: the store can't be written, or the trace has no run left.
    """
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
    """Return a lane that no process has taken yet.

    Args:
        lane: the lane of the parent; with an empty label, the lane that the child wants for itself.
        label: the label of a new lane below `lane`. With an empty one the result is `lane` if it is free, else a lane below
            it with the same label.
        taken: the lanes of other child processes.
    """
    lanes = set(taken)
    if not label:
        label = lane.rpartition("/")[2].rpartition(".")[0]
        if lane not in lanes:
            return lane
    nth = 1
    while f"{lane}/{label}.{nth}" in lanes:
        nth += 1
    return f"{lane}/{label}.{nth}"


def children(connection: sqlite3.Connection, number: int) -> list[Child]:
    """Return the child processes that were recorded into a trace, in the order in which they began."""
    by_lane: dict[str, Child] = {}
    for lane, ending in _rows(connection, number):
        if ending is not None or lane.decode() not in by_lane:
            end = None if ending is None else _ending.decode(ending)
            by_lane[lane.decode()] = Child(lane.decode(), end)
    return list(by_lane.values())


def _rows(connection: sqlite3.Connection, number: int) -> list[tuple[bytes, bytes | None]]:
    try:
        return connection.execute(
            "SELECT lane, ending FROM child WHERE id BETWEEN ? AND ? ORDER BY id", bounds_of(number)
        ).fetchall()
    except sqlite3.OperationalError:  # an older store that can't be migrated has no table `child`
        return []


# --- one order -------------------------------------------------------------------------------------------------------


class Order:
    """The crossings of a trace in order of start.

    Attributes:
        seqs: the seqs as they were written, in that order.
        runs: the numbers of the runs of seqs that have crossings, ascending; see `run_of`.
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
            # Within a process the order of seqs counts: a thread takes its seq a moment before it reads the clock.
            began = max(began, row[4])
            placed.append((began, seq))
        placed.sort()
        self.seqs = [seq for _, seq in placed]
        self.runs = sorted({run_of(seq) for seq in self.seqs})
        self._new = {seq: place for place, seq in enumerate(self.seqs, 1)}
        self._nth = _occurrences(rows)

    def renumbered(self, envelope: Envelope) -> Envelope:
        """Return an envelope with the seq, occurrence and parent that it has in this order."""
        parent = envelope.parent
        return msgspec.structs.replace(
            envelope,
            seq=self._new[envelope.seq],
            nth=self._nth.get(envelope.seq, envelope.nth),
            # If the parent was lost, the seq is one that no crossing has.
            parent=None if parent is None else self._new.get(parent, parent | FIRST),
        )


def run_of(seq: int) -> int:
    """Return the number of the run that a seq belongs to; 0 is the first process's."""
    return 0 if seq < FIRST else (seq - FIRST) // TAKEN + 1


def bounds_of_run(number: int, run: int) -> tuple[int, int]:
    """Return the first and the last id of a run."""
    first = number << SHIFT
    if run == 0:
        return first, first | FIRST - 1
    start = first | FIRST + (run - 1) * TAKEN
    return start, start + TAKEN - 1


def _occurrences(rows: list[tuple[int, bytes, bytes, int, int]]) -> dict[int, int]:
    """Return new occurrences: child processes count on after the first one, lane by lane, so that every run agrees.

    Returns:
        From the seq of a child process's crossing to its occurrence.
    """
    last: dict[bytes, int] = {}
    others: list[tuple[list[int | str], int, bytes]] = []
    for identity, name, lane, nth, _ in rows:
        seq = identity & _MASK
        if seq < FIRST:
            last[name] = max(last.get(name, 0), nth)
        else:
            others.append((_natural(lane.decode()), seq, name))
    occurrences: dict[int, int] = {}
    for _, seq, name in sorted(others):
        occurrences[seq] = last[name] = last.get(name, 0) + 1
    return occurrences


def _natural(lane: str) -> list[int | str]:
    """Return a key that sorts `x.10` behind `x.2`."""
    return [int(part) if index % 2 else part for index, part in enumerate(re.split(r"(\d+)", lane))]


# --- the footer ------------------------------------------------------------------------------------------------------


def merged(connection: sqlite3.Connection, number: int, footer: Footer) -> Footer:
    """Return the footer of a trace, merged with the end reports of its child processes."""
    ended = [child for child in children(connection, number) if child.end is not None]
    footers = [footer, *(child.end.footer for child in ended if child.end is not None)]
    unwoven: dict[str, None] = {}
    declined: dict[str, None] = {}
    if any(part.unwoven_tools or part.declined_tools for part in footers):
        names_by_lane = _names(connection, number)
        for lane, part in zip([MAIN, *(child.lane for child in ended)], footers, strict=True):
            # A tool that a model asked for in one process may have crossed in another.
            names_elsewhere = {
                name for other_lane, names in names_by_lane.items() if other_lane != lane for name in names
            }
            unwoven |= dict.fromkeys(_not_in(names_elsewhere, part.unwoven_tools))
            declined |= dict.fromkeys(_not_in(names_elsewhere, part.declined_tools))
    snapshots = first_snapshots(part.snapshots for part in footers)
    return msgspec.structs.replace(
        footer,
        snapshots=snapshots,
        reads=first_reads((part.reads for part in footers), snapshots),
        unwoven_tools=tuple(unwoven),
        declined_tools=tuple(tool for tool in declined if tool not in unwoven),
        output_forms=tuple(
            dict.fromkeys(form for part in footers for form in part.output_forms if form not in unwoven)
        ),
        found_tools=tuple(dict.fromkeys(tool for part in footers for tool in part.found_tools)),
        connections=tuple(dict.fromkeys(entry for part in footers for entry in part.connections)),
        ledger=tuple(dict.fromkeys(entry for part in footers for entry in part.ledger)),
        versions=tuple(dict.fromkeys(entry for part in footers for entry in part.versions)),
        environment=tuple(dict.fromkeys(entry for part in footers for entry in part.environment)),
        credentials=tuple(dict.fromkeys(entry for part in footers for entry in part.credentials)),
        lost=sum(part.lost for part in footers),
    )


def _not_in(names: set[str], tools: tuple[str, ...]) -> list[str]:
    return [tool for tool in tools if tool.partition(" ")[0] not in names]


def _names(connection: sqlite3.Connection, number: int) -> dict[str, set[str]]:
    """Return the names of boundaries and functions that each process crossed, by the lane that the process began in."""
    bounds = bounds_of(number)
    try:
        rows = connection.execute("SELECT id, lane FROM child WHERE id BETWEEN ? AND ?", bounds).fetchall()
    except sqlite3.OperationalError:
        rows = []
    lanes = {run_of(identity & _MASK): lane.decode() for identity, lane in rows}
    names_by_lane: dict[str, set[str]] = {}
    for identity, name, site in connection.execute(
        "SELECT id, name, site FROM crossing WHERE id BETWEEN ? AND ?", bounds
    ):
        names = names_by_lane.setdefault(lanes.get(run_of(identity & _MASK), MAIN), set())
        names.add(name.decode())
        names.add(site.decode().rpartition(":")[2].rpartition(".")[2])
    return names_by_lane
