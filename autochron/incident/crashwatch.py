"""Crashes that a program catches itself: a `NameError` in a fix that an agent's `except Exception` turns into a message.

Such a fix looks as if it refused. So each exception of a broken kind that passes through the project's code is noted, whether
or not it leaves it. What unchanged code does, too, is no news and is left out by who judges.

From Python 3.12 on `sys.monitoring` tells of exceptions; on 3.11 a trace function does, in a process that is ours alone, and
not where a debugger or a measurement of coverage is at work.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from autochron.errors import AutochronError
from autochron.incident.crashes import text_of

_BROKEN = (
    *(AttributeError, ConnectionError, ImportError, IndexError, KeyError, NameError, SyntaxError, TypeError),
    ZeroDivisionError,
)

_OF_DATABASES = "OperationalError"
"""What drivers of databases call the error for a table that is missing."""

_MOST = 50
"""Crashes that are kept."""


class CrashWatch:
    """Notes exceptions of broken code in the project's files, from `begin` to `end`."""

    def __init__(self, owns: Callable[[str], bool], name: Callable[[str], str]) -> None:
        self._owns = owns
        self._name = name
        self._found: dict[str, None] = {}
        self._tool: int | None = None
        self._traces = False
        self._latest: BaseException | None = None
        """The exception that was noted last."""

    def found(self) -> tuple[str, ...]:
        """Return what was noted, each once: `NameError: name 'limt' is not defined, at agent.py:40`."""
        return tuple(self._found)

    def begin(self, *, is_ours: bool = True) -> None:
        """Begin to listen; `is_ours` says whether the process is a replay's alone, so that it may be traced."""
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            self._tool = next((each for each in (4, 3, 5) if monitoring.get_tool(each) is None), None)
            if self._tool is not None:
                monitoring.use_tool_id(self._tool, "autochron")
                monitoring.register_callback(self._tool, monitoring.events.RAISE, self._raised)
                monitoring.set_events(self._tool, monitoring.events.RAISE)
        elif is_ours and sys.gettrace() is None:
            self._traces = True
            threading.settrace(self._called)
            sys.settrace(self._called)

    def end(self) -> None:
        """Listen no longer."""
        self._latest = None
        if sys.version_info >= (3, 12) and self._tool is not None:
            sys.monitoring.set_events(self._tool, 0)
            sys.monitoring.free_tool_id(self._tool)
            self._tool = None
        if self._traces:
            self._traces = False
            threading.settrace(None)
            sys.settrace(None)

    def _raised(self, code: CodeType, _offset: int, error: BaseException) -> None:
        if _is_broken(error) and self._owns(code.co_filename):
            # The line that raises is where it passes first; the callers of it are passed later.
            traceback = error.__traceback__
            line = None if traceback is None else traceback.tb_lineno
            self._note(error, code.co_filename, line)

    def _called(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        if not self._owns(frame.f_code.co_filename):
            return None
        frame.f_trace_lines = False
        return self._traced

    def _traced(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "exception" and _is_broken(argument[1]):
            self._note(argument[1], frame.f_code.co_filename, frame.f_lineno)
        return self._traced

    def _note(self, error: BaseException, file: str, line: int | None) -> None:
        # It passes several frames. Nothing is written on it: it is the program's.
        if isinstance(error, AutochronError) or error is self._latest:
            return
        self._latest = error
        if len(self._found) < _MOST:
            text = text_of(error)
            self._found.setdefault(f"{type(error).__name__}: {text}, at {self._name(file)}:{line}")


def _is_broken(error: object) -> bool:
    """Return whether an exception says that code is broken, or that a table or a server is missing."""
    return isinstance(error, _BROKEN) or type(error).__name__ == _OF_DATABASES
