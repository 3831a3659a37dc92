"""Copy snapshots out of the local store: rows are filtered, and the contents are searched for secrets.

Snapshots hold the user's files and databases, and so possibly customers' data.
"""

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
"""Masks the secrets in a JSON body. A body that it changes holds a secret."""

_SHOWN = 8
"""Secrets that an error message names."""


def take_along(
    footer: Footer,
    places: Sequence[SnapshotFolder],
    folder: str,
    rows: Sequence[str] = (),
    accepted: Sequence[str] = (),
    masks: Masks | None = None,
) -> tuple[Snapshot, ...]:
    """Copy the contents of a trace's snapshots to a folder; return the snapshots with the digests of the copies.

    Args:
        footer: the trace's footer, which lists the snapshots.
        places: the folders that are searched for the contents.
        folder: the target; created only if there is a content to copy.
        rows: `TABLE=WHERE` in SQL: rows of that table that do not match are left out.
        accepted: names of secrets that may be copied, such as `pay.db customers.token`, `config.json:api_key` or
            `notes.txt:3`.
        masks: finds secrets; without it nothing is searched.

    Raises:
        StoreError: a content is missing or damaged.
        UsageError: a secret is not accepted, an item of `rows` can't be read, or its table or condition does not fit
            the databases.
    """
    filters = _filters(rows)
    temporary = f"{folder}.{unpatched.getpid()}.tmp"
    try:
        snapshots = _taken(footer, places, SnapshotFolder(temporary), filters, frozenset(accepted), masks)
        if os.path.isdir(temporary):
            os.makedirs(folder, exist_ok=True)
            for name in os.listdir(temporary):
                os.replace(os.path.join(temporary, name), os.path.join(folder, name))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return snapshots


def _taken(
    footer: Footer,
    places: Sequence[SnapshotFolder],
    target: SnapshotFolder,
    filters: dict[str, str],
    accepted: frozenset[str],
    masks: Masks | None,
) -> tuple[Snapshot, ...]:
    unused_tables = dict.fromkeys(filters)
    folder = target.path
    copied: list[Snapshot] = []
    hits: list[str] = []
    for snapshot in footer.snapshots:
        if not snapshot.digest:
            copied.append(snapshot)
            continue
        source_folder = next(
            (known_place for known_place in places if known_place.has(snapshot.digest)),
            places[0] if places else target,
        )
        source = source_folder.check(snapshot)
        os.makedirs(folder, exist_ok=True)
        copy = os.path.join(folder, ".copy")
        shutil.copyfile(source, copy)
        if snapshot.kind == "sqlite":
            for table in [table for table in filters if _filter(copy, table, filters[table], snapshot.path)]:
                unused_tables.pop(table, None)
            _tidy(copy)
        digest = digest_of(copy)
        if masks is not None:
            hits += [hit for hit in _secrets(copy, snapshot, masks) if hit not in accepted]
        os.chmod(copy, 0o600)
        os.replace(copy, target.file_of(digest))
        copied.append(structs.replace(snapshot, digest=digest, size=os.path.getsize(target.file_of(digest))))
    if unused_tables:
        raise UsageError(
            f"--rows {next(iter(unused_tables))}=…: no database of the trace has a table of that name; name one that it has"
        )
    if hits:
        shown = "; ".join(hits[:_SHOWN]) + (f"; and {len(hits) - _SHOWN} more" if len(hits) > _SHOWN else "")
        raise UsageError(
            f"the snapshots look as if they held secrets: {shown}; leave rows out with --rows TABLE=WHERE, or"
            f" accept it by name: --accept {json.dumps(hits[0])}"
        )
    return tuple(copied)


def _filters(rows: Iterable[str]) -> dict[str, str]:
    conditions: dict[str, str] = {}
    for option in rows:
        table, equals, where = option.partition("=")
        if not (table.strip() and equals and where.strip()):
            raise UsageError(f"--rows {option!r}: write TABLE=WHERE, such as \"orders=id = 'A1'\"")
        conditions[table.strip()] = where.strip()
    return conditions


def _filter(path: str, table: str, where: str, shown: str) -> bool:
    """Delete the rows of a table that do not match a condition; return whether the database has the table.

    `shown` is the database's path for messages.
    """
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
    """Rewrite a database, so that its file holds no remains of deleted rows."""
    import sqlite3  # lazy: as above

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("VACUUM")


def _secrets(path: str, snapshot: Snapshot, masks: Masks) -> Iterator[str]:
    """Yield the name of each place in a snapshot that looks like a secret, once each."""
    names = (
        _in_database(path, snapshot, masks) if snapshot.kind == "sqlite" else _in_file(path, snapshot, masks)
    )
    yield from dict.fromkeys(names)


def _in_database(path: str, snapshot: Snapshot, masks: Masks) -> Iterator[str]:
    with closing(open_read_only(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            quoted = '"' + table.replace('"', '""') + '"'
            cursor = connection.execute(f"SELECT * FROM {quoted}")  # noqa: S608 - a table's own name, quoted
            columns = [column[0] for column in cursor.description]
            for row in cursor:
                values = {
                    name: cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell
                    for name, cell in zip(columns, row, strict=True)
                    if cell is not None
                }
                for name in _masked(values, masks):
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
    """Return the dotted paths of the members that masking changes."""
    body = json.dumps(value).encode()
    masked_body = masks(body)
    return (
        []
        if masked_body == body
        else [
            difference.dotted
            for difference in differences_between(value, json.loads(masked_body), pair=_pair, is_other=ne)
        ]
    )


def _pair(value: Any, masked: Any) -> Pairs | None:
    """Pair the members of a value with those of the masked value; a key that only the masked value has is left out."""
    if isinstance(value, dict) and isinstance(masked, dict):
        return [(key, member, masked.get(key)) for key, member in value.items()]
    return pair_equal_lengths(value, masked)
