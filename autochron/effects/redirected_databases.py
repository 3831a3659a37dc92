"""Make the stand-in for `sqlite3.connect`, which opens databases of the scratch folder during a replay."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

from autochron._runtime.own_frames import drop_frames
from autochron.effects.databases import database_path
from autochron.effects.redirection import in_force, redirected
from autochron.effects.undisturbed import is_busy, undisturbed

FACTORY: Final = 5
"""Index of the factory among the positional arguments of `sqlite3.connect`."""


def connecting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the stand-in for `sqlite3.connect`."""

    @functools.wraps(original)
    def connect(database: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        is_uri = bool(kwargs.get("uri", args[6] if len(args) > 6 else False))
        path, options = database_path(database, is_uri=is_uri)
        reads = "mode=ro" in options or "immutable=1" in options or _may_only_read()
        target = None if path is None else redirected(path, None, writes=not reads)
        argument = database
        if target is not None:
            scratch, located = target
            with undisturbed():
                located = scratch.followed(located)
                is_missing = (
                    "mode=rw" in options and "mode=rwc" not in options and not scratch.exists(located)
                )
                file = scratch.to_read(located) if reads or is_missing else scratch.to_write(located)
            argument = f"file:{quote(file)}?{options}" if is_uri and options else file
        try:
            return _opened(original, argument, args, kwargs)
        except BaseException as error:
            drop_frames(error)
            raise

    return connect


def _may_only_read() -> bool:
    """Return whether live code opens a database and may change no file: it reads the copy, and its changes are refused."""
    redirection = in_force()
    return redirection is not None and redirection.denies_files and redirection.is_live()


def with_guardable_factory(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments of `sqlite3.connect` with which the connection keeps our guards.

    Args:
        args: the positional arguments after the database.
        kwargs: the keyword arguments.
    """
    from autochron.effects.authorizers import guardable  # lazy: it imports sqlite3, which few programs need

    place = FACTORY - 1
    if len(args) > place:
        return (*args[:place], guardable(args[place]), *args[place + 1 :]), kwargs
    if "factory" in kwargs:
        return args, {**kwargs, "factory": guardable(kwargs["factory"])}
    return args, {**kwargs, "factory": guardable()}


def _opened(
    original: Callable[..., Any], database: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Open a connection that refuses to attach files: SQLite opens these by itself, so they can't be redirected."""
    __tracebackhide__ = True
    redirection = in_force()
    if redirection is None or is_busy() or not (redirection.everywhere or redirection.is_live()):
        return original(database, *args, **kwargs)
    args, kwargs = with_guardable_factory(args, kwargs)
    connection = original(database, *args, **kwargs)
    import sqlite3  # lazy: the program has imported it by now

    from autochron.effects.authorizers import add_guard  # lazy: as above

    if issubclass(type(connection), sqlite3.Connection):
        add_guard(connection, _refuses_to_attach)
    return connection


def _refuses_to_attach(action: int, path: str | None, _second: Any, _name: Any) -> bool:
    """Return whether to refuse an action, because it attaches a file past the scratch copy; report the refusal."""
    import sqlite3  # lazy: as above

    redirection = in_force()
    if action != sqlite3.SQLITE_ATTACH or redirection is None or path in {"", ":memory:"}:
        return False
    if path is not None and path.startswith(redirection.scratch.folder):
        return False
    redirection.on_attach(path or "a file")
    return True
