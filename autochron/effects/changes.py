"""What changed between two states of the world: rows of a database, lines of a text, members of a JSON file.

An effect is a path, what happened there in words, and a value as JSON: equal effects are the same thing done again.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple, TypeAlias

from autochron._runtime.unpatched import os
from autochron.effects.databases import SIDE_FILES, Mark, is_database, is_young, mark_of, open_read_only
from autochron.effects.lock_safe import open_to_read, read_whole
from autochron.effects.scratch import Scratch
from autochron.effects.undisturbed import undisturbed
from autochron.json_differences import ABSENT, Pairs, differences_between, pair_equal_lengths
from autochron.model import StateEffect

MOST_READ = 4 << 20
"""Bytes of a file that are compared; of a larger one the digest is."""

MOST_ROWS = 50_000
"""Rows of a table that are compared one by one; of a larger one the digest of all is."""

LOG = "log "
"""How the words of an effect begin that is a line of a log: it tells nothing of what was done."""

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@' ORDER BY name"
"""The program's own tables: those of SQLite count and measure."""

REMOVED, EMPTIED = "removed", "emptied"
"""What an effect is by which a file loses all that it held."""

CREATED = "file created"

LOSES = ("content changed", EMPTIED, "line removed", REMOVED, "row removed")
"""How the words of an effect begin by which something is lost."""

_PRAGMAS = ("user_version", "application_id")

_SHOWN = 200
"""Effects of one file that are listed; what is more is one effect with the number and a digest."""

Rows: TypeAlias = dict[str, dict[str, Any]]
"""Rows by their primary key, else by their number, as JSON."""


class _Database(NamedTuple):
    tables: dict[str, Rows]
    """By table; of a large table one row, its digest."""


class _Text(NamedTuple):
    lines: list[str]


class _Json(NamedTuple):
    value: Any


class _Bytes(NamedTuple):
    digest: str
    size: int


State: TypeAlias = _Database | _Text | _Json | _Bytes | None
"""What a file holds, as far as it is compared; None where there is none."""


class ScratchWatch:
    """Report what was changed in a scratch folder since the last call.

    Attributes:
        name: gives the name by which a path is known to people.
    """

    def __init__(self, scratch: Scratch, name: Any) -> None:
        self._scratch = scratch
        self._name = name
        self._seen: dict[str, tuple[Mark | None, State]] = {}
        self._modes: dict[str, int | None] = {}
        self._links: dict[str, str | None] = {}

    def changes(self) -> list[StateEffect]:
        """List what was changed since the last call, or since the replay began."""
        if not os.path.isdir(self._scratch.folder):
            return []
        found: list[StateEffect] = []
        with undisturbed():
            for path in self._scratch.changed_paths():
                if path.endswith(SIDE_FILES) and self._scratch.now_at(path.rpartition("-")[0]) is not None:
                    continue
                found += self._changes_at(path)
        return found

    def _changes_at(self, path: str) -> Iterator[StateEffect]:
        yield from self._link(path)
        now_at = self._scratch.now_at(path)
        if self._links[path] is not None or (now_at is None and self._scratch.link_before(path) is not None):
            return  # what a link leads to is told of under its own path
        mark = None if now_at is None else mark_of(now_at)
        seen = self._seen.get(path)
        if seen is not None and seen[0] == mark and not (mark and is_young(mark)):
            return
        before = seen[1] if seen is not None else read_state(self._scratch.before_at(path))
        now = read_state(now_at)
        self._seen[path] = (mark, now)
        found = differences(self._name(path), before, now)
        if found and is_log(path):
            found = [StateEffect(each.path, f"{LOG}{each.what}", each.value) for each in found]
        yield from found
        yield from self._mode(path, now_at)

    def _link(self, path: str) -> Iterator[StateEffect]:
        """Yield whether a symbolic link leads elsewhere than it did, or is gone or new."""
        now = self._scratch.link_now(path)
        before = self._links.get(path, self._scratch.link_before(path))
        self._links[path] = now
        if before == now:
            return
        what = "link removed" if now is None else "link created" if before is None else "link changed"
        yield _effect(self._name(path), what, {"to": now if now is not None else before})

    def _mode(self, path: str, now_at: str | None) -> Iterator[StateEffect]:
        """Yield whether a file's permissions are others than they were."""
        before_at = self._scratch.mode_before(path)
        now = None if now_at is None else os.stat(now_at).st_mode & 0o777
        known = self._modes.setdefault(path, before_at)
        if now is not None and known is not None and now | 0o200 != known | 0o200:
            yield _effect(self._name(path), "mode changed", oct(now))
        self._modes[path] = now


def is_log(path: str) -> bool:
    """Return whether a handler of `logging` writes to a file."""
    logging = sys.modules.get("logging")
    handlers = [each() for each in list(getattr(logging, "_handlerList", ()))]
    return any(
        os.path.realpath(each.baseFilename) == path for each in handlers if hasattr(each, "baseFilename")
    )


def read_state(path: str | None) -> State:
    """Read what a file holds; never what would run code, such as a pickle."""
    if path is None:
        return None
    try:
        if is_database(path):
            return _read_database(path)
        data = read_whole(path, MOST_READ + 1)
        if len(data) > MOST_READ:
            return _Bytes(digest_of(path), os.path.getsize(path))
    except OSError:
        return None
    return _parsed(data)


def digest_of(path: str) -> str:
    """Return the SHA-256 of a file, hex."""
    with open_to_read(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _parsed(data: bytes) -> State:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _Bytes(hashlib.sha256(data).hexdigest(), len(data))
    if "\0" in text:
        return _Bytes(hashlib.sha256(data).hexdigest(), len(data))
    if text[:1] in {"{", "["}:
        try:
            return _Json(json.loads(text))
        except (ValueError, RecursionError):
            pass
    return _Text(text.splitlines())


def _read_database(path: str) -> State:
    import sqlite3  # lazy: most programs have no database

    tables: dict[str, Rows] = {}
    try:
        with closing(open_read_only(path, timeout=0.5)) as connection:
            names = [name for (name,) in connection.execute(_TABLES)]
            for name in names:
                tables[name] = _rows(connection, name)
            schema = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name")
            facts = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _PRAGMAS}
            tables["(header)"] = {"": facts}
            tables["(schema)"] = {
                f"{kind} {name}": {"type": kind, "name": name, "sql": sql} for kind, name, sql in schema
            }
    except sqlite3.Error:
        return _Bytes(digest_of(path), os.path.getsize(path))
    return _Database(tables)


def _rows(connection: Any, table: str) -> Rows:
    import sqlite3  # lazy: as above

    quoted = '"' + table.replace('"', '""') + '"'
    try:
        facts = connection.execute(f"PRAGMA table_info({quoted})").fetchall()
        keys = [name for _, name, *_, key in facts if key]
        try:
            cursor = connection.execute(f"SELECT rowid, * FROM {quoted}")  # noqa: S608 - a table's own name, quoted
        except sqlite3.OperationalError:  # without rowid: then it has a primary key
            cursor = connection.execute(f"SELECT 0, * FROM {quoted}")  # noqa: S608 - as above
        columns = [each[0] for each in cursor.description[1:]]
        found: Rows = {}
        for number, *cells in cursor.fetchmany(MOST_ROWS):
            row = {name: _cell(cell) for name, cell in zip(columns, cells, strict=True)}
            found[json.dumps([row[key] for key in keys] if keys else number)] = row
        if cursor.fetchone() is None:
            return found
        digest = hashlib.sha256()
        for each in connection.execute(f"SELECT * FROM {quoted}"):  # noqa: S608 - as above
            digest.update(repr(each).encode())
    except sqlite3.Error:  # a virtual table whose module isn't there
        return {}
    return {"": {"digest of all rows": digest.hexdigest()}}


def _cell(value: Any) -> Any:
    return {"bytes": hashlib.sha256(value).hexdigest()} if isinstance(value, bytes) else value


# --- differences ---------------------------------------------------------------------------------------------------------


def differences(path: str, before: State, now: State) -> list[StateEffect]:
    """List in what two states of a file differ."""
    if before == now:
        return []
    if now is None:
        return [_effect(path, REMOVED)]
    if isinstance(now, _Database):
        had = before.tables if isinstance(before, _Database) else {}
        made = [] if before is not None else [_effect(path, "database created")]
        return [*made, *_few(path, list(_row_changes(path, had, now.tables)))]
    if before is None and not isinstance(now, _Bytes):
        value = now.value if isinstance(now, _Json) else [_line(each) for each in now.lines]
        return [_effect(path, CREATED, value)]
    if isinstance(now, _Json) and isinstance(before, _Json):
        return _few(path, list(members(path, before.value, now.value)))
    if before is not None and now == _Text([]):
        return [_effect(path, EMPTIED)]
    if isinstance(now, _Text) and isinstance(before, _Text):
        return _few(path, list(_lines(path, before.lines, now.lines)))
    what = CREATED if before is None else "content changed"
    if isinstance(now, _Bytes):
        return [_effect(path, what, {"digest": now.digest, "size": now.size})]
    return [_effect(path, what, now.value if isinstance(now, _Json) else now.lines)]


def _few(path: str, effects: list[StateEffect]) -> list[StateEffect]:
    if len(effects) <= _SHOWN:
        return effects
    digest = hashlib.sha256("\n".join(f"{each.what} {each.value!r}" for each in effects).encode()).hexdigest()
    return [*effects[:_SHOWN], _effect(path, f"{len(effects) - _SHOWN:,} more changes", {"digest": digest})]


def _effect(path: str, what: str, value: Any = None) -> StateEffect:
    return StateEffect(
        path, what, json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
    )


def _row_changes(path: str, before: dict[str, Rows], now: dict[str, Rows]) -> Iterator[StateEffect]:
    for table in sorted({*before, *now}):
        had, has = before.get(table, {}), now.get(table, {})
        for key in sorted(had.keys() - has.keys()):
            yield _effect(path, f"row removed from {table}", had[key])
        for key in sorted(has.keys() - had.keys()):
            yield _effect(path, f"row added to {table}", has[key])
        for key in sorted(had.keys() & has.keys()):
            if had[key] != has[key]:
                yield _effect(path, f"row changed in {table}", _row_change(had[key], has[key]))


def _row_change(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return what changed in a row, and of which row it is."""
    changed = [name for name in dict.fromkeys([*before, *now]) if before.get(name) != now.get(name)]
    return {
        "row": {name: value for name, value in now.items() if name not in changed},
        "before": {name: before.get(name) for name in changed},
        "after": {name: now.get(name) for name in changed},
    }


def _lines(path: str, before: list[str], now: list[str]) -> Iterator[StateEffect]:
    if now[: len(before)] == before:
        for line in now[len(before) :]:
            yield _effect(path, "line added", _line(line))
        return
    had, has = Counter(before), Counter(now)
    gone, new = list((had - has).elements()), list((has - had).elements())
    if len(gone) == len(new):
        for was, is_now in zip(gone, new, strict=True):
            yield _effect(path, "line changed", {"before": _line(was), "after": _line(is_now)})
    else:
        for line in gone:
            yield _effect(path, "line removed", _line(line))
        for line in new:
            yield _effect(path, "line added", _line(line))
    if had == has:
        yield _effect(path, "lines moved", now)


def _line(text: str) -> Any:
    """Return a line as what it is: in a file of JSON lines an object."""
    if text[:1] == "{" and text[-1:] == "}":
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return text


def members(path: str, before: Any, now: Any) -> Iterator[StateEffect]:
    """Yield in what two values of JSON differ."""
    for each in differences_between(before, now, pair=_pair):
        had, has, at = each.first, each.second, each.dotted
        where = f" at {at}" if at else ""
        if had is ABSENT:
            yield _effect(path, f"added at {at}", has)
        elif has is ABSENT:
            yield _effect(path, f"removed at {at}", had)
        elif not isinstance(had, list) or not isinstance(has, list):
            yield _effect(path, f"changed{where}", {"before": had, "after": has})
        elif _is_longer(had, has):
            for item in has[len(had) :]:
                yield _effect(path, f"added{where}", item)
        else:
            yield from _items(path, had, has, where)


def _pair(before: Any, now: Any) -> Pairs | None:
    """Pair the members of two values, but for a list that has only grown: its new items tell all."""
    if isinstance(before, list) and isinstance(now, list) and _is_longer(before, now):
        return None
    return pair_equal_lengths(before, now)


def _is_longer(before: list[Any], now: list[Any]) -> bool:
    """Return whether a list begins with all that another holds."""
    return now[: len(before)] == before


def _items(path: str, before: list[Any], now: list[Any], where: str) -> Iterator[StateEffect]:
    """Yield which items of a list are gone and which are new."""
    texts = [[json.dumps(each, sort_keys=True) for each in items] for items in (before, now)]
    had, has = (Counter(each) for each in texts)
    for text in (had - has).elements():
        yield _effect(path, f"removed{where}", json.loads(text))
    for text in (has - had).elements():
        yield _effect(path, f"added{where}", json.loads(text))
