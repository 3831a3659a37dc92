"""The tables of a SQLite store, and the migrations from older versions."""

from __future__ import annotations

APPLICATION = 0x41434852
"""`ACHR` in the file's header: distinguishes a store from other SQLite databases."""

VERSION = 2
"""`PRAGMA user_version`. History: 1, the first; 2, `child`."""

_CHILD = """
-- A row per 65,536 seqs that a child process has taken for its crossings: from 2^31 on, so that the first process needs
-- none. A process that needs more has several, all with its lane.
CREATE TABLE child (
    -- trace.number << 32 | first seq
    id INTEGER PRIMARY KEY,
    -- The lane that the process began in.
    lane TEXT NOT NULL,
    -- JSON object: what it had to say when it ended; NULL while it goes on, and for ever if it was cut off.
    ending TEXT
);
"""

TABLES = f"""
-- Cells: `input`, `value`, `meta`, `changed`, `request`, `body`, `error`, `items`, `headers`, `stdout` and
-- `stdin` hold JSON text, or an integer: the id of a row of `body`. Ids of crossings and bodies are
-- `trace.number << 32 | seq` and `trace.number << 32 | ordinal`, so that what belongs to a trace is one range
-- and needs no index.

-- A row per trace.
CREATE TABLE trace (
    number INTEGER PRIMARY KEY,
    -- 26 characters, sortable by time of creation.
    id TEXT NOT NULL UNIQUE,
    name TEXT,
    -- ISO 8601, UTC.
    created TEXT NOT NULL,
    -- JSON object: command, versions, environment, digest of the rules.
    header TEXT NOT NULL,
    -- JSON object without the bodies below; NULL while the trace goes on, and for ever if it was cut off.
    footer TEXT,
    stdout,
    stdin,
    -- Exit status.
    status INTEGER,
    -- How many crossings it has, and what was written for them, counted as it was written.
    crossings INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0
);

-- A row per crossing.
CREATE TABLE crossing (
    -- trace.number << 32 | seq
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    nth INTEGER NOT NULL,
    kind TEXT NOT NULL,
    lane TEXT NOT NULL,
    -- seq of the enclosing crossing.
    parent INTEGER,
    site TEXT NOT NULL,
    -- Nanoseconds since the trace began, and nanoseconds.
    started INTEGER NOT NULL,
    duration INTEGER NOT NULL,
    input NOT NULL,
    -- returned, raised or streamed
    outcome TEXT NOT NULL,
    -- How a stream ended: returned, raised, abandoned or closed; its items are rows of `item`.
    ending TEXT,
    -- What was returned or raised, by the call or at the end of its stream.
    value,
    -- The parameter whose object was returned.
    argument TEXT,
    meta,
    changed,
    -- NULL is `value`.
    form TEXT,
    reenters INTEGER NOT NULL DEFAULT 0,
    -- JSON arrays; NULL is none.
    masked TEXT,
    opaque TEXT
);

-- A row per HTTP exchange beneath a crossing, in order of id.
CREATE TABLE exchange (
    id INTEGER PRIMARY KEY,
    crossing INTEGER NOT NULL,
    method TEXT NOT NULL,
    url TEXT NOT NULL,
    request NOT NULL,
    status INTEGER NOT NULL,
    headers,
    body,
    error,
    attempts INTEGER NOT NULL,
    complete INTEGER NOT NULL
);
CREATE INDEX exchange_crossing ON exchange (crossing);

-- A row per batch of stream items, in order of id.
CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    crossing INTEGER NOT NULL,
    -- One item a line.
    items NOT NULL,
    -- JSON array of the items' lengths, where one of them holds a line break; they then follow each other
    -- directly.
    lengths TEXT
);
CREATE INDEX item_crossing ON item (crossing);

-- A row per body of more than 512 bytes. Rows are never changed. The body is the first `prefix` bytes of the
-- body `base`, then `middle`, then the last `suffix` bytes of `base`; without a base it is `middle`.
CREATE TABLE body (
    -- trace.number << 32 | ordinal
    id INTEGER PRIMARY KEY,
    base INTEGER,
    prefix INTEGER,
    suffix INTEGER,
    -- Text; a blob where a cut fell inside a character, or where it is compressed (zlib).
    middle NOT NULL,
    -- Length before compression (`sqlar_uncompress(middle, size)` in the sqlite3 shell); NULL is not
    -- compressed.
    size INTEGER
);
{_CHILD}"""

MIGRATIONS: dict[int, str] = {1: _CHILD}
"""From a version to the script that makes the next version of it. They run in one transaction when a store is opened."""
