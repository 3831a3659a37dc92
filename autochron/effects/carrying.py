"""Snapshots that leave the local store: filtered, and searched for secrets, for they hold customers' rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from operator import ne
from typing import Any

from msgspec import structs

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.effects.changes import digest_of
from autochron.effects.databases import open_read_only
from autochron.effects.snapshots import SnapshotFolder
from autochron.errors import UsageError
from autochron.json_differences import Pairs, differences_between, pair_equal_lengths
from autochron.model import Footer, Snapshot

Masks = Callable[[bytes], bytes]
"""Masks the secrets in a JSON body; what it changes holds one."""

_SHOWN = 8


def take_along(
    footer: Footer,
    places: Sequence[SnapshotFolder],
    folder: str,
    rows: Sequence[str] = (),
    accepted: Sequence[str] = (),
    masks: Masks | None = None,
) -> tuple[Snapshot, ...]:
    """Copy the contents of a trace's snapshots to a folder; return the snapshots as they are there.

    Args:
        footer: of the trace.
        places: where the contents are.
        folder: made where there is anything to copy.
        rows: `TABLE=WHERE` in SQL: rows of that table that don't fit are left out.
        accepted: names of secrets that may be taken along: `pay.db customers.token`, `config.json:api_key`, `notes.txt:3`.
        masks: finds secrets; by default nothing is one.

    Raises:
        StoreError: a content is missing or damaged.
        UsageError: a secret isn't accepted, or a `rows` means nothing.
    """
    filters = _filters(rows)
    made = f"{folder}.{unpatched.getpid()}.tmp"
    try:
        found = _taken(footer, places, SnapshotFolder(made), filters, frozenset(accepted), masks)
        if os.path.isdir(made):
            os.makedirs(folder, exist_ok=True)
            for name in os.listdir(made):
                os.replace(os.path.join(made, name), os.path.join(folder, name))
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return found


def _taken(
    footer: Footer,
    places: Sequence[SnapshotFolder],
    target: SnapshotFolder,
    filters: dict[str, str],
    accepted: frozenset[str],
    masks: Masks | None,
) -> tuple[Snapshot, ...]:
    unused = dict.fromkeys(filters)
    folder = target.path
    found: list[Snapshot] = []
    hits: list[str] = []
    for each in footer.snapshots:
        if not each.digest:
            found.append(each)
            continue
        place = next((one for one in places if one.has(each.digest)), places[0] if places else target)
        source = place.check(each)
        os.makedirs(folder, exist_ok=True)
        copy = os.path.join(folder, ".copy")
        shutil.copyfile(source, copy)
        if each.kind == "sqlite":
            for table in [table for table in filters if _filter(copy, table, filters[table], each.path)]:
                unused.pop(table, None)
            _tidy(copy)
        digest = digest_of(copy)
        if masks is not None:
            hits += [hit for hit in _secrets(copy, each, masks) if hit not in accepted]
        os.chmod(copy, 0o600)
        os.replace(copy, target.file_of(digest))
        found.append(structs.replace(each, digest=digest, size=os.path.getsize(target.file_of(digest))))
    if unused:
        raise UsageError(
            f"--rows {next(iter(unused))}=…: no database of the trace has a table of that name; name one that it has"
        )
    if hits:
        shown = "; ".join(hits[:_SHOWN]) + (f"; and {len(hits) - _SHOWN} more" if len(hits) > _SHOWN else "")
        raise UsageError(
            f"what would be taken along looks as if it held secrets: {shown}; leave rows out with --rows TABLE=WHERE, or"
            f" accept it by name: --accept {json.dumps(hits[0])}"
        )
    return tuple(found)


def _filters(rows: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in rows:
        table, equals, where = each.partition("=")
        if not (table.strip() and equals and where.strip()):
            raise UsageError(f"--rows {each!r}: write TABLE=WHERE, such as \"orders=id = 'A1'\"")
        found[table.strip()] = where.strip()
    return found


def _filter(path: str, table: str, where: str, shown: str) -> bool:
    """Leave out of a database's table the rows that don't fit; return whether it has the table."""
    import sqlite3  # lazy: few traces have a database

    quoted = '"' + table.replace('"', '""') + '"'
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        is_there = connection.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchone()
        if is_there is None:
            return False
        try:
            connection.execute("PRAGMA foreign_keys=OFF")
            triggers = connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
            ).fetchall()
            for name, _ in triggers:
                connection.execute('DROP TRIGGER "' + name.replace('"', '""') + '"')
            connection.execute(f"DELETE FROM {quoted} WHERE NOT coalesce(({where}), 0)")  # noqa: S608 - the user's own words
            for _, sql in triggers:
                connection.execute(sql)
        except sqlite3.Error as error:
            raise UsageError(
                f"--rows {table}={where}: {shown} refuses that ({error}); correct the condition"
            ) from error
    return True


def _tidy(path: str) -> None:
    """Take out of a database what is left in it of rows that were deleted."""
    import sqlite3  # lazy: as above

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("VACUUM")


def _secrets(path: str, snapshot: Snapshot, masks: Masks) -> Iterator[str]:
    """Yield the names of what looks like a secret, each once."""
    found = (
        _in_database(path, snapshot, masks) if snapshot.kind == "sqlite" else _in_file(path, snapshot, masks)
    )
    yield from dict.fromkeys(found)


def _in_database(path: str, snapshot: Snapshot, masks: Masks) -> Iterator[str]:
    with closing(open_read_only(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            quoted = '"' + table.replace('"', '""') + '"'
            cursor = connection.execute(f"SELECT * FROM {quoted}")  # noqa: S608 - a table's own name, quoted
            columns = [each[0] for each in cursor.description]
            for row in cursor:
                held = {
                    name: cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell
                    for name, cell in zip(columns, row, strict=True)
                    if cell is not None
                }
                for name in _masked(held, masks):
                    yield f"{snapshot.path} {table}.{name}"


def _in_file(path: str, snapshot: Snapshot, masks: Masks) -> Iterator[str]:
    with open(path, "rb") as file:
        data = file.read()
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        for number, line in enumerate(text.splitlines(), 1):
            if _masked({"line": line}, masks):
                yield f"{snapshot.path}:{number}"
        return
    for name in _masked(value if isinstance(value, dict) else {"value": value}, masks):
        yield f"{snapshot.path}:{name}"


def _masked(value: dict[str, Any], masks: Masks) -> list[str]:
    """Return the paths of what is masked in a value."""
    body = json.dumps(value).encode()
    after = masks(body)
    return (
        []
        if after == body
        else [each.dotted for each in differences_between(value, json.loads(after), pair=_pair, is_other=ne)]
    )


def _pair(value: Any, masked: Any) -> Pairs | None:
    """Pair what a value holds with what is there once it is masked; a key that the mask has made stands alone."""
    if isinstance(value, dict) and isinstance(masked, dict):
        return [(key, held, masked.get(key)) for key, held in value.items()]
    return pair_equal_lengths(value, masked)
