"""The record of a trace that stays in SQLite: a trace of a million crossings is never whole in memory.

Rejected: an index, which would cost the writer something for every crossing of every trace. A scan of a million rows takes a
tenth of a second, because the columns that it reads are at the beginning of a row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from msgspec.json import encode

from autochron._runtime import unpatched
from autochron.model import Crossed, Envelope, Footer, Header
from autochron.store import database
from autochron.store.processes import bounds_of
from autochron.store.reading import Bodies, EnvelopeReader, is_shared
from autochron.store.rows import SHIFT
from autochron.store.whole import ruled_site

LARGE = 20_000
"""Crossings beyond which a trace is not read whole."""

VOLUME = 32 << 20
"""Bytes of inputs beyond which it is not, either: a growing conversation is stored once, but is whole in each input."""

_MASK = (1 << SHIFT) - 1

# `is_passed`: whether a function may have been passed as an argument, so that its rule is for another site. `meta` says so,
# unless it is stored apart from the row.
_MAKE = """
    CREATE TABLE temp.counted (
        name, kind, site, is_passed, count, first, PRIMARY KEY (name, kind, site, is_passed)
    ) WITHOUT ROWID
"""
_COUNT = """
    INSERT INTO temp.counted
    SELECT name, kind, site, CASE
        WHEN meta IS NULL THEN 0 WHEN typeof(meta) = 'text' THEN instr(meta, '"passed":') > 0 ELSE 1
    END, 1, id
    FROM crossing WHERE id BETWEEN ? AND ?
    ON CONFLICT DO UPDATE SET count = count + 1
"""
_PASSED = """
    SELECT name, kind, site, id, meta FROM crossing WHERE id BETWEEN ? AND ? AND CASE
        WHEN meta IS NULL THEN 0 WHEN typeof(meta) = 'text' THEN instr(meta, '"passed":') > 0 ELSE 1
    END
"""
_FIND = {
    True: "SELECT id FROM crossing WHERE id BETWEEN ? AND ? AND name = ? AND nth = ? ORDER BY id LIMIT 1",
    False: "SELECT id FROM crossing WHERE id BETWEEN ? AND ? AND name = ? AND nth = ? ORDER BY id DESC LIMIT 1",
}
"""By whether to search from the beginning of the trace, and not from its end."""

_INSIDE = """
    SELECT DISTINCT parent FROM crossing WHERE id BETWEEN ? AND ? AND parent IS NOT NULL
    AND (name IN (SELECT value FROM json_each(?)) OR kind IN (SELECT value FROM json_each(?)) OR id > ?)
"""

_inherited: list[sqlite3.Connection] = []
"""Connections of the parent process that a fork inherited: never closed, which would release locks of the parent's."""


class StoredRecord:
    """The record of a large trace that one process wrote."""

    is_whole = False

    def __init__(self, path: str, number: int, header: Header, footer: Footer | None) -> None:
        """Open the trace as far as it is written now.

        Args:
            path: the path of the store.
            number: the number of the trace.
            header: its header.
            footer: its footer; None if it has not ended.
        """
        self.header = header
        self.footer = footer
        self._path = path
        self._process = unpatched.getpid()
        self._lock = unpatched.RLock()
        self._boundaries: list[Crossed] | None = None
        self._connection = database.connect_to_read(path)
        self._bodies = Bodies(self._connection, path)
        first = number << SHIFT
        (last,) = self._execute(
            "SELECT max(id) FROM crossing WHERE id BETWEEN ? AND ?", (first, first | _MASK)
        ).fetchone()
        (self.size,) = self._execute("SELECT crossings FROM trace WHERE number = ?", (number,)).fetchone()
        self._bounds = (first, last or first)

    def __del__(self) -> None:
        """Close the connection, unless it is the parent process's."""
        connection = self.__dict__.get("_connection")
        if connection is None:
            return
        if self._process == unpatched.getpid():
            connection.close()
        else:
            _inherited.append(connection)

    def __iter__(self) -> Iterator[Envelope]:
        """Yield the envelopes in order of start, read by a connection of their own."""
        connection = database.connect_to_read(self._path)
        try:
            yield from EnvelopeReader(connection, self._bounds, Bodies(connection, self._path))
        except sqlite3.Error as error:
            raise database.explained(error, self._path) from error
        finally:
            connection.close()

    def get(self, seq: int) -> Envelope:
        """Return the envelope of a seq.

        Raises:
            KeyError: there is none.
        """
        number = self._bounds[0] | seq
        with self._lock:
            self._reconnect()
            if 0 < seq <= _MASK and number <= self._bounds[1]:
                for envelope in EnvelopeReader(self._connection, (number, number), self._bodies):
                    return envelope
        raise KeyError(seq)

    def find(self, name: str, nth: int) -> Envelope | None:
        """Return the envelope of an address, or None; search from the end of the trace that it is probably nearer to."""
        count = sum(crossed.count for crossed in self.boundaries() if crossed.name == name)
        if not count:
            return None
        with self._lock:
            row = self._execute(_FIND[nth * 2 <= count], (*self._bounds, name, nth)).fetchone()
            return None if row is None else self.get(row[0] & _MASK)

    def names(self) -> Collection[str]:
        """Return the names of the crossings."""
        return {crossed.name for crossed in self.boundaries()}

    def sites(self) -> Collection[str]:
        """Return the sites that rules are for, each once, in order of first start."""
        return dict.fromkeys(crossed.ruled for crossed in self.boundaries())

    def boundaries(self) -> Sequence[Crossed]:
        """Return the boundaries that were crossed: each name, kind and site once, in order of first start."""
        with self._lock:
            if self._boundaries is None:
                self._boundaries = self._count()
            return self._boundaries

    def parents(self, names: Collection[str], kinds: Collection[str], after: int | None = None) -> set[int]:
        """Return the seqs of crossings that enclose others, at any depth.

        Args:
            names, kinds: count enclosed crossings of these.
            after: count enclosed crossings with a higher seq, too; None counts none for their seq.
        """
        parents: set[int] = set()
        if not names and not kinds and after is None:
            return parents
        with self._lock:
            last = self._bounds[1] if after is None else self._bounds[0] | after
            parameters = (encode(list(names)).decode(), encode(list(kinds)).decode(), last)
            for (seq,) in self._execute(_INSIDE, (*self._bounds, *parameters)).fetchall():
                parent: int | None = seq
                while parent is not None and parent not in parents:
                    parents.add(parent)
                    statement = "SELECT parent FROM crossing WHERE id = ?"
                    row = self._execute(statement, (self._bounds[0] | parent,)).fetchone()
                    parent = None if row is None else row[0]
        return parents

    # --- inside ------------------------------------------------------------------------------------------------------

    def _count(self) -> list[Crossed]:
        """Count the crossings of each boundary in one pass; GROUP BY would sort a million rows."""
        counts: dict[tuple[bytes, bytes, bytes, bytes], list[int]] = {}
        are_some_passed = False
        self._execute("PRAGMA query_only=0")  # it forbids temporary tables, too
        try:
            self._execute("DROP TABLE IF EXISTS temp.counted")
            self._execute(_MAKE)
            self._execute(_COUNT, self._bounds)
            for name, kind, site, is_passed, count, first in self._execute(
                "SELECT * FROM temp.counted"
            ).fetchall():
                if is_passed:
                    are_some_passed = True
                else:
                    counts[name, kind, site, site] = [count, first]
            self._execute("DROP TABLE temp.counted")
        finally:
            self._execute("PRAGMA query_only=1")
        for name, kind, site, number, meta in self._execute(_PASSED, self._bounds) if are_some_passed else ():
            ruled = ruled_site(site.decode(), self._bodies.cell(meta)).encode()
            counted = counts.setdefault((name, kind, site, ruled), [0, number])
            counted[0] += 1
            counted[1] = min(counted[1], number)
        ordered = sorted(counts.items(), key=lambda item: item[1][1])
        return [
            Crossed(name.decode(), kind.decode(), site.decode(), count, ruled.decode())  # type: ignore[arg-type]
            for (name, kind, site, ruled), (count, _) in ordered
        ]

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        self._reconnect()
        try:
            return self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise database.explained(error, self._path) from error

    def _reconnect(self) -> None:
        """Make a new connection in a forked process."""
        if self._process == unpatched.getpid():
            return
        _inherited.append(self._connection)
        self._process = unpatched.getpid()
        self._connection = database.connect_to_read(self._path)
        self._bodies = Bodies(self._connection, self._path)


def can_stay(connection: sqlite3.Connection, number: int) -> bool:
    """Return whether a trace can be a `StoredRecord`, that is, whether one process wrote it."""
    return not is_shared(connection, bounds_of(number))


def read_whole(
    connection: sqlite3.Connection, number: int, envelopes: Iterator[Envelope]
) -> list[Envelope] | None:
    """Read envelopes into memory; return None if there are more than `LARGE` or their inputs take more than `VOLUME`."""
    (crossings,) = connection.execute("SELECT crossings FROM trace WHERE number = ?", (number,)).fetchone()
    if crossings > LARGE:
        return None
    read: list[Envelope] = []
    volume = 0
    for envelope in envelopes:
        read.append(envelope)
        volume += len(envelope.input)
        if volume > VOLUME:
            return None
    return read
