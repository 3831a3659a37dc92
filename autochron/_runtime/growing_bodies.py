"""What two growing bodies share, and which bodies are kept to be compared with later ones.

The inputs of one boundary mostly continue each other, as the requests of a conversation do. Redaction scans only what is new
in one, and the store keeps only that.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from msgspec import Struct

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

FIRST_STEP = 64


def common_prefix(first: bytes, second: bytes, limit: int, hint: int = 0) -> int:
    """Return how many leading bytes two bodies have in common, `limit` at most.

    `startswith` with a view compares in C and copies nothing, so the cost is one memcmp over what is common
    plus some thirty calls. `hint` is a length that is likely to be common.
    """
    view = memoryview(second)
    low, step, high = 0, FIRST_STEP, limit
    if 0 < hint <= limit and first.startswith(view[:hint]):
        low = hint
    while low < limit:
        high = min(low + step, limit)
        if not first.startswith(view[low:high], low):
            break
        low = high
        step += step
    while high - low > 1:
        middle = (low + high) >> 1
        if first.startswith(view[low:middle], low):
            low = middle
        else:
            high = middle
    return low


def common_suffix(first: bytes, second: bytes, limit: int, hint: int = 0) -> int:
    """Return how many trailing bytes two bodies have in common, `limit` at most; see `common_prefix`."""
    view = memoryview(second)
    end, other_end = len(first), len(second)
    low, step, high = 0, FIRST_STEP, limit
    if 0 < hint <= limit and first.startswith(view[other_end - hint :], end - hint):
        low = hint
    while low < limit:
        high = min(low + step, limit)
        if not first.startswith(view[other_end - high : other_end - low], end - high):
            break
        low = high
        step += step
    while high - low > 1:
        middle = (low + high) >> 1
        if first.startswith(view[other_end - middle : other_end - low], end - middle):
            low = middle
        else:
            high = middle
    return low


class GrowingBody(Struct, frozen=True):
    """A body that later ones of its boundary are likely to continue.

    `head` and `tail` are how many bytes it shared at its start and at its end with the one before: the next body is likely to
    share as much, which is tried first.
    """

    raw: bytes
    head: int
    tail: int

    def shared_prefix(self, body: bytes, limit: int) -> int:
        """Return how many leading bytes another body shares, `limit` at most."""
        return common_prefix(self.raw, body, limit, self.head)

    def shared_suffix(self, body: bytes, limit: int) -> int:
        """Return how many trailing bytes another body shares, `limit` at most."""
        return common_suffix(self.raw, body, limit, self.tail)


class Latest(Generic[K, V]):
    """The values that were put last, bounded in number and in bytes; the last one always stays.

    Args:
        most: how many values are kept.
        volume: how many bytes they may take together, as `put` says; 0 where bytes aren't counted.
    """

    __slots__ = ("_most", "_sizes", "_values", "_volume", "volume")

    def __init__(self, most: int, volume: int = 0) -> None:
        self._most = most
        self._volume = volume
        self._values: dict[K, V] = {}
        """In the order in which they were put."""
        self._sizes: dict[K, int] = {}
        self.volume = 0
        """Bytes of all values."""

    def __len__(self) -> int:
        """Return how many values are kept."""
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return the value of a key, where it is kept."""
        return self._values.get(key)

    def pop(self, key: K) -> V | None:
        """Forget the value of a key, and return it."""
        self.volume -= self._sizes.pop(key, 0)
        return self._values.pop(key, None)

    def put(self, key: K, value: V, size: int = 0) -> None:
        """Keep a value of `size` bytes as the newest, instead of the one that the key had, and forget the oldest."""
        values = self._values
        values.pop(key, None)
        values[key] = value
        if self._volume:
            self.volume += size - self._sizes.get(key, 0)
            self._sizes[key] = size
        while len(values) > self._most or (self.volume > self._volume and len(values) > 1):
            try:
                oldest = next(iter(values))
            except (RuntimeError, StopIteration):  # another thread has put or forgotten one meanwhile
                continue
            self.pop(oldest)

    def clear(self) -> None:
        """Forget every value."""
        self._values.clear()
        self._sizes.clear()
        self.volume = 0
