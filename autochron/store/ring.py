"""A ring of bytes in memory that two processes share: one of them writes messages, the other one reads them.

The memory belongs to no descriptor, so a program that closes or reuses its descriptors can't harm it. What is in it
outlives the process that wrote it. The writer copies the bytes first and then moves `HEAD`, in one aligned store of
eight bytes; the reader looks at `HEAD` first. Where a processor shows the two stores in another order (arm64), the
checksum of the record tells, and the record is read again a moment later. The position in the ring is part of the
checksum, so a record of an earlier round is never taken for a new one.

A message that is larger than a quarter of the ring is sent in pieces.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final

CONTROL: Final = 128
"""Bytes before the ring: the two counters, each in a cache line of its own."""

HEAD: Final = 0
"""Index of the word that counts the bytes that were ever written."""

TAIL: Final = 8
"""Index of the word that counts the bytes that were ever read."""

_RECORD: Final = Struct("=QII")
"""Before the bytes of a record: its position, its length and flags, and the checksum of all that."""

_CHECKED: Final = Struct("=QI")
_FIRST: Final = 1 << 31
_LAST: Final = 1 << 30
_LENGTH: Final = _LAST - 1


class Ring:
    """One direction between two processes; each side has one such object over the same memory.

    Neither side may be used by two threads at once.
    """

    def __init__(self, memory: memoryview) -> None:
        """Take the memory: `CONTROL` bytes of zero and then the ring, in a multiple of 8."""
        self._words = memory[:CONTROL].cast("Q")
        self._bytes = memory[CONTROL:]
        self._size = len(self._bytes)
        self._parts: list[bytes] = []

    @property
    def head(self) -> int:
        """Return how many bytes were ever written."""
        return self._words[HEAD]

    @property
    def tail(self) -> int:
        """Return how many bytes were ever read."""
        return self._words[TAIL]

    def clear(self) -> None:
        """Begin anew; neither side may be at it."""
        self._parts = []
        self._words[HEAD] = self._words[TAIL] = 0

    def pieces(self, message: bytes) -> Iterator[tuple[memoryview, int]]:
        """Yield the pieces of a message with their flags, for `put`."""
        view, step = memoryview(message), self._size // 4
        for start in range(0, max(len(view), 1), step):
            flags = (_FIRST if start == 0 else 0) | (_LAST if start + step >= len(view) else 0)
            yield view[start : start + step], flags

    def put(self, piece: memoryview, flags: int) -> bool:
        """Write a piece; return False where there is no room for it yet."""
        length = len(piece)
        head = self._words[HEAD]
        taken = _RECORD.size + (length + 7 & ~7)
        if taken > self._size - (head - self._words[TAIL]):
            return False
        kind = length | flags
        check = zlib.crc32(piece, zlib.crc32(_CHECKED.pack(head, kind)))
        self._copy_in(head, memoryview(_RECORD.pack(head, kind, check)))
        self._copy_in(head + _RECORD.size, piece)
        self._words[HEAD] = head + taken
        return True

    def take(self) -> bytes | None:
        """Read the next message; None where there is none that is whole yet."""
        while (found := self._record()) is not None:
            piece, kind = found
            if kind & _FIRST:  # of one that was given up halfway nothing is kept
                self._parts = []
            self._parts.append(piece)
            if kind & _LAST:
                parts, self._parts = self._parts, []
                return parts[0] if len(parts) == 1 else b"".join(parts)
        return None

    def _record(self) -> tuple[bytes, int] | None:
        head, tail = self._words[HEAD], self._words[TAIL]
        if head - tail < _RECORD.size:
            return None
        position, kind, check = _RECORD.unpack(self._copy_out(tail, _RECORD.size))
        length = kind & _LENGTH
        taken = _RECORD.size + (length + 7 & ~7)
        if position != tail or taken > head - tail:
            return None
        piece = self._copy_out(tail + _RECORD.size, length)
        if zlib.crc32(piece, zlib.crc32(_CHECKED.pack(position, kind))) != check:
            return None
        self._words[TAIL] = tail + taken
        return piece, kind

    def _copy_in(self, position: int, data: memoryview) -> None:
        start = position % self._size
        room = self._size - start
        if len(data) <= room:
            self._bytes[start : start + len(data)] = data
        else:
            self._bytes[start:] = data[:room]
            self._bytes[: len(data) - room] = data[room:]

    def _copy_out(self, position: int, length: int) -> bytes:
        start = position % self._size
        end = start + length
        if end <= self._size:
            return bytes(self._bytes[start:end])
        return bytes(self._bytes[start:]) + bytes(self._bytes[: end - self._size])
