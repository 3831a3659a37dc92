"""A record, read as far ahead of a replay as is needed to tell crossings apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autochron.model import Envelope
    from autochron.ports import Record

AHEAD = 8192
"""Envelopes that are read beyond the furthest one that was met, and which a late lane may lag behind."""

LEAST = 128
"""As many are read whatever their size."""

VOLUME = 16 << 20
"""Bytes of their inputs, beyond which no more than that are read ahead."""

_BATCH = 1024

SHORT = 4096
"""A record of no more crossings stays in memory while it is replayed."""


class Marks:
    """A set of places in a record: a bit each."""

    __slots__ = ("_bits",)

    def __init__(self) -> None:
        self._bits = bytearray(64)

    def add(self, seq: int) -> None:
        """Put in."""
        at = seq >> 3
        if at >= len(self._bits):
            self._bits.extend(bytes(max(at + 1 - len(self._bits), len(self._bits))))
        self._bits[at] |= 1 << (seq & 7)

    def discard(self, seq: int) -> None:
        """Take out."""
        at = seq >> 3
        if at < len(self._bits):
            self._bits[at] &= ~(1 << (seq & 7))

    def __contains__(self, seq: int) -> bool:
        at = seq >> 3
        return at < len(self._bits) and bool(self._bits[at] & (1 << (seq & 7)))


def marks(size: int) -> Marks | set[int]:
    """Make a set of places in a record of a size."""
    return set() if size <= SHORT else Marks()


class Window:
    """The envelopes that were read and not yet let go.

    Attributes:
        by_seq: those at hand.
        is_whole: whether all of the record has been read.
        last: the place up to which it was read.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.by_seq: dict[int, Envelope] = {}
        self.is_whole = False
        self.last = 0
        self._volume = 0
        self._source: Iterator[Envelope] = iter(record)

    def read(self, reached: int) -> Iterable[Envelope]:
        """Read on, where that is due, once a replay has got to a place; return what is new."""
        # At once: hardly any record of a test is longer.
        if self.record.is_whole and self.record.size <= SHORT and not self.last:
            self.by_seq = {envelope.seq: envelope for envelope in self._source}
            self.is_whole = True
            return list(self.by_seq.values())
        if self.is_whole or (self.last >= reached + AHEAD - _BATCH and self.last):
            return ()
        return self._more(reached + LEAST, reached + AHEAD)

    def _more(self, least: int, most: int) -> Iterator[Envelope]:
        for envelope in self._source:
            self.last = envelope.seq
            self._volume += len(envelope.input)
            self.by_seq[envelope.seq] = envelope
            yield envelope
            if self.last >= most or (self._volume > VOLUME and self.last >= least):
                return
        self.is_whole = True

    def rest(self) -> Iterator[Envelope]:
        """Read what is left, one by one, without keeping it."""
        for envelope in self._source:
            self.last = envelope.seq
            yield envelope
        self.is_whole = True

    def let_go(self, envelope: Envelope) -> None:
        """Keep an envelope no longer."""
        if self.by_seq.pop(envelope.seq, None) is not None:
            self._volume -= len(envelope.input)

    def get(self, seq: int) -> Envelope:
        """Return an envelope, from the record where it was let go."""
        envelope = self.by_seq.get(seq)
        return self.record.get(seq) if envelope is None else envelope
