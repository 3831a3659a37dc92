"""Whether an exception is a refusal, which a fix raises on purpose, or a crash, which proves nothing."""

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
"""Exceptions that mean broken code or a missing dependency, even where a `raise` statement raises them."""

_ORDINARY = (AutochronError, BlockingIOError, InterruptedError, StopAsyncIteration, StopIteration)
"""Exceptions that working code catches all the time."""

_RAISE = dis.opmap["RAISE_VARARGS"]


def describe(error: BaseException, name: Callable[[str], str], owns: Callable[[str], bool]) -> str:
    """Return an exception in one line, with the innermost of the project's lines in its traceback.

    Args:
        error: the exception.
        name: returns the name of a file for people.
        owns: returns whether a file belongs to the project.
    """
    text = text_of(error)
    description = f"{type(error).__name__}: {text}" if text else type(error).__name__
    place = None
    for frame, line in _frames(error.__traceback__):
        if owns(frame.f_code.co_filename):
            place = f"{name(frame.f_code.co_filename)}:{line}"
    return f"{description}, at {place}" if place else description


def text_of(error: BaseException) -> str:
    """Return an exception's message in one line of at most 200 characters; an empty string if its `__str__` fails."""
    try:
        return " ".join(str(error).split())[:200]
    except Exception:  # the program's own code
        return ""


def is_crash(
    error: BaseException, owns: Callable[[str], bool], traceback: TracebackType | None = None
) -> bool:
    """Return whether an exception that left a live crossing is a crash.

    A crash is broken code, a missing table, file or server, what the replay denies, or an exception that ends the program. A
    refusal is an exception that a line of the project raises by `raise` or `assert`, a violated constraint of a database, a
    FileExistsError, or an exception of a library's own types, such as a validator's, unless a crash caused it.

    Args:
        error: the exception.
        owns: returns whether a file belongs to the project.
        traceback: the traceback to judge by; default the exception's own.
    """
    if isinstance(error, (DeniedError, *CRASHES)):
        return True
    if isinstance(error, (KeyboardInterrupt, GeneratorExit, SystemExit)):
        return True  # the agent gets no answer, so it is no refusal
    if _is_raised_by_statement(traceback or error.__traceback__, owns) or _is_guard(error):
        return False
    module = type(error).__module__.partition(".")[0]
    if module == "builtins" or module in sys.stdlib_module_names:
        return True
    return any(_is_environment_failure(cause) for cause in _causes(error))


def is_passed_over(
    error: BaseException, owns: Callable[[str], bool], traceback: TracebackType | None = None
) -> bool:
    """Return whether an exception that the project's code caught itself is a crash.

    It is judged as one that leaves a crossing, but exceptions of ordinary control flow, such as StopIteration, are none.

    Args:
        error: the exception.
        owns: returns whether a file belongs to the project.
        traceback: the traceback to judge by; default the exception's own.
    """
    return (
        isinstance(error, Exception) and not isinstance(error, _ORDINARY) and is_crash(error, owns, traceback)
    )


def is_of_autochron(error: BaseException) -> bool:
    """Return whether an exception is an error of autochron, was caused by one, or is a group that holds one."""
    return any(
        isinstance(cause, AutochronError)
        or (isinstance(cause, BaseExceptionGroup) and any(map(is_of_autochron, cause.exceptions)))
        for cause in _causes(error)
    )


def _is_guard(error: BaseException) -> bool:
    """Return whether the exception comes from a guard: a database's constraint, or a file that must not exist yet."""
    return isinstance(error, FileExistsError) or any(
        base.__name__ == "IntegrityError" for base in type(error).__mro__
    )


def _is_environment_failure(error: BaseException) -> bool:
    is_database = any(
        base.__name__ in {"OperationalError", "ProgrammingError", "InterfaceError"}
        for base in type(error).__mro__
    )
    return isinstance(error, (*CRASHES, OSError)) or is_database


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _is_raised_by_statement(entry: TracebackType | None, owns: Callable[[str], bool]) -> bool:
    """Return whether a `raise` of the project's code raised the exception, not an operation that failed there."""
    last: TracebackType | None = None
    while entry is not None:
        last, entry = entry, entry.tb_next
    if last is None or not owns(last.tb_frame.f_code.co_filename):
        return False
    code, instruction = last.tb_frame.f_code, last.tb_lasti
    return code.co_code[instruction] == _RAISE


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int | None]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
