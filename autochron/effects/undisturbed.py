"""Mark a thread as working on autochron's own files: what it opens is not redirected, kept or refused."""

from __future__ import annotations

import threading
from typing import Final


class _Busy(threading.local):
    """How many `undisturbed` blocks a thread is inside."""

    depth: int = 0


_busy = _Busy()


def is_busy() -> bool:
    """Return whether this thread is inside an `undisturbed` block."""
    return _busy.depth > 0


class _Undisturbed:
    """A context manager without state of its own: the depth belongs to the thread, so one object serves all."""

    __slots__ = ()

    def __enter__(self) -> None:
        _busy.depth += 1

    def __exit__(self, *_: object) -> None:
        _busy.depth -= 1


_UNDISTURBED: Final = _Undisturbed()


def undisturbed() -> _Undisturbed:
    """Return a context manager. What its block opens is not redirected, kept or refused."""
    return _UNDISTURBED
