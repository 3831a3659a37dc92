"""What a list of traces shows of each beside its summary: when it ended, its calls of models, and the first request to one.

Of a SQLite store only these cells are read, so that a store with thousands of traces is listed in about a second.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autochron.errors import StoreError
from autochron.store.database import check, connect_to_read, explained
from autochron.store.reading import Bodies, Read
from autochron.store.rows import SHIFT
from autochron.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from autochron.model import Envelope
    from autochron.ports import Store

FIRST = 3
"""Of how many calls of models the requests are read: the first one may ask for an embedding, which has no message."""

_ENDS = "SELECT id >> 32, max(started + duration) FROM crossing GROUP BY id >> 32"
_CALLS = "SELECT id, input, meta FROM crossing WHERE kind = 'model' ORDER BY id"
_REQUEST = "SELECT request FROM exchange WHERE crossing = ? ORDER BY id LIMIT 1"


@dataclass(slots=True)
class Glance:
    """A trace at a glance.

    Attributes:
        ended: nanoseconds from its start to the end of its last crossing; 0 without crossings.
        metas: JSON object of each call of a model, with `model` and `usage` (see `Envelope.meta`).
        requests: of the first calls of models, the stored body of the request and the input (see `Envelope`).
    """

    ended: int = 0
    metas: list[bytes] = field(default_factory=list)
    requests: list[tuple[bytes, bytes]] = field(default_factory=list)


def glances(store: Store) -> dict[str, Glance]:
    """Return what there is to see of each trace of a store, by its id.

    Raises:
        StoreError: the store can't be read.
    """
    if isinstance(store, SqliteStore):
        return _of_database(store.path)
    return {
        summary.header.id: _of_envelopes(store.envelopes(summary.header.id)) for summary in store.summaries()
    }


def _of_envelopes(envelopes: Iterator[Envelope]) -> Glance:
    glance = Glance()
    for envelope in envelopes:
        glance.ended = max(glance.ended, envelope.started + envelope.duration)
        if envelope.kind == "model":
            glance.metas.append(envelope.meta)
            if len(glance.requests) < FIRST:
                request = envelope.exchanges[0].request if envelope.exchanges else b"null"
                glance.requests.append((request, envelope.input))
    return glance


def _of_database(path: str) -> dict[str, Glance]:
    if not check(path):
        return {}
    try:
        connection = connect_to_read(path)
        try:
            return _read(connection, path)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise explained(error, path) from error


def _read(connection: sqlite3.Connection, path: str) -> dict[str, Glance]:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'trace'").fetchone():
        return {}
    ids = {number: name.decode() for number, name in connection.execute("SELECT number, id FROM trace")}
    by_number = {number: Glance() for number in ids}
    for number, ended in connection.execute(_ENDS):
        if number in by_number and isinstance(ended, int):
            by_number[number].ended = ended
    bodies = Bodies(connection, path)
    for crossing, given, meta in connection.execute(_CALLS):
        glance = by_number.get(crossing >> SHIFT)
        if glance is None:
            continue
        glance.metas.append(_cell(bodies, meta) or b"{}")
        if len(glance.requests) < FIRST:
            request = connection.execute(_REQUEST, (crossing,)).fetchone()
            body = _cell(bodies, request[0]) if request else b""
            glance.requests.append((body or b"null", _cell(bodies, given)))
    return {ids[number]: glance for number, glance in by_number.items()}


def _cell(bodies: Bodies, cell: Read) -> bytes:
    """Return a body; an empty one where the store is damaged there, because the rest can be listed all the same."""
    try:
        return bodies.cell(cell)
    except (StoreError, zlib.error, TypeError):  # the latter two of cells that nobody of us wrote
        return b""
