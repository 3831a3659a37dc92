"""Turn rows back into envelopes in one pass, with only a few bodies in memory."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from autochron._runtime.growing_bodies import Latest
from autochron._runtime.lazy import late_decoder
from autochron.errors import StoreError
from autochron.model import Abandoned, Closed, Envelope, Exchange, Footer, Raised, Returned, Streamed
from autochron.store.beside import checked
from autochron.store.processes import FIRST, Order, bounds_of, bounds_of_run, run_of
from autochron.store.rows import SHIFT

Read: TypeAlias = int | bytes | None
"""A cell as it is read: text comes as bytes, and an integer is the id of a body."""

BODIES = 2048
"""Bodies that are kept at most: others may build on them."""

VOLUME = 32 << 20
"""Bytes that the kept bodies may take."""

CROSSINGS = "SELECT * FROM crossing WHERE id BETWEEN ? AND ? ORDER BY id"
EXCHANGES = "SELECT * FROM exchange WHERE crossing BETWEEN ? AND ? ORDER BY crossing, id"
ITEMS = "SELECT crossing, items, lengths FROM item WHERE crossing BETWEEN ? AND ? ORDER BY crossing, id"
BODY = "SELECT base, prefix, suffix, middle, size FROM body WHERE id = ?"

_texts = late_decoder(tuple[str, ...])
_pairs = late_decoder(tuple[tuple[str, str], ...])
_lengths = late_decoder(list[int])
_footer = late_decoder(Footer)


class Bodies:
    """Rebuilds bodies from their rows.

    A row may refer to an earlier row, mostly to the latest one of the same boundary, whose body is still kept. If the body
    isn't kept, it is rebuilt along its chain of rows.
    """

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self._path = path
        self._kept: Latest[int, bytes] = Latest(BODIES, VOLUME)

    def cell(self, cell: Read) -> bytes:
        """Return the body that a cell holds or refers to.

        Raises:
            StoreError: the body can't be rebuilt.
        """
        return self.body(cell) if isinstance(cell, int) else cell or b""

    def body(self, number: int) -> bytes:
        """Return a body by the id of its row.

        Raises:
            StoreError: it can't be rebuilt.
        """
        kept = self._at_hand(number)
        if kept is not None:
            return kept
        chain: list[tuple[int, int, int, bytes]] = []
        body: bytes | None = None
        base: int | None = number
        while base is not None and body is None:
            row = self._connection.execute(BODY, (base,)).fetchone()
            if row is None:
                raise self._damaged(base)
            below, prefix, suffix, middle, size = row
            if size is not None:
                middle = zlib.decompress(middle)
            if below is None:
                body = middle
            elif below >= base:
                raise self._damaged(base)
            else:
                chain.append((base, prefix, suffix, middle))
                body = self._at_hand(below)
            base = below
        if body is None:
            raise self._damaged(number)
        while chain:
            base, prefix, suffix, middle = chain.pop()
            if prefix + suffix > len(body):
                raise self._damaged(base)
            body = b"".join((body[:prefix], middle, body[len(body) - suffix :]))
        self._kept.put(number, body, len(body))
        return body

    def _at_hand(self, number: int) -> bytes | None:
        body = self._kept.get(number)
        if body is not None:
            self._kept.put(number, body, len(body))  # the newest again
        return body

    def checked_meta(self, meta: bytes) -> bytes:
        """Return the `meta` of an envelope as it is.

        Raises:
            StoreError: it has another form than readers expect.
        """
        try:
            return checked(meta)
        except msgspec.MsgspecError as error:
            raise StoreError(
                f"{self._path} is damaged: what stands beside an outcome has another form ({error}); "
                "restore the file from a copy"
            ) from error

    def _damaged(self, number: int) -> StoreError:
        return StoreError(
            f"{self._path} is damaged: body {number} can't be rebuilt; restore the file from a copy"
        )


class _Group:
    """The rows of a table that belong to crossings, read crossing by crossing in ascending order.

    `where` is the index of the column with the crossing's id.
    """

    __slots__ = ("_cursor", "_row", "_where")

    def __init__(self, cursor: Iterator[tuple[Any, ...]], where: int) -> None:
        self._cursor = cursor
        self._where = where
        self._row = next(cursor, None)

    def take(self, number: int) -> list[tuple[Any, ...]]:
        """Return the rows of one crossing, and skip those of earlier ones."""
        row, where, rows = self._row, self._where, []
        while row is not None and row[where] <= number:
            if row[where] == number:
                rows.append(row)
            row = next(self._cursor, None)
        self._row = row
        return rows


class _Names(dict[bytes, str]):
    """Decodes each name once: names repeat."""

    def __missing__(self, key: bytes) -> str:
        value = self[key] = key.decode()
        return value


class EnvelopeReader:
    """Reads the envelopes with ids in a range: those of one process, or of one run of seqs."""

    def __init__(self, connection: sqlite3.Connection, bounds: tuple[int, int], bodies: Bodies) -> None:
        self._bodies = bodies
        self._crossings = connection.execute(CROSSINGS, bounds)
        self._exchanges = _Group(connection.execute(EXCHANGES, bounds), 1)
        self._items = _Group(connection.execute(ITEMS, bounds), 0)
        self._names = _Names()

    def __iter__(self) -> Iterator[Envelope]:
        """Yield the envelopes in order of start."""
        mask = (1 << SHIFT) - 1
        names, cell = self._names, self._bodies.cell
        for row in self._crossings:
            number, name, nth, kind, lane, parent, site, started, duration, input_cell, *outcome_cells = row
            meta, changed, form, reenters, masked, opaque = outcome_cells[4:]
            yield Envelope(
                seq=number & mask,
                name=names[name],
                nth=nth,
                kind=names[kind],  # type: ignore[arg-type] # written from a Kind
                lane=names[lane],
                parent=parent,
                site=names[site],
                started=started,
                duration=duration,
                input=cell(input_cell),
                outcome=self._outcome(number, outcome_cells),
                exchanges=tuple([self._exchange(exchange) for exchange in self._exchanges.take(number)]),
                meta=b"{}" if meta is None else self._bodies.checked_meta(cell(meta)),
                changed=None if changed is None else cell(changed),
                form="value" if form is None else names[form],  # type: ignore[arg-type] # written from a Form
                reenters=reenters == 1,
                masked=() if masked is None else _texts.decode(masked),
                opaque=() if opaque is None else _texts.decode(opaque),
            )

    def _outcome(self, number: int, outcome_cells: list[Any]) -> Returned | Raised | Streamed:
        outcome, ending, value, argument = outcome_cells[:4]
        body = self._bodies.cell(value)
        if outcome == b"returned":
            return Returned(body, None if argument is None else argument.decode())
        if outcome == b"raised":
            return Raised(body)
        end: Returned | Raised | Abandoned | Closed
        if ending == b"returned":
            end = Returned(body, None if argument is None else argument.decode())
        elif ending == b"raised":
            end = Raised(body)
        else:
            end = Closed() if ending == b"closed" else Abandoned()
        items: list[bytes] = []
        for _, cell, lengths in self._items.take(number):
            items += _split(self._bodies.cell(cell), lengths)
        return Streamed(tuple(items), end)

    def _exchange(self, row: tuple[Any, ...]) -> Exchange:
        _, _, method, url, request, status, headers, body, error, attempts, complete = row
        cell = self._bodies.cell
        return Exchange(
            method=self._names[method],
            url=self._names[url],
            request=cell(request),
            status=status,
            headers=() if headers is None else _pairs.decode(cell(headers)),
            body=b"null" if body is None else cell(body),
            error=None if error is None else cell(error),
            attempts=attempts,
            complete=complete == 1,
        )


def envelopes(connection: sqlite3.Connection, path: str, number: int) -> Iterator[Envelope]:
    """Yield the envelopes of one trace, in order of start.

    Args:
        connection: a connection to read.
        path: the path of the store, for messages.
        number: the number of the trace.
    """
    bodies, bounds = Bodies(connection, path), bounds_of(number)
    if not is_shared(connection, bounds):
        yield from EnvelopeReader(connection, bounds, bodies)
        return
    order = Order(connection, number)
    readers = {
        run: iter(EnvelopeReader(connection, bounds_of_run(number, run), bodies)) for run in order.runs
    }
    for seq in order.seqs:
        yield order.renumbered(next(readers[run_of(seq)]))


def is_shared(connection: sqlite3.Connection, bounds: tuple[int, int]) -> bool:
    """Return whether child processes wrote some of a trace's crossings."""
    (highest,) = connection.execute(
        "SELECT max(id) FROM crossing WHERE id BETWEEN ? AND ?", bounds
    ).fetchone()
    return highest is not None and highest >= bounds[0] | FIRST


def footer(bodies: Bodies, kept: bytes, stdout: Read, stdin: Read) -> Footer:
    """Decode a footer, and put the two bodies into it that are stored apart."""
    return msgspec.structs.replace(_footer.decode(kept), stdout=bodies.cell(stdout), stdin=bodies.cell(stdin))


def _split(lines: bytes, lengths: bytes | None) -> list[bytes]:
    if lengths is None:
        return lines.split(b"\n")
    items, start = [], 0
    for length in _lengths.decode(lengths):
        items.append(lines[start : start + length])
        start += length
    return items
