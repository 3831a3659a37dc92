"""A mark for a thread that is at work on our own files: what it opens is neither redirected nor kept as a program's state."""

from __future__ import annotations

import threading
from typing import Final


class _Busy(threading.local):
    """How deep a thread is inside such work."""

    depth: int = 0


_busy = _Busy()


def is_busy() -> bool:
    """Return whether this thread is at work on our own files."""
    return _busy.depth > 0


class _Undisturbed:
    """Holds nothing: a thread's depth is its own."""

    __slots__ = ()

    def __enter__(self) -> None:
        _busy.depth += 1

    def __exit__(self, *_: object) -> None:
        _busy.depth -= 1


_UNDISTURBED: Final = _Undisturbed()


def undisturbed() -> _Undisturbed:
    """Keep what the block of a `with` statement opens from being redirected, kept or refused."""
    return _UNDISTURBED
