"""Make the stand-in for `sqlite3.connect`, which opens databases of the scratch folder during a replay."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from autochron.effects.databases import database_path
from autochron.effects.redirection import in_force, redirected
from autochron.effects.undisturbed import is_busy, undisturbed


def connecting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the stand-in for `sqlite3.connect`."""

    @functools.wraps(original)
    def connect(database: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        is_uri = bool(kwargs.get("uri", args[6] if len(args) > 6 else False))
        path, options = database_path(database, is_uri=is_uri)
        if path is None:
            return _guarded(original(database, *args, **kwargs))
        reads = "mode=ro" in options or "immutable=1" in options
        target = redirected(path, None, writes=not reads)
        if target is None:
            return _guarded(original(database, *args, **kwargs))
        scratch, located = target
        with undisturbed():
            located = scratch.followed(located)
            is_missing = "mode=rw" in options and "mode=rwc" not in options and not scratch.exists(located)
            file = scratch.to_read(located) if reads or is_missing else scratch.to_write(located)
        argument = f"file:{quote(file)}?{options}" if is_uri and options else file
        return _guarded(original(argument, *args, **kwargs))

    return connect


def _guarded(connection: Any) -> Any:
    """Make a connection refuse to attach files: SQLite opens these by itself, so they can't be redirected."""
    redirection = in_force()
    if redirection is None or is_busy() or not (redirection.everywhere or redirection.is_live()):
        return connection
    import sqlite3  # lazy: the program has imported it by now

    if not isinstance(connection, sqlite3.Connection):
        return connection

    def authorize(action: int, path: str | None, *_: Any) -> int:
        current = in_force()
        if action != sqlite3.SQLITE_ATTACH or current is None or path in {"", ":memory:"} or is_busy():
            return sqlite3.SQLITE_OK
        if path is not None and path.startswith(current.scratch.folder):
            return sqlite3.SQLITE_OK
        current.on_attach(path or "a file")
        return sqlite3.SQLITE_DENY

    connection.set_authorizer(authorize)
    return connection
