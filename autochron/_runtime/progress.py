"""Progress on a terminal: one line, which is erased at the end."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import TextIO

from autochron._runtime import unpatched

_PATIENCE = 0.3
"""Seconds of weaving after which the line is shown."""

_LONG = 3_000
"""Lines of a module whose weaving takes about as long."""


class ProgressLine:
    """A line that is shown while a module is woven, once weaving has taken a while."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._modules = self._lines = 0
        self._taken = self._since = 0
        self._shown = 0

    def begin(self, module: str, code: CodeType) -> None:
        """Show the name of a module that is being woven, if weaving takes long."""
        self._since = unpatched.perf_counter_ns()
        lines = _lines_of(code)
        self._modules += 1
        self._lines += lines
        if lines > _LONG or self._taken > _PATIENCE * 1e9:
            text = f"autochron: weaving {module} ({self._modules} modules, {self._lines:,} lines; kept for the next start)"
            self._write(f"\r{text}")
            self._shown = len(text)

    def end(self) -> None:
        """Erase the line, because the program goes on."""
        self._taken += unpatched.perf_counter_ns() - self._since
        if self._shown:
            self._write(f"\r{' ' * self._shown}\r")
            self._shown = 0

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the stream is closed, so nobody sees the line
            pass


def _lines_of(code: CodeType) -> int:
    last = max((line for _, _, line in code.co_lines() if line), default=0)
    return max(
        [last, *(_lines_of(constant) for constant in code.co_consts[-3:] if isinstance(constant, CodeType))]
    )


def progress_line(stream: TextIO) -> ProgressLine | None:
    """Return a progress line for a terminal; None if the stream is none."""
    is_terminal: Callable[[], bool] | None = getattr(stream, "isatty", None)
    try:
        return ProgressLine(stream) if is_terminal is not None and is_terminal() else None
    except ValueError:  # closed
        return None
