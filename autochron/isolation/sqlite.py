"""Refuse statements that change SQLite databases, also on connections that were opened earlier. Reads are allowed."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from autochron._runtime.unpatched import getframe, os

if TYPE_CHECKING:
    import sqlite3

_CHANGES = (
    "ALTER_TABLE", "ANALYZE", "CREATE_INDEX", "CREATE_TABLE", "CREATE_TRIGGER", "CREATE_VIEW", "CREATE_VTABLE", "DELETE",
    "DROP_INDEX", "DROP_TABLE", "DROP_TRIGGER", "DROP_VIEW", "DROP_VTABLE", "INSERT", "REINDEX", "UPDATE",
)  # fmt: skip


class _Opening(threading.local):
    """Whether a thread is opening a connection that will be guarded."""

    guarded: bool = False


_opening = _Opening()


def is_guarded() -> bool:
    """Return whether this thread is opening a connection that will be guarded."""
    return _opening.guarded


def watch(refuses: Callable[[str], bool]) -> Callable[[], None]:
    """Guard the connections that `sqlite3.connect` opens from now on; return the undo function.

    The function is replaced, because the audit event comes before the connection can be used.

    Args:
        refuses: returns whether a change of the database at a path is refused.
    """
    import sqlite3  # lazy: few programs need it

    original = sqlite3.connect

    @functools.wraps(original)
    def connect(*args: Any, **kwargs: Any) -> Any:
        if str(getframe(1).f_globals.get("__name__")).startswith("autochron."):
            return original(*args, **kwargs)
        _opening.guarded = True
        try:
            connection = original(*args, **kwargs)
        finally:
            _opening.guarded = False
        _guard(connection, refuses)
        return connection

    owners: tuple[Any, ...] = (sqlite3, sqlite3.dbapi2)
    for owner in owners:
        owner.connect = connect

    def undo() -> None:
        for owner in owners:
            if owner.connect is connect:
                owner.connect = original

    return undo


def guard_open(paths: Collection[str], refuses: Callable[[str], bool]) -> Callable[[], None]:
    """Guard the open connections to these databases; return the undo function.

    Args:
        paths: absolute paths, with links resolved.
        refuses: returns whether a change of the database at a path is refused.
    """
    import gc
    import sqlite3  # lazy: as above

    guarded: list[sqlite3.Connection] = []
    for candidate in gc.get_objects():
        if not isinstance(candidate, sqlite3.Connection):
            continue
        try:
            rows = sqlite3.Connection.execute(candidate, "PRAGMA database_list").fetchall()
            if any(os.path.realpath(str(row[2])) in paths for row in rows if row[2]):
                _guard(candidate, refuses)
                guarded.append(candidate)
        except sqlite3.Error:  # closed, or of another thread, so that it can't be used here
            continue

    def undo() -> None:
        for connection in guarded:
            try:
                connection.set_authorizer(None)
            except sqlite3.Error:
                continue

    return undo


def _guard(connection: sqlite3.Connection, refuses: Callable[[str], bool]) -> None:
    """Set an authorizer that calls `refuses` with the database's path for each statement that changes a database.

    Databases in memory and temporary ones are exempt. The program gets SQLite's own error, `not authorized`, because an
    exception of the callback would not reach it.
    """
    import sqlite3

    rows = sqlite3.Connection.execute(connection, "PRAGMA database_list")
    rows.row_factory = None
    files = {row[1]: row[2] for row in rows}
    changes = {getattr(sqlite3, f"SQLITE_{name}") for name in _CHANGES}
    passed = {"temp"} if files.get("main") else {"temp", "main"}

    def authorize(action: int, _first: Any, _second: Any, name: str | None, _trigger: Any) -> int:
        if action in changes and name not in passed and refuses(files.get(name or "main") or str(name)):
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    connection.set_authorizer(authorize)
