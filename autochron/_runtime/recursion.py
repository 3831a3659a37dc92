"""Ensure a recursion limit that our own code can run with, even if the program has lowered it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_ENOUGH = 1000
"""Python's default limit."""


@contextmanager
def enough_frames() -> Iterator[None]:
    """Raise a recursion limit that is below the default, for the block of a `with` statement."""
    limit = sys.getrecursionlimit()
    if limit >= _ENOUGH:
        yield
        return
    sys.setrecursionlimit(_ENOUGH)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
