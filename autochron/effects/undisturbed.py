"""A mark for a thread that is at work on our own files: what it opens is neither redirected nor kept as a program's state."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Busy(threading.local):
    """How deep a thread is inside such work."""

    depth: int = 0


_busy = _Busy()


def is_busy() -> bool:
    """Return whether this thread is at work on our own files."""
    return _busy.depth > 0


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep what the block opens from being redirected, kept or refused."""
    _busy.depth += 1
    try:
        yield
    finally:
        _busy.depth -= 1
