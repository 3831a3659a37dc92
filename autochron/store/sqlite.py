"""Keep traces in a SQLite database, which several processes may write at the same time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from autochron._runtime.lazy import late_decoder, late_module
from autochron._runtime.unpatched import os
from autochron.errors import StoreError, TraceNotFoundError
from autochron.model import Child, Envelope, Footer, Header, Trace, TraceSummary
from autochron.store import database, processes
from autochron.store.sink import SqliteSink

if TYPE_CHECKING:
    import sqlite3

    from autochron.ports import Record, Sink
    from autochron.store.detached import Work
    from autochron.store.remote import RemoteSink
    from autochron.store.store_process import StoreProcess
else:
    late_module(globals(), "sqlite3")

_header = late_decoder(Header)


class SqliteStore:
    """Traces in one file. Each method that reads makes a connection of its own, so that threads and forks share none."""

    def __init__(self, path: str, *, durability: database.Durability = "group", look: bool = True) -> None:
        """Make one; see `open_store` for the arguments.

        Raises:
            StoreError: with `look`, the file is no store.
        """
        self.path = path
        self._file = os.path.abspath(path)
        self._process: StoreProcess | None = None
        self.url: str | None = f"sqlite:///{self._file}"
        self._durability = durability
        if look and database.check(path):
            with self._connected():
                pass

    def detach(self) -> tuple[Work, ...]:
        """Have another process, the store process, write the traces that this process and its forks begin or join.

        If the store process can't be started or has ended, the program's processes write the traces themselves.

        Returns:
            The work that starts it; empty if it runs already or there can be none. Start it before there are threads, and
            before any code of the program has run.
        """
        # Lazy: only the recording of a whole program needs it.
        from autochron.store.detached import is_alone
        from autochron.store.store_process import StoreProcess

        if not is_alone():
            # Lazy: only if another tool was started before us.
            from autochron.store.spawning import spawn_process

            self._process = spawn_process(self._file)
            return ()
        self._process = StoreProcess.prepare(self._file)
        return () if self._process is None else (self._process.work,)

    def begin(self, header: Header) -> Sink:
        """Begin a new trace; create the store if there is none.

        Raises:
            StoreError: the store can't be written, or has a trace of this id.
        """
        process = self._process
        if process is not None and process.is_serving:
            later = SqliteSink(self.path, header, self._durability, file=self._file, later=True)
            return process.begin(later, header)
        sink = SqliteSink(self.path, header, self._durability)
        _give_successor(sink)
        return sink

    def join(self, trace: str, lane: str, label: str) -> tuple[Sink, str, int]:
        """Join a trace that another process began.

        Args:
            trace: the id of the trace.
            lane, label: which lane this process takes; see `SqliteSink.reserve`.

        Returns:
            The sink, the lane of this process, and its first seq.

        Raises:
            StoreError: the store can't be written, or doesn't have the trace.
        """
        sink = SqliteSink(self.path, trace, self._durability)
        try:
            lane, first = sink.reserve(lane, label)
            process = self._process
            if process is None or not process.is_serving:
                _give_successor(sink)
                return sink, lane, first
            sink.rest()
            return process.go_on(sink), lane, first
        except BaseException:
            sink.close()
            raise

    def children(self, reference: str) -> list[Child]:
        """Return the child processes that were recorded into a trace, in the order in which they began."""
        with self._existing() as connection:
            return processes.children(connection, self._number(connection, reference))

    def count(self, trace: str) -> int:
        """Count the crossings of the trace with this id; 0 if there is none."""
        with self._existing() as connection:
            row = connection.execute("SELECT number FROM trace WHERE id = ?", (trace,)).fetchone()
            if row is None:
                return 0
            bounds = processes.bounds_of(row[0])
            (count,) = connection.execute(
                "SELECT count(*) FROM crossing WHERE id BETWEEN ? AND ?", bounds
            ).fetchone()
            return int(count)

    def counts(self, reference: str) -> dict[str, int]:
        """Count the crossings of a trace by name."""
        with self._existing() as connection:
            bounds = processes.bounds_of(self._number(connection, reference))
            rows = connection.execute(
                "SELECT name, count(*) FROM crossing WHERE id BETWEEN ? AND ? GROUP BY name", bounds
            )
            return {name.decode(): count for name, count in rows}

    def summaries(self) -> list[TraceSummary]:
        """Return summaries of the traces, oldest first."""
        with self._connected() as connection:
            if connection is None:
                return []
            rows = connection.execute(
                "SELECT header, crossings, status, footer IS NOT NULL, bytes"
                " FROM trace ORDER BY created, number"
            ).fetchall()
        return [
            TraceSummary(_header.decode(header), crossings, status, complete == 1, size)
            for header, crossings, status, complete, size in rows
        ]

    def find(self, reference: str) -> str:
        """Return the id of the trace that a reference means; see `lookup.find`."""
        with self._existing() as connection:
            return self._find(connection, reference)

    def outline(self, reference: str) -> tuple[Header, Footer | None]:
        """Return the header and the footer of a trace; the footer is None if the trace has not ended."""
        with self._existing() as connection:
            return self._outline(connection, self._number(connection, reference))

    def load(self, reference: str) -> Trace:
        """Read a whole trace, in one transaction."""
        from autochron.store import reading  # lazy, as all that reads: a recording reads no trace

        with self._existing() as connection:
            number = self._number(connection, reference)
            connection.execute("BEGIN")
            header, footer = self._outline(connection, number)
            return Trace(header, tuple(reading.envelopes(connection, self.path, number)), footer)

    def envelopes(self, reference: str) -> Iterator[Envelope]:
        """Return an iterator over the envelopes of a trace, in order of start, read in one transaction."""
        number = self.find(reference)
        return self._envelopes(number)

    def record(self, reference: str) -> Record:
        """Open a trace as a record to replay; a large trace that one process wrote stays in the store."""
        from autochron.store import reading  # lazy: as above
        from autochron.store.stored import StoredRecord, can_stay, read_whole
        from autochron.store.whole import WholeRecord

        with self._existing() as connection:
            number = self._number(connection, reference)
            connection.execute("BEGIN")
            outline = self._outline(connection, number)
            envelopes: Iterator[Envelope] = reading.envelopes(connection, self.path, number)
            if can_stay(connection, number):
                read_envelopes = read_whole(connection, number, envelopes)
                if read_envelopes is None:
                    return StoredRecord(self.path, number, *outline)
                envelopes = iter(read_envelopes)
            return WholeRecord(Trace(outline[0], tuple(envelopes), outline[1]))

    def drop(self, ids: Sequence[str]) -> None:
        """Drop traces by their ids, and shrink the file if possible; unknown ids are ignored.

        Raises:
            StoreError: the store can't be written.
        """
        process = self._process
        if process is not None and process.drop(self.path, self._file, ids):
            return
        from autochron.store.dropping import drop  # lazy: few programs drop a trace

        drop(self.path, self._durability, ids)

    def close(self) -> None:
        """Do nothing: the store holds no connection, and each sink is closed by itself."""

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection | None]:
        """Yield a connection to read; None if there is no store yet."""
        if not database.check(self.path):
            yield None
            return
        try:
            connection = database.connect_to_read(self.path)
            try:
                yield connection if _has_tables(connection) else None
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise database.explained(error, self.path) from error

    @contextlib.contextmanager
    def _existing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection to read; raise TraceNotFoundError if there is no store yet."""
        with self._connected() as connection:
            if connection is None:
                raise TraceNotFoundError(f"{self.path} holds no trace; record one with `autochron run`")
            yield connection

    def _find(self, connection: sqlite3.Connection, reference: str) -> str:
        from autochron.store import lookup  # lazy: as above

        rows = connection.execute("SELECT id, name, created FROM trace ORDER BY created, number")
        entries = [
            (number.decode(), name and name.decode(), created.decode()) for number, name, created in rows
        ]
        return lookup.find(reference, entries, self.path)

    def _number(self, connection: sqlite3.Connection, reference: str) -> int:
        trace_id = self._find(connection, reference)
        row = connection.execute("SELECT number FROM trace WHERE id = ?", (trace_id,)).fetchone()
        if row is None:
            raise StoreError(
                f"trace {trace_id} was deleted from {self.path} just now; list those that are left"
            )
        return int(row[0])

    def _outline(self, connection: sqlite3.Connection, number: int) -> tuple[Header, Footer | None]:
        from autochron.store import reading  # lazy: as above

        row = connection.execute(
            "SELECT header, footer, stdout, stdin FROM trace WHERE number = ?", (number,)
        ).fetchone()
        header, footer, stdout, stdin = row
        bodies = reading.Bodies(connection, self.path)
        if footer is None:
            return _header.decode(header), None
        own = reading.footer(bodies, footer, stdout, stdin)
        return _header.decode(header), processes.merged(connection, number, own)

    def _envelopes(self, trace_id: str) -> Iterator[Envelope]:
        from autochron.store import reading  # lazy: as above

        with self._existing() as connection:
            number = self._number(connection, trace_id)
            connection.execute("BEGIN")
            yield from reading.envelopes(connection, self.path, number)


def _give_successor(sink: SqliteSink) -> None:
    sink.successor, sink.load_successor = _successor, _load_successor


def _load_successor() -> None:
    """Import what the change to a successor needs."""
    import ctypes  # noqa: F401 - lazy, as the others: most programs end before they are imported
    import fcntl  # noqa: F401

    from autochron.store import spawning  # noqa: F401


def _successor(sink: SqliteSink) -> RemoteSink | None:
    from autochron.store.spawning import spawn_process  # lazy: few programs close what they have not opened

    process = spawn_process(sink.file)
    return None if process is None else process.go_on(sink)


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'trace'").fetchone())
