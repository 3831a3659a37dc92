"""Turn envelopes into rows. Equal large bodies are stored once; of growing ones only the new part is stored."""

from __future__ import annotations

import zlib
from _blake2 import blake2b  # not hashlib, which loads OpenSSL
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from autochron._runtime.growing_bodies import Latest
from autochron.model import Abandoned, Closed, Envelope, Exchange, Footer, Raised, Returned, Streamed
from autochron.store.sharing import Windows

INLINE = 512
"""Bytes of a body up to which it is stored in the row that it belongs to."""

COMPRESSED = 4096
"""Bytes above which the new part of a body is compressed, if that saves a quarter."""

DIGESTS = 32768
"""Whole bodies that a writer remembers by their digest, at most."""

SHIFT = 32
"""A crossing's id is `trace.number << SHIFT | seq`."""

Cell: TypeAlias = int | str | bytes | None
Operation: TypeAlias = Envelope | tuple[int, Sequence[bytes]]
"""An envelope that was put, or (seq, items): items that were added to a stream."""

_encode = msgspec.json.encode


def text(body: bytes) -> str | bytes:
    """Return a body as text if it is UTF-8, so that the sqlite3 shell and SQLite's JSON functions can read it."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


class Rows:
    """The rows of one commit; `size` is the number of bytes that they take, roughly."""

    __slots__ = ("bodies", "crossings", "dropped", "exchanges", "footer", "items", "size")

    def __init__(self) -> None:
        self.crossings: dict[int, tuple[Any, ...]] = {}
        self.exchanges: dict[int, list[tuple[Any, ...]]] = {}
        self.items: list[tuple[Any, ...]] = []
        self.bodies: list[tuple[Any, ...]] = []
        self.dropped: set[int] = set()
        """Crossings whose earlier stream items are replaced."""
        self.footer: tuple[Any, ...] | None = None
        self.size = 0


class RowBuilder:
    """Makes the rows of one trace.

    `last` is the id of the newest body row that it knows. If the store has another one, or the rows could not be written, the
    caller has to call `reset`, since no row may build on one that isn't in the store.
    """

    def __init__(self, number: int) -> None:
        self._first = number << SHIFT
        self._windows = Windows()
        self._digests: Latest[bytes, int] = Latest(DIGESTS)
        self._rows = Rows()
        self.last = self._first

    def reset(self, last: int) -> None:
        """Forget all bodies; the next one gets the id after `last`."""
        self._windows.clear()
        self._digests.clear()
        self.last = last

    def count_from(self, last: int) -> None:
        """Continue ids after `last`, and go on building on known bodies."""
        self.last = last

    def build(self, operations: Sequence[Operation], footer: Footer | None = None) -> Rows:
        """Make the rows for operations, in their order."""
        rows = self._rows = Rows()
        for operation in operations:
            if isinstance(operation, Envelope):
                self._crossing(operation)
            else:
                self._items(self._first | operation[0], operation[1])
        if footer is not None:
            rest = msgspec.structs.replace(footer, stdout=b"null", stdin=b"null")
            rows.footer = (
                _encode(rest).decode(),
                self.cell(footer.stdout),
                self.cell(footer.stdin),
                footer.status,
            )
        return rows

    def cell(self, body: bytes | None, key: tuple[str, str, str] | None = None) -> Cell:
        """Return the cell for a body: its text, or the id of a body row. `key` names the series that it may continue."""
        if body is None:
            return None
        if len(body) > INLINE:
            return self._shared(body, key) if key else self._whole(body)
        self._rows.size += len(body)
        return text(body)

    def _crossing(self, envelope: Envelope) -> None:
        rows, number = self._rows, self._first | envelope.seq
        rows.size += 120
        name, lane, outcome = envelope.name, envelope.lane, envelope.outcome
        ending: str | None = None
        last: Returned | Raised | Abandoned | Closed
        if isinstance(outcome, Streamed):
            outcome_kind, last = "streamed", outcome.end
            ending = type(last).__name__.lower()
            if outcome.items:
                rows.dropped.add(number)
                if rows.items:
                    rows.items = [row for row in rows.items if row[0] != number]
                self._items(number, outcome.items)
        else:
            outcome_kind, last = type(outcome).__name__.lower(), outcome
        value = argument = None
        if isinstance(last, Returned):
            value, argument = self.cell(last.value), last.argument
        elif isinstance(last, Raised):
            value = self.cell(last.error)
        rows.crossings[number] = (
            number,
            name,
            envelope.nth,
            envelope.kind,
            lane,
            envelope.parent,
            envelope.site,
            envelope.started,
            envelope.duration,
            self.cell(envelope.input, ("input", name, lane)),
            outcome_kind,
            ending,
            value,
            argument,
            None if envelope.meta == b"{}" else self.cell(envelope.meta),
            self.cell(envelope.changed),
            None if envelope.form == "value" else envelope.form,
            envelope.reenters,
            _encode(envelope.masked).decode() if envelope.masked else None,
            _encode(envelope.opaque).decode() if envelope.opaque else None,
        )
        if envelope.exchanges:
            key = ("request", name, lane)
            rows.exchanges[number] = [
                self._exchange(number, exchange, key) for exchange in envelope.exchanges
            ]
        else:
            rows.exchanges.pop(number, None)

    def _exchange(self, number: int, exchange: Exchange, key: tuple[str, str, str]) -> tuple[Any, ...]:
        self._rows.size += 30 + len(exchange.url)
        return (
            number,
            exchange.method,
            exchange.url,
            self.cell(exchange.request, key),
            exchange.status,
            self.cell(_encode(exchange.headers)) if exchange.headers else None,
            None if exchange.body == b"null" else self.cell(exchange.body),
            self.cell(exchange.error),
            exchange.attempts,
            exchange.complete,
        )

    def _items(self, number: int, items: Sequence[bytes]) -> None:
        if not items:
            return
        lines = b"\n".join(items)
        lengths = None
        if lines.count(b"\n") != len(items) - 1:
            lines, lengths = b"".join(items), _encode([len(item) for item in items]).decode()
        self._rows.items.append((number, self.cell(lines), lengths))

    def _shared(self, body: bytes, key: tuple[str, str, str]) -> int:
        """Add a row with the new part of a body that continues others with the same key; return its id."""
        match = self._windows.match(key, body)
        if match is None:
            number = self._whole(body)
            self._windows.keep(key, number, body)
            return number
        if match.same:
            return match.base
        number = self._row(
            body[match.prefix : len(body) - match.suffix], match.base, match.prefix, match.suffix
        )
        self._windows.keep(key, number, body, match)
        return number

    def _whole(self, body: bytes) -> int:
        """Add a row with a whole body, unless an equal one was added; return its id."""
        digest = blake2b(body, digest_size=16).digest()
        number = self._digests.get(digest)
        if number is None:
            number = self._row(body, None, None, None)
            self._digests.put(digest, number)
        return number

    def _row(self, middle: bytes, base: int | None, prefix: int | None, suffix: int | None) -> int:
        self.last += 1
        kept: str | bytes = text(middle)
        size = None
        if len(middle) > COMPRESSED:
            packed = zlib.compress(middle, 1)
            if len(packed) * 4 <= len(middle) * 3:
                kept, size = packed, len(middle)
        self._rows.size += len(kept) + 16
        self._rows.bodies.append((self.last, base, prefix, suffix, kept, size))
        return self.last
