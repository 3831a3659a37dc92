"""Say that weaving takes a while, the first time: one line on a terminal, taken away again."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import TextIO

from autochron._runtime import unpatched

_PATIENCE = 0.3
"""Seconds of weaving after which someone who looks wants to know."""

_LONG = 3_000
"""Lines of one module that take about as long."""


class ProgressLine:
    """A line that stands there while a module is looked through, once all of them took a while."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._modules = self._lines = 0
        self._taken = self._since = 0
        self._shown = 0

    def begin(self, module: str, code: CodeType) -> None:
        """Say which module is looked through."""
        self._since = unpatched.perf_counter_ns()
        lines = _lines_of(code)
        self._modules += 1
        self._lines += lines
        if lines > _LONG or self._taken > _PATIENCE * 1e9:
            text = f"autochron: weaving {module} ({self._modules} modules, {self._lines:,} lines; kept for the next start)"
            self._write(f"\r{text}")
            self._shown = len(text)

    def end(self) -> None:
        """Take the line away: the program goes on."""
        self._taken += unpatched.perf_counter_ns() - self._since
        if self._shown:
            self._write(f"\r{' ' * self._shown}\r")
            self._shown = 0

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # nobody looks
            pass


def _lines_of(code: CodeType) -> int:
    last = max((line for _, _, line in code.co_lines() if line), default=0)
    return max([last, *(_lines_of(each) for each in code.co_consts[-3:] if isinstance(each, CodeType))])


def shown_on(stream: TextIO) -> ProgressLine | None:
    """Return the progress for a terminal; None elsewhere."""
    is_terminal: Callable[[], bool] | None = getattr(stream, "isatty", None)
    try:
        return ProgressLine(stream) if is_terminal is not None and is_terminal() else None
    except ValueError:  # closed
        return None


def counted_on(stream: TextIO, what: str) -> Callable[[int, int], None] | None:
    """Return what shows how much of some work is done, in a line of a terminal; None elsewhere."""
    if shown_on(stream) is None:
        return None

    def count(done: int, of: int) -> None:
        text = f"autochron: {what} ({done + 1} of {of})"
        end = f"\r{' ' * len(text)}\r" if done + 1 == of else ""
        try:
            stream.write(f"\r{text}{end}")
            stream.flush()
        except (OSError, ValueError):  # nobody looks
            pass

    return count
