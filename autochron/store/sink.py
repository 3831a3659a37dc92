"""Write one trace into a SQLite store; several threads and processes may write the same trace."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from autochron._runtime import unpatched
from autochron._runtime.lazy import late_module
from autochron._runtime.unpatched import os
from autochron.errors import StoreError
from autochron.model import ChildEnd, Envelope, Footer, Header
from autochron.store import database, forks
from autochron.store.own_descriptors import OwnDescriptors, abandon, listed
from autochron.store.processes import PUT_ENDING, reserve
from autochron.store.rows import SHIFT, Operation, RowBuilder, Rows
from autochron.store.threads import retry_if_closed

if TYPE_CHECKING:
    import sqlite3
else:
    late_module(globals(), "sqlite3")

PUT_CROSSING = (
    "INSERT OR REPLACE INTO crossing VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
PUT_EXCHANGE = (
    "INSERT INTO exchange (crossing, method, url, request, status, headers, body, error, attempts, complete)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
PUT_ITEMS = "INSERT INTO item (crossing, items, lengths) VALUES (?, ?, ?)"
PUT_BODY = "INSERT INTO body VALUES (?, ?, ?, ?, ?, ?)"
COUNT = "UPDATE trace SET crossings = crossings + ?, bytes = bytes + ? WHERE number = ? AND id = ?"
END = "UPDATE trace SET footer = ?, stdout = ?, stdin = ?, status = ? WHERE number = ?"


class Successor(Protocol):
    """A sink of the same trace that writes by another process.

    Attributes:
        is_direct: whether this process writes the trace after all.
    """

    is_direct: bool

    def write(self, operations: Sequence[Operation], footer: Footer | ChildEnd | None) -> None:
        """Write operations, and wait until they are in the store.

        Raises:
            StoreError: they are not in the store.
        """

    def leave(self) -> None:
        """Commit, and wait for the other process."""


class SqliteSink:
    """The sink of one trace.

    Operations that were put wait in memory for `commit`, which writes them in one transaction. If it raises, nothing is
    written and the operations are forgotten; the caller may put them again. So commit every few hundred envelopes.

    A sink made with a header begins a trace. One made with an id joins a trace that another process began: then `end` takes a
    `ChildEnd`, and seqs come from `reserve`.
    """

    def __init__(
        self,
        path: str,
        trace: Header | str,
        durability: database.Durability,
        *,
        file: str | None = None,
        later: bool = False,
        connection: sqlite3.Connection | None = None,
    ) -> None:
        """Open the trace.

        Args:
            path: the store as the user wrote it, for messages.
            trace: the header of a new trace, or the id of one that exists.
            durability: of the commits.
            file: the absolute path of the store; None derives it from the current folder, which may change later.
            later: open the trace with the first commit. By then another process may have begun it for us.
            connection: a connection to the store to use; None makes one.

        Raises:
            StoreError: the store can't be written, has a trace of the header's id, or has none of this id.
        """
        self.fork_order = 1
        self.path = path
        self.file = file or os.path.abspath(path)
        self.id = trace if isinstance(trace, str) else trace.id
        self.durability = durability
        self._lock = unpatched.RLock()
        self._pending: list[Operation] = []
        self._footer: Footer | ChildEnd | None = None
        self.child: int | None = None
        """The id of this process's row of the table `child`; None in the first process."""
        self._shared = False
        """Whether another process writes the trace, too. Then rows are built inside the transaction only."""
        self._is_open = True
        self._is_taken = False
        """Whether the program has closed SQLite's descriptors. From then on this process must not open the store: SQLite
        would put the locks of its other connections on files of the program."""
        self.successor: Callable[[SqliteSink], Successor | None] | None = None
        """Makes a sink that writes by another process, for when the program has closed SQLite's descriptors."""
        self.load_successor: Callable[[], object] | None = None
        """Imports what that needs: later, the program could close the files that imports open."""
        self._remote: Successor | None = None
        self._resting = False
        self._waiting = trace if later else None
        """The trace to open with the first commit."""
        self.number = 0
        self._connection = connection
        self._descriptors: OwnDescriptors | None = None
        """SQLite's descriptors; None where they are known to stay ours, as in the store process."""
        if not later:
            before = listed()
            self._connection = connection or database.connect_to_write(path, durability)
            self.number = self._open_trace(self._connection, trace)
            if connection is None:
                self._descriptors = OwnDescriptors(self.file, before)
        self._builder = RowBuilder(self.number)
        forks.register(self)

    def _open_trace(self, connection: sqlite3.Connection, trace: Header | str) -> int:
        return self._find(connection) if isinstance(trace, str) else self._begin(connection, trace)

    def use(self, number: int, child: int | None) -> None:
        """Write a trace that was begun or joined already.

        Args:
            number: the number of the trace.
            child: the id of this process's row of the table `child`; None in the first process.
        """
        self._waiting = None
        self._shared = child is not None
        self.number, self.child = number, child
        self._builder = RowBuilder(number)
        self._builder.reset(-1)

    def rest(self) -> None:
        """Close the connection until the next commit, which builds on known bodies if nobody else has written meanwhile."""
        with self._lock:
            self._drop_taken_connection()
            connection, self._connection = self._connection, None
            if connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()

    def release(self) -> sqlite3.Connection | None:
        """Release the connection and return it, for another trace of this store."""
        with self._lock:
            connection, self._connection = self._connection, None
            return connection

    def _drop_taken_connection(self) -> None:
        """Abandon a connection whose descriptors the program has closed, and never touch it again."""
        connection = self._connection
        if connection is not None and self._descriptors is not None and not self._descriptors.are_ours():
            self._connection = None
            self._is_taken = True
            abandon(connection)

    def _begin(self, connection: sqlite3.Connection, header: Header) -> int:
        row = (header.id, header.name, header.created, msgspec.json.encode(header).decode())
        try:
            cursor = connection.execute(
                "INSERT INTO trace (id, name, created, header) VALUES (?, ?, ?, ?)", row
            )
        except sqlite3.IntegrityError as error:
            connection.close()
            raise StoreError(
                f"{self.path} holds a trace {header.id} already; give the new one an id of its own"
            ) from error
        except (sqlite3.Error, UnicodeEncodeError) as error:
            connection.close()
            raise database.explained(error, self.path) from error
        return int(cursor.lastrowid or 0)

    def _find(self, connection: sqlite3.Connection) -> int:
        try:
            row = connection.execute("SELECT number FROM trace WHERE id = ?", (self.id,)).fetchone()
        except sqlite3.Error as error:
            connection.close()
            raise database.explained(error, self.path) from error
        if row is None:
            connection.close()
            raise StoreError(f"{self.path} holds no trace {self.id} any more; record it again")
        return int(row[0])

    def reserve(self, lane: str, label: str | None = None) -> tuple[str, int]:
        """Reserve a run of `processes.TAKEN` seqs for a child process.

        This uses a connection of its own: a signal handler may interrupt it, and then wait for a commit.

        Args:
            lane: the lane of the process, or with a label the lane of its parent.
            label: the label of a new lane below `lane`; an empty one takes `lane` itself, or a lane below it if another
                process has it. None if the process has a lane already and needs another run.

        Returns:
            The lane of the process, and the first seq of the run.

        Raises:
            StoreError: the store can't be written, or the trace has no run left.
        """
        connection = database.connect_to_write(self.file, self.durability)
        try:
            lane, number = reserve(connection, self.number, lane, label)
        except sqlite3.Error as error:
            raise database.explained(error, self.path) from error
        finally:
            connection.close()
        if self.child is None:
            self.child = number
        self._shared = True
        return lane, number & (1 << SHIFT) - 1

    @property
    def is_unknown(self) -> bool:
        """Whether this process has reserved no seqs of the trace yet."""
        return self.child is None

    def put(self, envelope: Envelope) -> None:
        """Put an envelope; it replaces an earlier one with the same `seq`.

        If a stream is put without items, those that `extend` added before stay; otherwise its items replace them. So a stream
        is put when it begins (`Streamed((), Abandoned())`), extended as it is read, and put again, without items, when it
        ends. With an outcome of another kind, all items are dropped.
        """
        with self._lock:
            self._check()
            self._pending.append(envelope)

    def extend(self, seq: int, items: Sequence[bytes]) -> None:
        """Add items to the stream of an envelope."""
        with self._lock:
            self._check()
            self._pending.append((seq, tuple(items)))

    def end(self, footer: Footer | ChildEnd) -> None:
        """Put the footer, or the end report of a child process; a later one replaces it."""
        with self._lock:
            self._check()
            self._footer = footer

    def _connect(self) -> sqlite3.Connection:
        connection = self._connection
        if connection is None:
            before = listed()
            connection = database.connect_to_write(self.file, self.durability)
            self._descriptors = OwnDescriptors(self.file, before)
        if self._waiting is not None:
            try:
                self.use(self._open_or_find(connection, self._waiting), None)
            except BaseException:
                if self._descriptors is not None and not self._descriptors.are_ours():
                    abandon(connection)
                else:
                    connection.close()
                raise
        return connection

    def _open_or_find(self, connection: sqlite3.Connection, trace: Header | str) -> int:
        """Open a trace that another process may have begun for us before that process ended."""
        row = connection.execute("SELECT number FROM trace WHERE id = ?", (self.id,)).fetchone()
        return int(row[0]) if row else self._open_trace(connection, trace)

    def commit(self) -> None:
        """Write everything that was put, in one transaction.

        Raises:
            StoreError: it is not written; it is forgotten, and may be put again.
        """
        with self._lock:
            if not self._pending and self._footer is None:
                return
            self._check()
            pending, self._pending = self._pending, []
            footer, self._footer = self._footer, None
            try:
                self._drop_taken_connection()
                if not self._is_taken and (self._connection is None or self._waiting is not None):
                    self._connection = self._connect()
                    self._drop_taken_connection()
                if self._connection is None:
                    self._write_remotely(pending, footer)
                else:
                    self._write(self._connection, pending, footer)
            except StoreError:
                self._disconnect()
                raise
            except Exception as error:
                self._disconnect()
                raise database.explained(error, self.path) from error
            except BaseException:  # an interrupt: keep the operations for the next commit
                self._disconnect()
                self._pending, self._footer = pending, footer
                raise

    def _write_remotely(self, pending: list[Operation], footer: Footer | ChildEnd | None) -> None:
        """Write by another process, in which nobody closes SQLite's descriptors."""
        if self._remote is None and self.successor is not None:
            self._remote = retry_if_closed(self.successor, self)
        if self._remote is None or self._remote.is_direct:
            raise StoreError(
                f"the program closed the descriptors of {self.path}, and what crossed since then is not written; "
                "record it with `autochron run`, which holds none"
            )
        self._remote.write(pending, footer)

    def close(self) -> None:
        """Commit, and close the store.

        Raises:
            StoreError: the commit failed, or the file of the store was removed.
        """
        with self._lock:
            try:
                self.commit()
                if self._remote is not None:
                    self._remote.leave()
                # SQLite goes on writing to a file that was unlinked, without an error.
                if not os.path.exists(self.file):
                    raise StoreError(
                        f"{self.path} was removed while it was recorded into, and trace {self.id} is lost with it; "
                        "give a --store that the program leaves alone"
                    )
            finally:
                self._is_open = False
                self._disconnect()
                forks.unregister(self)

    def _check(self) -> None:
        if not self._is_open:
            raise StoreError(f"the sink of trace {self.id} in {self.path} is closed; begin another trace")

    def _disconnect(self) -> None:
        """Close the connection, and forget which bodies are in the store."""
        self._drop_taken_connection()
        connection, self._connection = self._connection, None
        self._builder.reset(-1)
        if connection is not None:
            try:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                connection.close()
            except sqlite3.Error:
                pass  # the fault that led here is the one to report

    def _write(
        self, connection: sqlite3.Connection, pending: list[Operation], ending: Footer | ChildEnd | None
    ) -> None:
        builder, first = self._builder, self.number << SHIFT
        bounds = (first, first | (1 << SHIFT) - 1)
        footer = ending if isinstance(ending, Footer) else None
        built_on = builder.last
        rows = builder.build(pending, footer) if built_on >= 0 and not self._shared else None
        connection.execute("BEGIN IMMEDIATE")
        (last,) = connection.execute("SELECT max(id) FROM body WHERE id BETWEEN ? AND ?", bounds).fetchone()
        if rows is None and built_on >= 0:
            builder.count_from(last or first)
        elif rows is None or built_on != (last or first):
            # This is the first commit after a fault, or another process has written meanwhile, and may do so again.
            self._shared = rows is not None
            builder.reset(last or first)
            rows = None
        if rows is None:
            rows = builder.build(pending, footer)
        replaced = [number for number in _known(connection, rows) if _exists(connection, number)]
        self._insert(connection, rows, replaced)
        new = len(rows.crossings) - len(replaced)
        if rows.footer is not None:
            connection.execute(END, (*rows.footer, self.number))
        if isinstance(ending, ChildEnd):
            connection.execute(PUT_ENDING, (msgspec.json.encode(ending).decode(), self.child))
        counted = connection.execute(COUNT, (new, rows.size, self.number, self.id))
        if not counted.rowcount:
            raise StoreError(
                f"trace {self.id} was deleted from {self.path} while it was being written; record it again"
            )
        connection.execute("COMMIT")

    def _insert(self, connection: sqlite3.Connection, rows: Rows, replaced: list[int]) -> None:
        many = connection.executemany
        if replaced:
            many("DELETE FROM exchange WHERE crossing = ?", [(number,) for number in replaced])
        if rows.dropped:
            many("DELETE FROM item WHERE crossing = ?", [(number,) for number in rows.dropped])
        many(PUT_BODY, rows.bodies)
        many(PUT_CROSSING, rows.crossings.values())
        if rows.exchanges:
            many(PUT_EXCHANGE, [row for several in rows.exchanges.values() for row in several])
        if rows.items:
            many(PUT_ITEMS, rows.items)

    def before_fork(self) -> None:
        """Wait for a commit in another thread, and close the connection: SQLite must not see a fork."""
        self._resting = self._lock.acquire(timeout=forks.PATIENCE)
        if self._connection is not None and not self._connection.in_transaction:
            self._disconnect()

    def after_fork_in_parent(self) -> None:
        """Resume; the next commit connects again."""
        if self._resting:
            self._resting = False
            self._lock.release()

    def after_fork_in_child(self) -> None:
        """Start anew with what the child puts, on a connection of its own: pending operations are the parent's."""
        self._lock = unpatched.RLock()
        self._resting = False
        self._remote = None
        self._pending, self._footer = [], None
        self.child = None
        if self._connection is not None:
            # Never closed: closing would release locks of the parent's.
            _inherited.append(self._connection)
            self._connection = None
            self._builder.reset(-1)


_inherited: list[sqlite3.Connection] = []
"""Connections of the parent process that a fork inherited; kept, so that they are never closed."""


def _known(connection: sqlite3.Connection, rows: Rows) -> list[int]:
    """Return the ids of those crossings that may be in the store already."""
    if not rows.crossings:
        return []
    bounds = (min(rows.crossings), max(rows.crossings))
    (highest,) = connection.execute(
        "SELECT max(id) FROM crossing WHERE id BETWEEN ? AND ?", bounds
    ).fetchone()
    return [number for number in rows.crossings if number <= (highest or 0)]


def _exists(connection: sqlite3.Connection, number: int) -> Any:
    return connection.execute("SELECT 1 FROM crossing WHERE id = ?", (number,)).fetchone()
