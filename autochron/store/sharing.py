"""Find what a body shares with an earlier one of its boundary, so that only its new middle is kept."""

from __future__ import annotations

from msgspec import Struct

from autochron._runtime.growing_bodies import GrowingBody, Latest, common_prefix, common_suffix

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


class _KeptBody(GrowingBody, frozen=True):
    number: int


class Windows:
    """The latest bodies of each boundary, bounded in number and volume."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: Latest[tuple[str, str, str], list[_KeptBody]] = Latest(BOUNDARIES, VOLUME)

    def clear(self) -> None:
        """Forget every body."""
        self._kept.clear()

    def match(self, key: tuple[str, str, str], body: bytes) -> SharedPart | None:
        """Return the kept body that shares most with this one, where that is at least half of it."""
        best: SharedPart | None = None
        size = len(body)
        for kept in self._kept.get(key) or ():
            other = kept.raw
            limit = min(size, len(other))
            prefix = common_prefix(other, body, limit, kept.head)
            rest = limit - prefix
            suffix = common_suffix(other, body, rest, kept.tail) if rest else 0
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
        tail = match.suffix if match else 0
        latest = self._kept.get(key) or []
        latest.insert(0, _KeptBody(body, len(body) - tail, tail, number))
        del latest[LATEST:]
        self._kept.put(key, latest, sum([len(kept.raw) for kept in latest]))
