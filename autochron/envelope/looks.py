"""Looks: the bytes of a value at one time, to be compared with its bytes at a later time."""

from __future__ import annotations

LARGE = 1 << 20
"""Bytes of a look from which on only its digest is kept."""


class LargeLook:
    """The digest of a look that is too large to be kept. It equals the bytes that have this digest."""

    __slots__ = ("_digest", "_size")

    def __init__(self, look: bytes) -> None:
        self._size = len(look)
        self._digest = _digest_of(look)

    def __len__(self) -> int:
        """Return the size of the look in bytes."""
        return self._size

    def __eq__(self, other: object) -> bool:
        return type(other) is bytes and len(other) == self._size and _digest_of(other) == self._digest

    def __hash__(self) -> int:
        return hash(self._digest)


Look = bytes | LargeLook


def _digest_of(look: bytes) -> bytes:
    from hashlib import blake2b  # lazy: hardly any value is so large

    return blake2b(look).digest()
