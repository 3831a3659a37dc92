"""Whether an exception is a refusal, which a fix raises on purpose, or a crash, by which nothing is proved."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType

from autochron.errors import AutochronError, DeniedError

CRASHES = (
    ImportError,
    AttributeError,
    TypeError,
    NameError,
    SyntaxError,
    RecursionError,
    MemoryError,
    NotImplementedError,
    ConnectionError,
)
"""What says that code is broken, or that what it needs isn't there, however it was raised."""

_ORDINARY = (AutochronError, BlockingIOError, InterruptedError, StopAsyncIteration, StopIteration)
"""Exceptions that code catches in the ordinary course of things."""

_RAISE = dis.opmap["RAISE_VARARGS"]


def describe(error: BaseException, name: Callable[[str], str], owns: Callable[[str], bool]) -> str:
    """Return an exception in one line, with the project's line that it comes from."""
    text = text_of(error)
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    place = None
    for frame, line in _frames(error.__traceback__):
        if owns(frame.f_code.co_filename):
            place = f"{name(frame.f_code.co_filename)}:{line}"
    return f"{said}, at {place}" if place else said


def text_of(error: BaseException) -> str:
    """Return what an exception says, in one line; nothing where its own `__str__` fails."""
    try:
        return " ".join(str(error).split())[:200]
    except Exception:  # the program's own code
        return ""


def is_crash(
    error: BaseException, owns: Callable[[str], bool], traceback: TracebackType | None = None
) -> bool:
    """Return whether an exception that left a live crossing is a crash; `traceback` is its own by default.

    Code that is broken is one, and a table, a file or a server that is missing. What a line of the project raises by
    `raise` or `assert` is a refusal, and so is an exception of a library's own, such as a validator's, unless such a crash
    is its cause.
    """
    if isinstance(error, (DeniedError, *CRASHES)):
        return True
    if isinstance(error, (KeyboardInterrupt, GeneratorExit, SystemExit)):
        return True  # the agent gets no answer
    if _is_raised_by(traceback or error.__traceback__, owns) or _is_guard(error):
        return False
    module = type(error).__module__.partition(".")[0]
    if module == "builtins" or module in sys.stdlib_module_names:
        return True
    return any(_is_environment(each) for each in _causes(error))


def is_passed_over(
    error: BaseException, owns: Callable[[str], bool], traceback: TracebackType | None = None
) -> bool:
    """Return whether an exception that the project's code caught itself is a crash; `traceback` is its own by default.

    It is judged as one that leaves a crossing, but for those by which Python tells that there is no more.
    """
    return (
        isinstance(error, Exception) and not isinstance(error, _ORDINARY) and is_crash(error, owns, traceback)
    )


def _is_guard(error: BaseException) -> bool:
    """Return whether what refuses is a guard: a database's constraint, or a file that may be made once only."""
    return isinstance(error, FileExistsError) or any(
        each.__name__ == "IntegrityError" for each in type(error).__mro__
    )


def _is_environment(error: BaseException) -> bool:
    is_database = any(
        each.__name__ in {"OperationalError", "ProgrammingError", "InterfaceError"}
        for each in type(error).__mro__
    )
    return isinstance(error, (*CRASHES, OSError)) or is_database


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _is_raised_by(entry: TracebackType | None, owns: Callable[[str], bool]) -> bool:
    """Return whether a line of the project raised by `raise`, and not an operation that failed there."""
    last: TracebackType | None = None
    while entry is not None:
        last, entry = entry, entry.tb_next
    if last is None or not owns(last.tb_frame.f_code.co_filename):
        return False
    code, at = last.tb_frame.f_code, last.tb_lasti
    return code.co_code[at] == _RAISE


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int | None]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
