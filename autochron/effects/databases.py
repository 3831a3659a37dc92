"""Open and copy SQLite database files in their committed state, also while another process writes them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeAlias

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.effects.lock_safe import read_whole

if TYPE_CHECKING:
    import sqlite3

_MAGIC = b"SQLite format 3\x00"

_WAL = b"\x02"
"""Byte 18 of a database in WAL mode."""

SIDE_FILES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps beside a database."""


Mark: TypeAlias = tuple[tuple[int, ...], ...]
"""Modification time in nanoseconds, size in bytes, inode and mode of a file and of its write-ahead log."""

_TICK = 50_000_000
"""Nanoseconds within which two changes of a file may get the same modification time."""


def mark_of(path: str) -> Mark:
    """Return a mark that differs once a file, or SQLite's write-ahead log beside it, has changed."""
    stats = []
    for file in (path, f"{path}-wal"):
        try:
            facts = os.stat(file)
        except OSError:
            continue
        stats.append((facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_mode))
    return tuple(stats)


def is_young(mark: Mark) -> bool:
    """Return whether a file was changed so recently that another change could leave its mark as it is."""
    return any(unpatched.time_ns() - stats[0] < _TICK for stats in mark)


def is_database(path: str) -> bool:
    """Return whether a file is a SQLite database."""
    return _head(path).startswith(_MAGIC)


def database_path(database: Any, *, is_uri: bool) -> tuple[str | None, str]:
    """Return the file and the URI options that an argument of `sqlite3.connect` means.

    Args:
        database: the argument, of any type.
        is_uri: whether text that starts with `file:` is read as a URI.

    Returns:
        The path and the query part of the URI. The path is None for a database in memory, and for an argument that is
        no path.
    """
    try:
        text = os.fsdecode(database)
    except TypeError:
        return None, ""
    options = ""
    if is_uri and text.startswith("file:"):
        from urllib.parse import unquote  # lazy: few programs name a database so

        text, _, options = text.removeprefix("file:").partition("#")[0].partition("?")
        if text.startswith("//"):
            text = "/" + text.removeprefix("//").partition("/")[2]
        text = unquote(text)
    if text in {"", ":memory:"} or "mode=memory" in options:
        return None, options
    return text, options


def open_read_only(path: str, timeout: float = 5.0) -> sqlite3.Connection:
    """Open a database without changing it or the side files that a last connection would remove.

    Args:
        path: the database's file.
        timeout: seconds to wait for another process's lock.

    Raises:
        sqlite3.Error: the database can't be opened.
    """
    import sqlite3  # lazy: most programs have no database
    from urllib.parse import quote  # lazy: 2 ms

    # In WAL mode a database without a log is the file alone. It is opened as immutable, because SQLite would otherwise
    # create side files.
    has_log = os.path.exists(f"{path}-wal")
    options = "mode=ro&immutable=1" if _head(path)[18:19] == _WAL and not has_log else "mode=ro"
    uri = f"file:{quote(os.path.abspath(path))}?{options}"
    return sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)


def copy_database(path: str, target: str) -> None:
    """Copy a database's committed state, also while another process writes it.

    Raises:
        sqlite3.Error: the database can't be read.
    """
    import sqlite3  # lazy: as above

    with closing(open_read_only(path)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
    os.chmod(target, os.stat(path).st_mode & 0o777 | 0o200)


def _head(path: str) -> bytes:
    """Return the first bytes of a file, or no bytes if it can't be read."""
    try:
        return read_whole(path, 20)
    except OSError:
        return b""
