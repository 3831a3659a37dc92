"""What stands in the place of `sqlite3.connect` while a replay is under way."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from autochron.effects.databases import database_path
from autochron.effects.redirection import in_force, redirected
from autochron.effects.undisturbed import is_busy, undisturbed


def connecting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in the place of `sqlite3.connect`."""

    @functools.wraps(original)
    def connect(database: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        is_uri = bool(kwargs.get("uri", args[6] if len(args) > 6 else False))
        path, options = database_path(database, is_uri=is_uri)
        if path is None:
            return _guarded(original(database, *args, **kwargs))
        reads = "mode=ro" in options or "immutable=1" in options
        found = redirected(path, None, writes=not reads)
        if found is None:
            return _guarded(original(database, *args, **kwargs))
        scratch, located = found
        with undisturbed():
            located = scratch.followed(located)
            is_missing = "mode=rw" in options and "mode=rwc" not in options and not scratch.exists(located)
            there = scratch.to_read(located) if reads or is_missing else scratch.to_write(located)
        given = f"file:{quote(there)}?{options}" if is_uri and options else there
        return _guarded(original(given, *args, **kwargs))

    return connect


def _guarded(connection: Any) -> Any:
    """Refuse to attach a file to a connection: SQLite opens that by itself, so it can't be redirected."""
    now = in_force()
    if now is None or is_busy() or not (now.everywhere or now.is_live()):
        return connection
    import sqlite3  # lazy: it is imported, or nobody would connect

    if not isinstance(connection, sqlite3.Connection):
        return connection

    def authorize(action: int, first: str | None, *_: Any) -> int:
        scratch = in_force()
        if action != sqlite3.SQLITE_ATTACH or scratch is None or first in {"", ":memory:"} or is_busy():
            return sqlite3.SQLITE_OK
        if first is not None and first.startswith(scratch.scratch.folder):
            return sqlite3.SQLITE_OK
        scratch.on_attach(first or "a file")
        return sqlite3.SQLITE_DENY

    connection.set_authorizer(authorize)
    return connection
