"""Keep our own frames out of the tracebacks of errors that pass through functions of ours.

Python adds an entry to a traceback when an error is raised in a frame, or enters the frame from a call. It adds none when an
`except` block raises the caught error again by a bare `raise`. So a function of ours that calls code of the program, or a
function that it stands in for, catches each error, removes the entry of its own frame and lets the error go on:

    try:
        return original(*args, **kwargs)
    except BaseException as error:
        drop_frame(error)
        raise

That costs nothing where no error is raised. Each function removes exactly its own entry, and it guards only calls of
foreign code, so a fault of our own keeps its traceback.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

# The descriptors of C: the program's classes may define `__setattr__`, as frozen dataclasses do.
_TRACEBACK: Any = vars(BaseException)["__traceback__"]
_CONTEXT: Any = vars(BaseException)["__context__"]


def drop_frame(error: BaseException) -> None:
    """Remove the first entry of an error's traceback: the frame that has just caught the error."""
    entry: TracebackType | None = _TRACEBACK.__get__(error)
    if entry is not None:
        _TRACEBACK.__set__(error, entry.tb_next)


def drop_frames(error: BaseException) -> None:
    """Remove all entries of our package that an error's traceback begins with: foreign code was called through them."""
    entry: TracebackType | None = _TRACEBACK.__get__(error)
    while entry is not None and str(entry.tb_frame.f_globals.get("__name__")).startswith("autochron."):
        entry = entry.tb_next
    _TRACEBACK.__set__(error, entry)


class unchanged:  # noqa: N801 - it is used like a function, in `with unchanged(error): raise error`
    """A context in which an error is raised that keeps its traceback and its `__context__`."""

    __slots__ = ("_context", "_error", "_traceback")

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self._traceback = _TRACEBACK.__get__(error)
        self._context = _CONTEXT.__get__(error)

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *_error: object) -> None:
        """Undo what `raise` has changed in the error, which goes on."""
        _TRACEBACK.__set__(self._error, self._traceback)
        _CONTEXT.__set__(self._error, self._context)
