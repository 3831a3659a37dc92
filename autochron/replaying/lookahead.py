"""A record that is read ahead of a replay, only as far as is needed to match crossings with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autochron.model import Envelope
    from autochron.ports import Record

AHEAD = 8192
"""The number of envelopes that are read beyond the furthest one that was met. A late lane may lag behind by as many."""

LEAST = 128
"""The number of envelopes that are read ahead whatever their size."""

VOLUME = 16 << 20
"""Bytes of the inputs at hand, beyond which no more than `LEAST` envelopes are read ahead."""

_BATCH = 1024

SHORT = 4096
"""A record of at most so many crossings stays in memory while it is replayed."""


class Marks:
    """A set of `seq` numbers that takes one bit for each."""

    __slots__ = ("_bits",)

    def __init__(self) -> None:
        self._bits = bytearray(64)

    def add(self, seq: int) -> None:
        """Add a number."""
        at = seq >> 3
        if at >= len(self._bits):
            self._bits.extend(bytes(max(at + 1 - len(self._bits), len(self._bits))))
        self._bits[at] |= 1 << (seq & 7)

    def discard(self, seq: int) -> None:
        """Remove a number, if it is in the set."""
        at = seq >> 3
        if at < len(self._bits):
            self._bits[at] &= ~(1 << (seq & 7))

    def __contains__(self, seq: int) -> bool:
        at = seq >> 3
        return at < len(self._bits) and bool(self._bits[at] & (1 << (seq & 7)))


def marks(size: int) -> Marks | set[int]:
    """Return an empty set for the `seq` numbers of a record of `size` crossings."""
    return set() if size <= SHORT else Marks()


class Window:
    """The envelopes of a record that were read and not yet let go.

    Attributes:
        by_seq: these envelopes, by `seq`.
        is_whole: whether the record was read to its end.
        last: the `seq` of the envelope that was read last.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.by_seq: dict[int, Envelope] = {}
        self.is_whole = False
        self.last = 0
        self._volume = 0
        self._source: Iterator[Envelope] = iter(record)

    def read(self, reached: int) -> Iterable[Envelope]:
        """Read on if that is due, and return the new envelopes. They may be read only as the result is iterated.

        Args:
            reached: the furthest `seq` that the replay has met.
        """
        # A short record is read at once: hardly any record of a test is longer.
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
        """Yield the envelopes that were not read yet, without keeping them."""
        for envelope in self._source:
            self.last = envelope.seq
            yield envelope
        self.is_whole = True

    def let_go(self, envelope: Envelope) -> None:
        """Drop an envelope from memory."""
        if self.by_seq.pop(envelope.seq, None) is not None:
            self._volume -= len(envelope.input)

    def get(self, seq: int) -> Envelope:
        """Return an envelope, from the record if it is not in memory."""
        envelope = self.by_seq.get(seq)
        return self.record.get(seq) if envelope is None else envelope
