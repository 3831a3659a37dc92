"""Find what changed between two states of a file: rows of a database, lines of a text, members of a JSON file.

An effect is a path, a description of the change in words, and a value as JSON. Two equal effects are the same change.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
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
"""Largest size in bytes of a file whose content is compared; larger files are compared by digest."""

MOST_ROWS = 50_000
"""Most rows of a table that are compared one by one; larger tables are compared by one digest of all rows."""

LOG = "log "
"""Prefix of the description of an effect on a log file. Such an effect is no evidence of what the program did."""

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@' ORDER BY name"
"""Names of the program's own tables. SQLite's internal tables hold counters and statistics."""

REMOVED, EMPTIED = "removed", "emptied"
"""Descriptions of the effects by which a file loses its whole content."""

CREATED = "file created"

LOSES = ("content changed", EMPTIED, "line removed", REMOVED, "row removed")
"""Prefixes of the descriptions of effects that lose data."""

_PRAGMAS = ("user_version", "application_id")

_SHOWN = 200
"""Most effects that are listed for one file. The rest become one effect with their number and a digest."""

Rows: TypeAlias = dict[str, dict[str, Any]]
"""Rows by their primary key, or by their row number where the table has none; the key is JSON text."""


class _Database(NamedTuple):
    tables: dict[str, Rows]
    """By name of table; a large table has one row, its digest."""


class _Text(NamedTuple):
    lines: list[str]


class _Json(NamedTuple):
    value: Any


class _Bytes(NamedTuple):
    digest: str
    size: int


State: TypeAlias = _Database | _Text | _Json | _Bytes | None
"""The part of a file's content that is compared; None if there is no file."""


class ScratchWatch:
    """Reports what was changed in a scratch folder since the last call."""

    def __init__(self, scratch: Scratch, name: Callable[[str], str]) -> None:
        """Watch a scratch folder; `name` returns the name of a path in reports."""
        self._scratch = scratch
        self._name = name
        self._seen: dict[str, tuple[Mark | None, State]] = {}
        self._modes: dict[str, int | None] = {}
        self._links: dict[str, str | None] = {}

    def copy(self) -> ScratchWatch:
        """Return another watch, which has seen the same."""
        other = ScratchWatch(self._scratch, self._name)
        other._seen, other._modes, other._links = dict(self._seen), dict(self._modes), dict(self._links)
        return other

    def changes(self) -> list[StateEffect]:
        """Return the changes since the last call, or since the replay began."""
        if not os.path.isdir(self._scratch.folder):
            return []
        effects: list[StateEffect] = []
        with undisturbed():
            for path in self._scratch.changed_paths():
                if path.endswith(SIDE_FILES) and self._scratch.now_at(path.rpartition("-")[0]) is not None:
                    continue
                effects += self._changes_at(path)
        return effects

    def _changes_at(self, path: str) -> Iterator[StateEffect]:
        yield from self._link(path)
        current_file = self._scratch.now_at(path)
        if self._links[path] is not None or (
            current_file is None and self._scratch.link_before(path) is not None
        ):
            return  # the target of a link is reported under its own path
        mark = None if current_file is None else mark_of(current_file)
        last_state = self._seen.get(path)
        if last_state is not None and last_state[0] == mark and not (mark and is_young(mark)):
            return
        before = last_state[1] if last_state is not None else read_state(self._scratch.before_at(path))
        current = read_state(current_file)
        self._seen[path] = (mark, current)
        effects = differences(self._name(path), before, current)
        if effects and is_log(path):
            effects = [StateEffect(effect.path, f"{LOG}{effect.what}", effect.value) for effect in effects]
        yield from effects
        yield from self._mode(path, current_file)

    def _link(self, path: str) -> Iterator[StateEffect]:
        """Yield an effect if a symbolic link was created, removed or given another target."""
        target = self._scratch.link_now(path)
        old_target = self._links.get(path, self._scratch.link_before(path))
        self._links[path] = target
        if old_target == target:
            return
        description = (
            "link removed" if target is None else "link created" if old_target is None else "link changed"
        )
        yield _effect(self._name(path), description, {"to": target if target is not None else old_target})

    def _mode(self, path: str, current_file: str | None) -> Iterator[StateEffect]:
        """Yield an effect if a file's permission bits have changed."""
        first_mode = self._scratch.mode_before(path)
        mode = None if current_file is None else os.stat(current_file).st_mode & 0o777
        old_mode = self._modes.setdefault(path, first_mode)
        if mode is not None and old_mode is not None and mode | 0o200 != old_mode | 0o200:
            yield _effect(self._name(path), "mode changed", oct(mode))
        self._modes[path] = mode


def is_log(path: str) -> bool:
    """Return whether a handler of `logging` writes to this file."""
    logging = sys.modules.get("logging")
    handlers = [reference() for reference in list(getattr(logging, "_handlerList", ()))]
    return any(
        os.path.realpath(handler.baseFilename) == path
        for handler in handlers
        if hasattr(handler, "baseFilename")
    )


def read_state(path: str | None) -> State:
    """Read a file's content for comparison. No format is read that could run code, such as a pickle."""
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
        except sqlite3.OperationalError:  # a table WITHOUT ROWID always has a primary key
            cursor = connection.execute(f"SELECT 0, * FROM {quoted}")  # noqa: S608 - as above
        columns = [column[0] for column in cursor.description[1:]]
        rows_by_key: Rows = {}
        for number, *cells in cursor.fetchmany(MOST_ROWS):
            row = {name: _cell(cell) for name, cell in zip(columns, cells, strict=True)}
            rows_by_key[json.dumps([row[key] for key in keys] if keys else number)] = row
        if cursor.fetchone() is None:
            return rows_by_key
        digest = hashlib.sha256()
        for row in connection.execute(f"SELECT * FROM {quoted}"):  # noqa: S608 - as above
            digest.update(repr(row).encode())
    except sqlite3.Error:  # a virtual table whose module is not loaded
        return {}
    return {"": {"digest of all rows": digest.hexdigest()}}


def _cell(value: Any) -> Any:
    return {"bytes": hashlib.sha256(value).hexdigest()} if isinstance(value, bytes) else value


# --- differences ---------------------------------------------------------------------------------------------------------


def differences(path: str, before: State, after: State) -> list[StateEffect]:
    """Return the differences between two states of a file."""
    if before == after:
        return []
    if after is None:
        return [_effect(path, REMOVED)]
    if isinstance(after, _Database):
        tables_before = before.tables if isinstance(before, _Database) else {}
        created = [] if before is not None else [_effect(path, "database created")]
        return [*created, *_few(path, list(_row_changes(path, tables_before, after.tables)))]
    if before is None and not isinstance(after, _Bytes):
        value = after.value if isinstance(after, _Json) else [_line(line) for line in after.lines]
        return [_effect(path, CREATED, value)]
    if isinstance(after, _Json) and isinstance(before, _Json):
        return _few(path, list(members(path, before.value, after.value)))
    if before is not None and after == _Text([]):
        return [_effect(path, EMPTIED)]
    if isinstance(after, _Text) and isinstance(before, _Text):
        return _few(path, list(_lines(path, before.lines, after.lines)))
    description = CREATED if before is None else "content changed"
    if isinstance(after, _Bytes):
        return [_effect(path, description, {"digest": after.digest, "size": after.size})]
    return [_effect(path, description, after.value if isinstance(after, _Json) else after.lines)]


def _few(path: str, effects: list[StateEffect]) -> list[StateEffect]:
    if len(effects) <= _SHOWN:
        return effects
    digest = hashlib.sha256(
        "\n".join(f"{effect.what} {effect.value!r}" for effect in effects).encode()
    ).hexdigest()
    return [*effects[:_SHOWN], _effect(path, f"{len(effects) - _SHOWN:,} more changes", {"digest": digest})]


def _effect(path: str, description: str, value: Any = None) -> StateEffect:
    return StateEffect(
        path,
        description,
        json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass"),
    )


def _row_changes(path: str, before: dict[str, Rows], after: dict[str, Rows]) -> Iterator[StateEffect]:
    for table in sorted({*before, *after}):
        old_rows, new_rows = before.get(table, {}), after.get(table, {})
        for key in sorted(old_rows.keys() - new_rows.keys()):
            yield _effect(path, f"row removed from {table}", old_rows[key])
        for key in sorted(new_rows.keys() - old_rows.keys()):
            yield _effect(path, f"row added to {table}", new_rows[key])
        for key in sorted(old_rows.keys() & new_rows.keys()):
            if old_rows[key] != new_rows[key]:
                yield _effect(path, f"row changed in {table}", _row_change(old_rows[key], new_rows[key]))


def _row_change(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the changed columns of a row before and after, with the unchanged columns that identify it."""
    changed = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    return {
        "row": {name: value for name, value in after.items() if name not in changed},
        "before": {name: before.get(name) for name in changed},
        "after": {name: after.get(name) for name in changed},
    }


def _lines(path: str, before: list[str], after: list[str]) -> Iterator[StateEffect]:
    if after[: len(before)] == before:
        for line in after[len(before) :]:
            yield _effect(path, "line added", _line(line))
        return
    old_counts, new_counts = Counter(before), Counter(after)
    gone, new = list((old_counts - new_counts).elements()), list((new_counts - old_counts).elements())
    if len(gone) == len(new):
        for old_line, new_line in zip(gone, new, strict=True):
            yield _effect(path, "line changed", {"before": _line(old_line), "after": _line(new_line)})
    else:
        for line in gone:
            yield _effect(path, "line removed", _line(line))
        for line in new:
            yield _effect(path, "line added", _line(line))
    if old_counts == new_counts:
        yield _effect(path, "lines moved", after)


def _line(text: str) -> Any:
    """Return the object that a line of a JSON Lines file holds, or the line itself."""
    if text[:1] == "{" and text[-1:] == "}":
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return text


def members(path: str, before: Any, after: Any) -> Iterator[StateEffect]:
    """Yield the differences between two JSON values as effects on a path."""
    for difference in differences_between(before, after, pair=_pair):
        old, new, at = difference.first, difference.second, difference.dotted
        where = f" at {at}" if at else ""
        if old is ABSENT:
            yield _effect(path, f"added at {at}", new)
        elif new is ABSENT:
            yield _effect(path, f"removed at {at}", old)
        elif not isinstance(old, list) or not isinstance(new, list):
            yield _effect(path, f"changed{where}", {"before": old, "after": new})
        elif _is_longer(old, new):
            for item in new[len(old) :]:
                yield _effect(path, f"added{where}", item)
        else:
            yield from _items(path, old, new, where)


def _pair(before: Any, after: Any) -> Pairs | None:
    """Pair the members of two values. A list that has only grown is not paired: its new items say everything."""
    if isinstance(before, list) and isinstance(after, list) and _is_longer(before, after):
        return None
    return pair_equal_lengths(before, after)


def _is_longer(before: list[Any], after: list[Any]) -> bool:
    """Return whether the second list begins with all items of the first."""
    return after[: len(before)] == before


def _items(path: str, before: list[Any], after: list[Any], where: str) -> Iterator[StateEffect]:
    """Yield the items that a list has lost and gained, regardless of order."""
    texts = [[json.dumps(item, sort_keys=True) for item in items] for items in (before, after)]
    old_counts, new_counts = (Counter(items_as_text) for items_as_text in texts)
    for text in (old_counts - new_counts).elements():
        yield _effect(path, f"removed{where}", json.loads(text))
    for text in (new_counts - old_counts).elements():
        yield _effect(path, f"added{where}", json.loads(text))
