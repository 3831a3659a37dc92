-- A store of schema version 1, as `sqlite3 t.db .dump` gives it.
PRAGMA application_id=1094928466;
PRAGMA user_version=1;
BEGIN TRANSACTION;
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
INSERT INTO "crossing" VALUES(4294967297,'look_up',1,'tool','0',NULL,'agent.py:look_up',34092881,36275,'{"order":"48213"}','returned',NULL,'{"order":"48213","cents":1295}',NULL,NULL,NULL,NULL,0,NULL,NULL);
INSERT INTO "crossing" VALUES(4294967298,'refund',1,'tool','0',NULL,'agent.py:refund',36276340,28052,'{"cents":129500,"order":"48213"}','raised',NULL,'{"$error":"builtins:ValueError","args":["129500 is too much"],"traceback":[["agent.py",5,"refund",5,21,61]]}',NULL,NULL,NULL,NULL,0,NULL,NULL);
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
CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    crossing INTEGER NOT NULL,
    -- One item a line.
    items NOT NULL,
    -- JSON array of the items' lengths, where one of them holds a line break; they then follow each other
    -- directly.
    lengths TEXT
);
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
INSERT INTO "trace" VALUES(1,'01M7XRTQAKYFXKP9J33AANZ43H',NULL,'2026-11-21T00:41:48.115Z','{"id":"01M7XRTQAKYFXKP9J33AANZ43H","created":"2026-11-21T00:41:48.115Z","command":{"mode":"script","target":"agent.py","arguments":[],"folder":"."},"name":null,"python":"3.12.1","autochron":"0.1.0","rules":"20bd296f20be6cfa9812d2aff47ce1a56e183accf882d06abbec10b47b4ce022"}','{"status":0,"error":null,"stdout":"bnVsbA==","stdin":"bnVsbA==","unwoven_tools":[],"connections":[],"ledger":[],"versions":[],"environment":[],"credentials":[],"lost":0}','{"text":"{''order'': ''48213'', ''cents'': 1295}\n129500 is too much\n"}','null',0,2,497);
CREATE INDEX exchange_crossing ON exchange (crossing);
CREATE INDEX item_crossing ON item (crossing);
COMMIT;
