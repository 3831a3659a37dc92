"""Write one trace into a SQLite store, from several threads and processes at once."""

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
from autochron.store.threads import persistently

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
    """A sink of the same trace that another process writes.

    Attributes:
        is_direct: whether this process writes it after all.
    """

    is_direct: bool

    def write(self, operations: Sequence[Operation], footer: Footer | ChildEnd | None) -> None:
        """Have it all in the store when this returns, or raise StoreError."""

    def leave(self) -> None:
        """Commit, and wait for the other process."""


class SqliteSink:
    """The sink of one trace.

    What was put waits in memory for `commit`, which writes it in one transaction: all of it or, when it
    raises, nothing, and then it is forgotten and the caller may put it again. So commit every few hundred
    envelopes.

    A header begins a trace. An id joins one that another process began: then `end` takes a `ChildEnd`, and seqs come from
    `reserve`.
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
        """Open the trace; with `later` only when something is committed, and then a header may have begun it already.

        `file` is the path from any folder, where that is known; the program may change its working folder.
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
        """The id of our row of `child`."""
        self._shared = False
        """Whether another process writes the trace, too."""
        self._open = True
        self._is_taken = False
        """Whether the program has closed descriptors of SQLite's, which would set the locks of every other connection of this
        process on the program's files."""
        self.successor: Callable[[SqliteSink], Successor | None] | None = None
        """Makes a sink that another process writes, for when this one can't any more."""
        self._remote: Successor | None = None
        self._resting = False
        self._waiting = trace if later else None
        """What is opened at the first commit."""
        self.number = 0
        self._connection = connection
        before = listed()
        if not later:
            self._connection = connection or database.connect_to_write(path, durability)
            self.number = self._opened(self._connection, trace)
        self._descriptors = OwnDescriptors(self.file, before)
        self._builder = RowBuilder(self.number)
        forks.register(self)

    def _opened(self, connection: sqlite3.Connection, trace: Header | str) -> int:
        return self._find(connection) if isinstance(trace, str) else self._begin(connection, trace)

    def use(self, number: int, child: int | None) -> None:
        """Write the trace of a number, as a process that has begun or joined it already."""
        self._waiting = None
        self._shared = child is not None
        self.number, self.child = number, child
        self._builder = RowBuilder(number)
        self._builder.reset(-1)

    def rest(self) -> None:
        """Hold no descriptor of the store until the next commit, which builds on what is there if nobody else wrote."""
        with self._lock:
            self._look()
            connection, self._connection = self._connection, None
            if connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()

    def release(self) -> sqlite3.Connection | None:
        """Return the connection, for another trace of this store to use."""
        with self._lock:
            connection, self._connection = self._connection, None
            return connection

    def _look(self) -> None:
        """Let go of a connection whose descriptors the program has taken, and never touch it again."""
        connection = self._connection
        if connection is not None and not self._descriptors.are_ours():
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
        """Take a run of `processes.TAKEN` seqs for a child process; gives its lane, and the first of them.

        With a label the process claims a lane of that name below; with an empty one the lane itself, or one below where
        another process has it. On a connection of its own: a signal handler may interrupt this, and then waits for a commit.
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
        """Whether this process has taken no seqs of the trace yet."""
        return self.child is None

    def put(self, envelope: Envelope) -> None:
        """Keep an envelope; one with the same `seq` replaces it.

        Of a stream: if `items` is empty, those that `extend` added before stay; if not, they replace them. So
        a stream is put when it begins (`Streamed((), Abandoned())`), extended as it is read, and put again,
        without items, when it ends. An outcome of another kind has no items, whatever was added.
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
        """Keep the footer, or what a child process had to say; a later one replaces it."""
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
                self.use(self._opened_once(connection, self._waiting), None)
            except BaseException:
                connection.close()
                raise
        return connection

    def _opened_once(self, connection: sqlite3.Connection, trace: Header | str) -> int:
        """Open a trace that another process may have begun for us before it ended."""
        found = connection.execute("SELECT number FROM trace WHERE id = ?", (self.id,)).fetchone()
        return int(found[0]) if found else self._opened(connection, trace)

    def commit(self) -> None:
        """Write all that was put."""
        with self._lock:
            if not self._pending and self._footer is None:
                return
            self._check()
            pending, self._pending = self._pending, []
            footer, self._footer = self._footer, None
            try:
                self._look()
                if self._is_taken:
                    self._hand_over(pending, footer)
                    return
                if self._connection is None or self._waiting is not None:
                    self._connection = self._connect()
                self._write(self._connection, pending, footer)
            except StoreError:
                self._disconnect()
                raise
            except Exception as error:
                self._disconnect()
                raise database.explained(error, self.path) from error
            except BaseException:  # an interrupt: nothing is wrong with what was put
                self._disconnect()
                self._pending, self._footer = pending, footer
                raise

    def _hand_over(self, pending: list[Operation], footer: Footer | ChildEnd | None) -> None:
        """Have another process write: there SQLite's descriptors are its own."""
        if self._remote is None and self.successor is not None:
            self._remote = persistently(self.successor, self)
        if self._remote is None or self._remote.is_direct:
            raise StoreError(
                f"the program closed the descriptors of {self.path}, and what crossed since then is not written; "
                "record it with `autochron run`, which holds none"
            )
        self._remote.write(pending, footer)

    def close(self) -> None:
        """Commit, and let go of the store."""
        with self._lock:
            try:
                self.commit()
                if self._remote is not None:
                    self._remote.leave()
                # SQLite goes on writing to a file that has no name any more.
                if not os.path.exists(self.file):
                    raise StoreError(
                        f"{self.path} was removed while it was recorded into, and trace {self.id} is lost with it; "
                        "give a --store that the program leaves alone"
                    )
            finally:
                self._open = False
                self._disconnect()
                forks.unregister(self)

    def _check(self) -> None:
        if not self._open:
            raise StoreError(f"the sink of trace {self.id} in {self.path} is closed; begin another trace")

    def _disconnect(self) -> None:
        """Let go of the connection, and of what is believed to be in the store."""
        self._look()
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
            # The first commit after a fault, or another process wrote in between, and may do so again.
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
        """Go on; the next commit connects again."""
        if self._resting:
            self._resting = False
            self._lock.release()

    def after_fork_in_child(self) -> None:
        """Write only what the child puts, on a connection of its own; what waited is the parent's."""
        self._lock = unpatched.RLock()
        self._resting = False
        self._remote = None
        self._pending, self._footer = [], None
        self.child = None
        if self._connection is not None:
            _inherited.append(
                self._connection
            )  # never closed: closing would act on locks that are the parent's
            self._connection = None
            self._builder.reset(-1)


_inherited: list[sqlite3.Connection] = []


def _known(connection: sqlite3.Connection, rows: Rows) -> list[int]:
    """Return those of the rows' crossings that may be in the store."""
    if not rows.crossings:
        return []
    bounds = (min(rows.crossings), max(rows.crossings))
    (highest,) = connection.execute(
        "SELECT max(id) FROM crossing WHERE id BETWEEN ? AND ?", bounds
    ).fetchone()
    return [number for number in rows.crossings if number <= (highest or 0)]


def _exists(connection: sqlite3.Connection, number: int) -> Any:
    return connection.execute("SELECT 1 FROM crossing WHERE id = ?", (number,)).fetchone()
