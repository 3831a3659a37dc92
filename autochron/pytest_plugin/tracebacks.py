"""Tracebacks as pytest can show them: what weaving puts into a function has no line, which pytest stumbles over."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType


def trim(error: BaseException, *, ours: bool) -> None:
    """Leave out of an error's traceback, and of those it came of, what has no line; with `ours` also autochron's frames.

    In place, since pytest holds the outermost entry already, which is its own.
    """
    for each in _chain(error, set()):
        entry = each.__traceback__
        while entry is not None:
            while entry.tb_next is not None and _is_dropped(entry.tb_next, ours=ours):
                entry.tb_next = entry.tb_next.tb_next
            entry = entry.tb_next
        if each.__traceback__ is not None and _is_dropped(each.__traceback__, ours=ours):
            each.__traceback__ = each.__traceback__.tb_next


def _is_dropped(entry: TracebackType, *, ours: bool) -> bool:
    line: int | None = entry.tb_lineno  # typeshed knows no frame without one
    if line is None:
        return True
    return ours and str(entry.tb_frame.f_globals.get("__name__")).startswith("autochron.")


def _chain(error: BaseException | None, seen: set[int]) -> Iterator[BaseException]:
    """Yield an error, what it came of, and what is in it where it is a group."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield error
    yield from _chain(error.__cause__, seen)
    yield from _chain(error.__context__, seen)
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _chain(each, seen)
