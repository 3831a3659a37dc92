"""Ids of traces."""

from __future__ import annotations

from functools import lru_cache

from autochron import _originals

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_TIME = tuple(range(40, -1, -10))
_CHANCE = tuple(range(70, -1, -10))


def new_id() -> str:
    """Make a ULID: 26 characters that sort by time of creation."""
    chance = int.from_bytes(_originals.urandom(10), "big")
    return _moment(_originals.time_ns() // 1_000_000) + "".join(
        [_PAIRS[chance >> shift & 1023] for shift in _CHANCE]
    )


@lru_cache(maxsize=1)
def _moment(milliseconds: int) -> str:
    return "".join([_PAIRS[milliseconds >> shift & 1023] for shift in _TIME])
