"""Refuse statements that change SQLite databases, also on connections that were opened earlier. Reads are allowed."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from autochron._runtime.live_objects import instances_of
from autochron._runtime.own_frames import drop_frame
from autochron._runtime.unpatched import getframe, os
from autochron.effects.redirected_databases import FACTORY, with_guardable_factory

if TYPE_CHECKING:
    import sqlite3

    from autochron.effects.authorizers import Guard

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
        rest, kwargs = with_guardable_factory(args[1:], kwargs)
        args = (*args[:1], *rest)
        factory = kwargs["factory"] if "factory" in kwargs else args[FACTORY]
        # A factory that is no class may make anything, so it gets no connection that can write.
        _opening.guarded = isinstance(factory, type) and issubclass(factory, sqlite3.Connection)
        try:
            connection = original(*args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            _opening.guarded = False
        if issubclass(type(connection), sqlite3.Connection):
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
    import sqlite3  # lazy: as above

    from autochron.effects.authorizers import files_of, remove_guard  # lazy: it imports sqlite3

    guarded: list[tuple[sqlite3.Connection, Guard]] = []
    for candidate in instances_of(sqlite3.Connection):
        try:
            if any(os.path.realpath(file) in paths for file in files_of(candidate).values() if file):
                guarded.append((candidate, _guard(candidate, refuses)))
        except sqlite3.Error:  # closed, or of another thread, so that it can't be used here
            continue

    def undo() -> None:
        for connection, guard in guarded:
            try:
                remove_guard(connection, guard)
            except sqlite3.Error:
                continue

    return undo


def _guard(connection: sqlite3.Connection, refuses: Callable[[str], bool]) -> Guard:
    """Call `refuses` with the database's path for each statement that changes a database; return the guard.

    Databases in memory and temporary ones are exempt. The program gets SQLite's own error, `not authorized`, because an
    exception of the callback would not reach it.
    """
    import sqlite3  # lazy: as above

    from autochron.effects.authorizers import add_guard, files_of  # lazy: as above

    changes = {getattr(sqlite3, f"SQLITE_{name}") for name in _CHANGES}
    files: dict[str, str] = {}

    def refuses_action(action: int, _first: Any, _second: Any, name: str | None) -> bool:
        if action not in changes or name in passed:
            return False
        return refuses(files.get(name or "main") or str(name))

    passed: set[str | None] = {"temp", "main"}
    add_guard(connection, refuses_action)
    files.update(files_of(connection))
    if files.get("main"):
        passed.discard("main")
    return refuses_action
