"""Crashes that a program catches itself: a `NameError` in a fix that an agent's `except Exception` turns into a message.

Such a fix looks as if it refused. The watch therefore notes each crash that passes through the project's code, whether or not
it is caught. `blockers` leaves out the crashes that unchanged code has, too.

On Python 3.12 and later `sys.monitoring` reports the exceptions. On 3.11 a trace function does, unless a debugger or a tool
for coverage has installed one.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any

from autochron.reproduction.crashes import is_passed_over, text_of

_MAX_CRASHES = 50
"""How many different crashes are kept."""


class CrashWatch:
    """Notes crashes in the project's files, from `begin` to `end`.

    Args:
        owns: returns whether a file belongs to the project.
        name: returns the name of a file for people.
    """

    def __init__(self, owns: Callable[[str], bool], name: Callable[[str], str]) -> None:
        self._owns = owns
        self._name = name
        self._crashes: dict[str, None] = {}
        self._tool: int | None = None
        self._trace: Callable[..., Any] | None = None
        """The trace function on 3.11."""
        self._latest: BaseException | None = None
        """The exception that was seen last."""

    def found(self) -> tuple[str, ...]:
        """Return the crashes, each once: `NameError: name 'limt' is not defined, at agent.py:40`."""
        return tuple(self._crashes)

    def begin(self) -> bool:
        """Begin to listen. Return False if other tools occupy the interpreter's hooks."""
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            self._tool = next(
                (tool_id for tool_id in (4, 3, 5) if monitoring.get_tool(tool_id) is None), None
            )
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
        """Stop listening. A trace function that somebody else has installed meanwhile stays."""
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
            # The traceback begins with the frame of this event. The frame that raises comes first, its callers later.
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
        # One exception passes several frames. No mark is set on it, for it is the program's object.
        if error is self._latest:
            return
        self._latest = error
        if len(self._crashes) < _MAX_CRASHES and is_passed_over(error, self._owns, traceback):
            text = text_of(error)
            self._crashes.setdefault(f"{type(error).__name__}: {text}, at {self._name(file)}:{line}")
