"""Make the ids of traces."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache

from autochron._runtime import unpatched

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_TIME = tuple(range(40, -1, -10))
_CHANCE = tuple(range(70, 19, -10))


def new_id() -> str:
    """Make a ULID: 26 characters that sort by time of creation. Ids of one millisecond and process are consecutive."""
    series, following = _series(unpatched.time_ns() // 1_000_000, unpatched.getpid())
    nth = following()
    return f"{series}{_PAIRS[nth >> 10 & 1023]}{_PAIRS[nth & 1023]}"


@lru_cache(maxsize=1)
def _series(milliseconds: int, _process: int) -> tuple[str, Callable[[], int]]:
    """Draw the common part of the ids of one millisecond and process, and the counter for the rest."""
    chance = int.from_bytes(unpatched.urandom(10), "big")
    first = [_PAIRS[milliseconds >> shift & 1023] for shift in _TIME]
    drawn = [_PAIRS[chance >> shift & 1023] for shift in _CHANCE]
    return "".join(first + drawn), itertools.count(chance & 0x7FFFF).__next__


def id_of(milliseconds: int, chance: int) -> str:
    """Make the ULID of a time and 80 bits, for a trace that comes from elsewhere: it has the same id whenever it comes."""
    first = [_PAIRS[milliseconds >> shift & 1023] for shift in _TIME]
    drawn = [_PAIRS[chance >> shift & 1023] for shift in range(70, -1, -10)]
    return "".join(first + drawn)
