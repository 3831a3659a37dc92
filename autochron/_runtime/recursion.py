"""Frames for our own work at the end of a program that left itself few of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_ENOUGH = 1000
"""Python's own limit."""


@contextmanager
def enough_frames() -> Iterator[None]:
    """Raise a low recursion limit for the block of a `with` statement."""
    limit = sys.getrecursionlimit()
    if limit >= _ENOUGH:
        yield
        return
    sys.setrecursionlimit(_ENOUGH)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
