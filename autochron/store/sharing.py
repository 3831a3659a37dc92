"""Find what a body shares with an earlier one of its boundary, so that only its new middle is kept."""

from __future__ import annotations

from msgspec import Struct

from autochron._runtime.common_affixes import common_prefix, common_suffix

LATEST = 4
"""Bodies kept for one boundary: several conversations may take turns in it."""

BOUNDARIES = 256
"""Boundaries (role, name and lane) whose latest bodies are kept."""

VOLUME = 32 << 20
"""Bytes that all kept bodies may take."""

CLOSE = 1024
"""Where a body differs from a kept one by no more bytes, or by a fiftieth, no better one is looked for."""


class SharedPart(Struct, frozen=True):
    """What a new body shares with a kept one."""

    base: int
    """Number of the kept body."""
    prefix: int
    suffix: int
    same: bool


class _KeptBody(Struct):
    number: int
    body: bytes
    suffix: int
    """What it shared at its end with its own base: the next body is likely to share as much."""


class Windows:
    """The latest bodies of each boundary, bounded in number and volume."""

    __slots__ = ("_kept", "_volume")

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, str], list[_KeptBody]] = {}
        self._volume = 0

    def clear(self) -> None:
        """Forget every body."""
        self._kept.clear()
        self._volume = 0

    def match(self, key: tuple[str, str, str], body: bytes) -> SharedPart | None:
        """Return the kept body that shares most with this one, where that is at least half of it."""
        best: SharedPart | None = None
        size = len(body)
        for kept in self._kept.get(key, ()):
            other = kept.body
            limit = min(size, len(other))
            prefix = common_prefix(body, other, limit, len(other) - kept.suffix)
            rest = limit - prefix
            suffix = common_suffix(body, other, rest, kept.suffix) if rest else 0
            shared = prefix + suffix
            if best is None or shared > best.prefix + best.suffix:
                best = SharedPart(kept.number, prefix, suffix, prefix == size == len(other))
            if size - shared <= CLOSE or shared * 50 >= size * 49:
                break
        if best is None or (best.prefix + best.suffix) * 2 < size:
            return None
        return best

    def keep(
        self, key: tuple[str, str, str], number: int, body: bytes, match: SharedPart | None = None
    ) -> None:
        """Make a body a base for later ones of its boundary."""
        latest = self._kept.pop(key, None) or []
        latest.insert(0, _KeptBody(number, body, match.suffix if match else 0))
        self._volume += len(body)
        if len(latest) > LATEST:
            self._volume -= len(latest.pop().body)
        self._kept[key] = latest  # at the end: the order of the dict is that of use
        while len(self._kept) > BOUNDARIES or (self._volume > VOLUME and len(self._kept) > 1):
            oldest = self._kept.pop(next(iter(self._kept)))
            self._volume -= sum(len(kept.body) for kept in oldest)
