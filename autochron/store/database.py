"""Open connections to the database of a store, check and migrate it, and explain SQLite's errors."""

# Messages show paths as the user wrote them.

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from autochron._runtime import unpatched
from autochron._runtime.lazy import late_module
from autochron._runtime.own_folder import keep_out_of_git
from autochron._runtime.unpatched import os
from autochron.errors import StoreError
from autochron.store import schema

if TYPE_CHECKING:
    import sqlite3
else:
    late_module(globals(), "sqlite3")

Durability: TypeAlias = Literal["group", "sync"]

BUSY = 30.0
"""Seconds to wait for another process that writes the same store."""


def check(path: str) -> bool:
    """Return whether a file is at `path`.

    Raises:
        StoreError: the path is a folder, or no file can be made there.
    """
    if os.path.isdir(path):
        raise StoreError(f"{path} is a folder, not a store; give a file in it, such as {path}/traces.db")
    if os.path.exists(path):
        return True
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(folder):
        return False
    if os.path.exists(folder):
        raise StoreError(f"{path} can't be made: {folder} is no folder; give another path")
    if not os.path.isdir(os.path.dirname(folder)):
        raise StoreError(
            f"{path} can't be made: {os.path.dirname(folder)} doesn't exist; make it, or give another path"
        )
    return False


def connect_to_read(path: str) -> sqlite3.Connection:
    """Open an existing store to read; text columns come as bytes. An older store is migrated first, if it can be written.

    The file is opened read-write if possible, since only such a connection removes the WAL when it closes. SQLite can't
    coordinate processes in a read-only folder, so the file is then opened as one that nobody writes.

    Raises:
        StoreError: the file is no store, is of a newer version, or was not closed and is in a read-only folder.
        sqlite3.Error: SQLite can't read it; see `explained`.
    """
    try:
        connection, version = _open_checked(path, "mode=rw")
    except sqlite3.OperationalError as error:
        if os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal"):
            raise StoreError(
                f"{path} can't be read where it is ({error}): it was not closed and its folder is read-only; "
                f"copy it and {path}-wal to a folder that can be written"
            ) from error
        connection, version = _open_checked(path, "mode=ro&immutable=1")
    if 0 < version < schema.VERSION:
        connection.close()
        try:
            connect_to_write(path, "group").close()
            connection = _open(path, "mode=rw")
        except StoreError:  # it can't be written, so it is read as it is
            connection = _open(path, "mode=ro&immutable=1")
    connection.execute("PRAGMA query_only=1")
    connection.text_factory = bytes
    return connection


def _open_checked(path: str, options: str) -> tuple[sqlite3.Connection, int]:
    connection = _open(path, options)
    try:
        return connection, _version(connection, path)
    except BaseException:
        connection.close()
        raise


def connect_to_write(path: str, durability: Durability) -> sqlite3.Connection:
    """Open a store to write; create or migrate it if necessary.

    Raises:
        StoreError: the file is no store, is of a newer version, or can't be written.
    """
    folder = os.path.dirname(os.path.abspath(path))
    if not check(path) and not os.path.isdir(folder):
        try:
            os.mkdir(folder)
            keep_out_of_git(folder)
        except FileExistsError:
            pass  # another process was quicker
        except OSError as error:
            raise StoreError(f"{folder} can't be made ({error.strerror}); give another path") from error
    try:
        connection = _open(path, "mode=rwc")
        try:
            _prepare(connection, path, durability)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise explained(error, path) from error
    return connection


def explained(error: Exception, path: str) -> StoreError:
    """Turn an error of SQLite into one that names the file and a remedy."""
    text = str(error)
    if "full" in text:
        remedy = "make room on the disk"
    elif "readonly" in text or "unable to open" in text:
        remedy = "make the file and its folder writable, or give another --store"
    elif "locked" in text or "busy" in text:
        remedy = "another process holds it; end that one, or give another --store"
    elif "malformed" in text or "not a database" in text:
        remedy = "it is damaged; move it away, or save what `sqlite3 FILE .recover` still finds"
    else:
        remedy = "check the disk, or give another --store"
    return StoreError(f"{path} can't be used ({text}); {remedy}")


def _open(path: str, options: str) -> sqlite3.Connection:
    quoted = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        return sqlite3.connect(
            f"file:{quoted}?{options}", uri=True, timeout=BUSY, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise explained(error, path) from error


def _version(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of the tables; 0 for an empty database."""
    # In one transaction: another process may be making the tables right now.
    own = not connection.in_transaction
    try:
        if own:
            connection.execute("BEGIN")
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} is no autochron store ({error}); give the path of another file") from error
    finally:
        if own and connection.in_transaction:
            connection.execute("COMMIT")
    if not tables:
        return 0
    if application != schema.APPLICATION:
        raise StoreError(
            f"{path} is no autochron store but another SQLite database; give the path of another file"
        )
    if version > schema.VERSION:
        raise StoreError(
            f"{path} was written by a newer autochron (schema {version}, this one knows {schema.VERSION}); "
            "upgrade autochron, or give another --store"
        )
    return int(version)


def _prepare(connection: sqlite3.Connection, path: str, durability: Durability) -> None:
    """Make or migrate the tables, and set the durability of commits."""
    if _version(connection, path) < schema.VERSION:
        _execute_when_unlocked(connection, "PRAGMA journal_mode=WAL")
        connection.execute("BEGIN IMMEDIATE")
        version = _version(connection, path)  # again: another process may have been quicker
        steps = [schema.TABLES] if version == 0 else []
        steps += [schema.MIGRATIONS[step] for step in range(version or schema.VERSION, schema.VERSION)]
        for script in steps:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id={schema.APPLICATION}")
        connection.execute(f"PRAGMA user_version={schema.VERSION}")
        connection.execute("COMMIT")
    if connection.execute("SELECT 1 FROM sqlite_master WHERE type IN ('trigger', 'view')").fetchone():
        raise StoreError(
            f"{path} has triggers or views, which autochron makes none of, so they are somebody else's; give another --store"
        )
    connection.execute(f"PRAGMA synchronous={'FULL' if durability == 'sync' else 'NORMAL'}")
    connection.execute("PRAGMA secure_delete=0")


def _statements(script: str) -> list[str]:
    """Split a script into statements. `executescript` would commit the transaction that they have to run in."""
    statements, start = [], 0
    while (end := script.find(";\n", start)) >= 0:
        statements.append(script[start : end + 1])
        start = end + 2
        while not sqlite3.complete_statement(statements[-1]):  # a semicolon in a comment
            end = script.index(";\n", start)
            statements[-1] += script[start - 1 : end + 1]
            start = end + 2
    return statements


def _execute_when_unlocked(connection: sqlite3.Connection, statement: str) -> None:
    """Run a statement, and retry for `BUSY` seconds: SQLite itself doesn't wait for other processes with this one."""
    attempts = int(BUSY / 0.02)
    for attempt in range(attempts):
        try:
            connection.execute(statement).fetchall()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or attempt == attempts - 1:
                raise
            unpatched.sleep(0.02)
        else:
            return
