"""SQLite databases as files: copied while others have them open, and read as they are committed."""

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
"""Byte 18 of a database that is written by way of a log."""

SIDE_FILES = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database."""


Mark: TypeAlias = tuple[tuple[int, ...], ...]
"""What changes with a file."""

_TICK = 50_000_000
"""Nanoseconds within which two changes of a file may bear the same time."""


def mark_of(path: str) -> Mark:
    """Return what changes with a file, and with the log that SQLite keeps beside it."""
    found = []
    for each in (path, f"{path}-wal"):
        try:
            facts = os.stat(each)
        except OSError:
            continue
        found.append((facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_mode))
    return tuple(found)


def is_young(mark: Mark) -> bool:
    """Return whether a file was changed so lately that it may change again within one tick of the file system's clock."""
    return any(unpatched.time_ns() - each[0] < _TICK for each in mark)


def is_database(path: str) -> bool:
    """Return whether a file is a SQLite database."""
    return _head(path).startswith(_MAGIC)


def database_path(given: Any, *, is_uri: bool) -> tuple[str | None, str]:
    """Return the path of a database that `sqlite3.connect` is given, and the options of a URI; None for one in memory."""
    try:
        text = os.fsdecode(given)
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
    """Open a database without changing anything, also nothing beside it that a last connection would tidy away.

    Raises:
        sqlite3.Error: it can't be read.
    """
    import sqlite3  # lazy: most programs have no database
    from urllib.parse import quote  # lazy: 2 ms

    # A database in WAL mode that nobody has open is the file alone, and is read as one that nobody writes: else SQLite would
    # make files beside it.
    has_log = os.path.exists(f"{path}-wal")
    options = "mode=ro&immutable=1" if _head(path)[18:19] == _WAL and not has_log else "mode=ro"
    uri = f"file:{quote(os.path.abspath(path))}?{options}"
    return sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)


def copy_database(path: str, target: str) -> None:
    """Copy a database as it is committed, also where another process writes it.

    Raises:
        sqlite3.Error: it can't be read.
    """
    import sqlite3  # lazy: as above

    with closing(open_read_only(path)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
    os.chmod(target, os.stat(path).st_mode & 0o777 | 0o200)


def _head(path: str) -> bytes:
    """Read the first bytes of a file; none where it can't be read."""
    try:
        return read_whole(path, 20)
    except OSError:
        return b""
