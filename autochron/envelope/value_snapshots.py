"""Snapshots of values: the bytes of a value at one time, to be compared with its bytes at a later time."""

from __future__ import annotations

LARGE = 1 << 20
"""The size of a snapshot in bytes from which on only its digest is kept."""


class LargeSnapshot:
    """The digest of a snapshot that is too large to be kept. It equals the bytes that have this digest."""

    __slots__ = ("_digest", "_size")

    def __init__(self, snapshot: bytes) -> None:
        self._size = len(snapshot)
        self._digest = _digest_of(snapshot)

    def __len__(self) -> int:
        """Return the size of the snapshot in bytes."""
        return self._size

    def __eq__(self, other: object) -> bool:
        return type(other) is bytes and len(other) == self._size and _digest_of(other) == self._digest

    def __hash__(self) -> int:
        return hash(self._digest)


ValueSnapshot = bytes | LargeSnapshot


def _digest_of(snapshot: bytes) -> bytes:
    from hashlib import blake2b  # lazy: hardly any value is so large

    return blake2b(snapshot).digest()
