"""Drop traces from the database of a store, and shrink its file."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from autochron._runtime.lazy import late_module
from autochron.store import database, processes

if TYPE_CHECKING:
    import sqlite3
else:
    late_module(globals(), "sqlite3")

COPIED = 256 << 20
"""Bytes. The file is shrunk only if the remaining traces take no more than this, since SQLite copies them for it."""


def drop(path: str, durability: database.Durability, ids: Sequence[str]) -> None:
    """Drop traces by their ids; unknown ids are ignored.

    The file keeps its size if another process uses the store, or if the remaining traces are large: shrinking copies them,
    and whoever records meanwhile has to wait. Later traces then use the free pages.

    Raises:
        StoreError: the store can't be written.
    """
    connection = database.connect_to_write(path, durability)
    try:
        connection.execute("BEGIN IMMEDIATE")
        for trace_id in ids:
            row = connection.execute("SELECT number FROM trace WHERE id = ?", (trace_id,)).fetchone()
            if row is not None:
                _drop(connection, row[0])
        connection.execute("COMMIT")
        if _size_in_use(connection) <= COPIED:
            # This fails if another process reads, or if the disk has no room for a copy. Then the file keeps its size.
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA busy_timeout=0")
                connection.execute("VACUUM")
    except sqlite3.Error as error:
        raise database.explained(error, path) from error
    finally:
        connection.close()


def _size_in_use(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _drop(connection: sqlite3.Connection, number: int) -> None:
    bounds = processes.bounds_of(number)
    connection.execute("DELETE FROM child WHERE id BETWEEN ? AND ?", bounds)
    connection.execute("DELETE FROM crossing WHERE id BETWEEN ? AND ?", bounds)
    connection.execute("DELETE FROM body WHERE id BETWEEN ? AND ?", bounds)
    connection.execute("DELETE FROM exchange WHERE crossing BETWEEN ? AND ?", bounds)
    connection.execute("DELETE FROM item WHERE crossing BETWEEN ? AND ?", bounds)
    connection.execute("DELETE FROM trace WHERE number = ?", (number,))
