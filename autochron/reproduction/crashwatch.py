"""Crashes that a program catches itself: a `NameError` in a fix that an agent's `except Exception` turns into a message.

Such a fix looks as if it refused. So each crash that passes through the project's code is noted, whether or not it leaves it.
What unchanged code does, too, is no news and is left out by who judges.

From Python 3.12 on `sys.monitoring` tells of exceptions; on 3.11 a trace function does, and not where a debugger or a
measurement of coverage is at work.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any

from autochron.reproduction.crashes import is_passed_over, text_of

_MOST = 50
"""Crashes that are kept."""


class CrashWatch:
    """Notes exceptions of broken code in the project's files, from `begin` to `end`."""

    def __init__(self, owns: Callable[[str], bool], name: Callable[[str], str]) -> None:
        self._owns = owns
        self._name = name
        self._found: dict[str, None] = {}
        self._tool: int | None = None
        self._trace: Callable[..., Any] | None = None
        """The trace function on 3.11."""
        self._latest: BaseException | None = None
        """The exception that was noted last."""

    def found(self) -> tuple[str, ...]:
        """Return what was noted, each once: `NameError: name 'limt' is not defined, at agent.py:40`."""
        return tuple(self._found)

    def begin(self) -> bool:
        """Begin to listen; return False where that can't be, because other tools do."""
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            self._tool = next((each for each in (4, 3, 5) if monitoring.get_tool(each) is None), None)
            if self._tool is None:
                return False
            monitoring.use_tool_id(self._tool, "autochron")
            monitoring.register_callback(self._tool, monitoring.events.RAISE, self._raised)
            monitoring.set_events(self._tool, monitoring.events.RAISE)
            return True
        if sys.gettrace() is not None:
            return False
        self._trace = self._called
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        return True

    def end(self) -> None:
        """Listen no longer. A debugger that was begun meanwhile goes on."""
        self._latest = None
        if sys.version_info >= (3, 12) and self._tool is not None:
            sys.monitoring.set_events(self._tool, 0)
            sys.monitoring.free_tool_id(self._tool)
            self._tool = None
        if self._trace is not None:
            if threading.gettrace() is self._trace:
                threading.settrace(None)
            if sys.gettrace() is self._trace:
                sys.settrace(None)
            self._trace = None

    def _raised(self, code: CodeType, _offset: int, error: BaseException) -> None:
        if self._owns(code.co_filename):
            # The line that raises is where it passes first; the callers of it are passed later.
            traceback = error.__traceback__
            line = None if traceback is None else traceback.tb_lineno
            self._note(error, traceback, code.co_filename, line)

    def _called(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        if not self._owns(frame.f_code.co_filename):
            return None
        frame.f_trace_lines = False
        return self._traced

    def _traced(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "exception":
            _, error, traceback = argument
            self._note(error, traceback, frame.f_code.co_filename, frame.f_lineno)
        return self._traced

    def _note(
        self, error: BaseException, traceback: TracebackType | None, file: str, line: int | None
    ) -> None:
        # It passes several frames. Nothing is written on it: it is the program's.
        if error is self._latest:
            return
        self._latest = error
        if len(self._found) < _MOST and is_passed_over(error, self._owns, traceback):
            text = text_of(error)
            self._found.setdefault(f"{type(error).__name__}: {text}, at {self._name(file)}:{line}")
