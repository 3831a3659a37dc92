"""Tracebacks that pytest can display: code that weaving inserts has no line number, and pytest fails on such an entry."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType


def trim(error: BaseException, *, ours: bool) -> None:
    """Remove entries without a line number from the tracebacks of an error, its causes, its contexts and its group members.

    The tracebacks are changed in place, because pytest already holds the outermost entry.

    Args:
        error: the error.
        ours: whether autochron's own frames are removed as well.
    """
    for link in _chain(error, set()):
        entry = link.__traceback__
        while entry is not None:
            while entry.tb_next is not None and _is_dropped(entry.tb_next, ours=ours):
                entry.tb_next = entry.tb_next.tb_next
            entry = entry.tb_next
        if link.__traceback__ is not None and _is_dropped(link.__traceback__, ours=ours):
            link.__traceback__ = link.__traceback__.tb_next


def _is_dropped(entry: TracebackType, *, ours: bool) -> bool:
    line: int | None = entry.tb_lineno  # typeshed says that it is never None
    if line is None:
        return True
    return ours and str(entry.tb_frame.f_globals.get("__name__")).startswith("autochron.")


def _chain(error: BaseException | None, seen: set[int]) -> Iterator[BaseException]:
    """Yield an error, its causes and contexts, and the members of each exception group, each once."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield error
    yield from _chain(error.__cause__, seen)
    yield from _chain(error.__context__, seen)
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from _chain(member, seen)
