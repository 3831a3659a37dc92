"""The progress of a mutation study: a bar for each incident on a terminal, and a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Self

from autochron.escaping import terminal_lines
from autochron.report.text import is_terminal
from autochron.report.work_progress import rate_text

_INTERVAL = 5.0
"""Seconds between two lines where there is no terminal."""

_WORDS = {
    "fix": "the tests with the fix",
    "copy": "the tests in a copy for plain cosmic-ray",
    "cut": "cut-point",
    "stub": "full-stub",
    "mocks": "mocks",
    "twin": "the twin",
    "edges": "the edges",
    "widen": "other inputs",
    "sample": "plain cosmic-ray",
}


class StudyProgress:
    """Shows how far a study is, on standard error.

    Attributes:
        tried: how many trials have ended.
    """

    def __init__(self, *, quiet: bool) -> None:
        self.tried = 0
        self._display: _Bars | _Lines | None = None
        if not quiet:
            self._display = _Bars() if is_terminal(sys.stderr) else _Lines()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Remove the bars."""
        if isinstance(self._display, _Bars):
            self._display.end()

    def show(self, incident: str, step: str, done: int, total: int) -> None:
        """Show the progress of an incident. Any thread may call this.

        Args:
            incident: the incident's name.
            step: what is done: a key of `_WORDS`; other text is a note, which is shown whenever it comes.
            done: how many trials have ended; 0 where the step begins.
            total: how many there are; 0 where that is not known.
        """
        self.tried += bool(done)
        if self._display is None:
            return
        if step in _WORDS:
            self._display.show(incident, _WORDS[step], done, total)
        else:
            self._display.note(f"autochron: {incident}: {terminal_lines(step)}")


class _Bars:
    """A bar for each incident that is being tried, with rate and time left."""

    def __init__(self) -> None:
        from rich.console import Console  # lazy: only for people
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.fields[name]:14}"),
            TextColumn("{task.description:22}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
        )
        self._bars: dict[str, tuple[Any, float, int]] = {}
        self._progress = Progress(*columns, console=Console(file=sys.stderr), transient=True)
        self._progress.start()

    def show(self, incident: str, words: str, done: int, total: int) -> None:
        """Draw the bar of an incident."""
        if incident not in self._bars:
            bar = self._progress.add_task("", total=total or None, name=incident, rate="")
            self._bars[incident] = (bar, 0.0, 0)
        bar, began, first = self._bars[incident]
        if total and not began:
            began, first = time.monotonic(), done
            self._bars[incident] = (bar, began, first)
        rate = _rate(done - first, began)
        self._progress.update(bar, completed=done, total=total or None, description=words, rate=rate)
        self._progress.update(bar, visible=not total or done < total)

    def note(self, line: str) -> None:
        """Print a line above the bars."""
        self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def end(self) -> None:
        """Remove the bars."""
        self._progress.stop()


class _Lines:
    """A line at the start, and one every `_INTERVAL` seconds at most."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = -_INTERVAL
        self._began: dict[str, tuple[float, int]] = {}

    def show(self, incident: str, words: str, done: int, total: int) -> None:
        """Write a line, unless the last one was written a short time ago."""
        with self._lock:
            now = time.monotonic()
            if total:
                self._began.setdefault(incident, (now, done))
            if now - self._last < _INTERVAL:
                return
            self._last = now
            began, first = self._began.get(incident, (now, done))
            rate = _rate(done - first, began)
            left = _left(done - first, total - done, began) if rate else ""
            parts = (f"{done} of {total} trials" if total else "", words, rate, left)
            sys.stderr.write(f"autochron: {incident}: {', '.join(filter(None, parts))}\n")
            sys.stderr.flush()

    def note(self, line: str) -> None:
        """Write a line."""
        with self._lock:
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()


def _left(done: int, more: int, began: float) -> str:
    """Return the time that the other trials will take, if they take as long as those since a time."""
    whole = round((time.monotonic() - began) / done * more)
    return f"{whole} s left" if whole < 60 else f"{whole // 60} m {whole % 60:02} s left"


def _rate(done: int, began: float) -> str:
    """Return how fast trials ended since a time; empty where none did, or that is too short a time."""
    took = time.monotonic() - began
    return rate_text(done, took) if done > 0 and took > 1 else ""
