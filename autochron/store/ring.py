"""A ring of bytes in shared memory: one process writes messages into it, another one reads them.

No descriptor belongs to the memory, so a program that closes or reuses its descriptors can't harm it. The messages outlive
the process that wrote them. The writer first copies the bytes, then moves `HEAD` with one aligned store of eight bytes. The
reader reads `HEAD` first. On arm64 the reader may see the two stores in the other order. Then the checksum of the record is
wrong, and the record is read again a moment later. The checksum covers the position in the ring, so that a record of an
earlier round is never taken for a new one.

A message larger than a quarter of the ring is sent in pieces.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final

CONTROL: Final = 128
"""Bytes before the ring: the two counters, each in a cache line of its own."""

HEAD: Final = 0
"""Index of the word with the total of bytes written."""

TAIL: Final = 8
"""Index of the word with the total of bytes read."""

_RECORD: Final = Struct("=QII")
"""The head of a record: position, length with flags, and a checksum of these and of the bytes that follow."""

_CHECKED: Final = Struct("=QI")
_FIRST: Final = 1 << 31
_LAST: Final = 1 << 30
_LENGTH: Final = _LAST - 1


class Ring:
    """One direction between two processes; each side has one such object over the same memory.

    Neither side may be used by two threads at once.
    """

    def __init__(self, memory: memoryview) -> None:
        """Use a piece of memory: `CONTROL` zero bytes, then the ring, whose size is a multiple of 8."""
        self._words = memory[:CONTROL].cast("Q")
        self._bytes = memory[CONTROL:]
        self._size = len(self._bytes)
        self._parts: list[bytes] = []

    @property
    def head(self) -> int:
        """The total of bytes written, which is the position of the writer."""
        return self._words[HEAD]

    @property
    def tail(self) -> int:
        """The total of bytes read, which is the position of the reader."""
        return self._words[TAIL]

    def clear(self) -> None:
        """Empty the ring; neither side may be using it."""
        self._parts = []
        self._words[HEAD] = self._words[TAIL] = 0

    def pieces(self, message: bytes) -> Iterator[tuple[memoryview, int]]:
        """Yield the pieces of a message with their flags, for `put`."""
        view, step = memoryview(message), self._size // 4
        for start in range(0, max(len(view), 1), step):
            flags = (_FIRST if start == 0 else 0) | (_LAST if start + step >= len(view) else 0)
            yield view[start : start + step], flags

    def put(self, piece: memoryview, flags: int) -> bool:
        """Write a piece; return False if there is no room for it yet."""
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
        """Read the next message; return None if none is complete yet."""
        while (record := self._record()) is not None:
            piece, kind = record
            if kind & _FIRST:  # drops the pieces of a message that was never finished
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
