"""The progress of work that may take more than two seconds, on standard error: a bar on a terminal, else lines.

Work that is done sooner shows nothing. With `-q` there is nothing either.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Self

from autochron.escaping import terminal_line
from autochron.report.text import is_terminal

_PATIENCE = 1.0
"""Seconds after which a bar is shown."""

_FIRST, _INTERVAL, _SILENCE = 2.0, 5.0, 60.0
"""Seconds until the first line where there is no terminal, between two lines, and between two lines of the same step."""

_FEW, _SLOW = 20, 2.0
"""Up to how many steps, of how many seconds each on average, get a line as soon as each of them ends."""

_LOWEST_RATE = 0.2
"""Steps in a second. Below it the time of a step is shown in place of the rate."""

_LEAST_STEPS, _LEAST_PART = 2, 0.05
"""How many steps, and which part of all, have to be done before the time left is estimated."""

_PAUSE = 0.1
"""Seconds between two drawings of a bar."""


class WorkProgress:
    """Shows how far some work is, with rate and time left. It is a context manager, which removes the bar at the end."""

    def __init__(self, title: str, noun: str, *, quiet: bool, is_forking: bool = False) -> None:
        """Show nothing yet.

        Args:
            title: what is done, such as `reading`.
            noun: what is counted, such as `files`.
            quiet: whether nothing is shown.
            is_forking: whether the work forks this process, which must then have no other thread. Otherwise a thread draws,
                so that a step that takes long is seen to go on.
        """
        self._title, self._noun, self._quiet = title, noun, quiet
        self._state = self._written = (0, 0, "")
        self._counted = 0.0
        """Seconds until the count of done steps last changed."""
        self._began = self._drawn = time.monotonic()
        self._has_line = False
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        if not quiet and not is_forking:
            self._thread = threading.Thread(target=self._go_on, name="autochron progress", daemon=True)

    def __enter__(self) -> Self:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def show(self, done: int, total: int = 0, detail: str = "") -> None:
        """Say how far the work is; any thread may.

        Args:
            done: how many steps are done.
            total: how many there are; 0 where that is not known.
            detail: what is being done.
        """
        with self._lock:
            if done != self._state[0]:
                self._counted = time.monotonic() - self._began
            self._state = (done, total, terminal_line(detail))
        self._draw()

    def _go_on(self) -> None:
        while not self._ended.wait(_PAUSE):
            self._draw()

    def _draw(self) -> None:
        """Draw the bar, or write a line, if it is time to."""
        if self._quiet or self._ended.is_set():
            return
        with self._lock:
            now = time.monotonic()
            if is_terminal(sys.stderr):
                is_late = now - self._began >= _PATIENCE
                if is_late and (self._bar is None or now - self._drawn >= _PAUSE):
                    self._drawn = now
                    self._draw_bar(now - self._began)
            elif now - self._drawn >= self._interval():
                self._drawn, self._has_line, self._written = now, True, self._state
                try:
                    sys.stderr.write(f"autochron: {self._text(now - self._began)}\n")
                    sys.stderr.flush()
                except (OSError, ValueError):  # nobody reads
                    pass

    def _interval(self) -> float:
        """Return how many seconds after the last line the next one may be written."""
        if not self._has_line:
            return _FIRST
        if self._state == self._written:
            return _SILENCE
        done, total, _ = self._state
        is_slow = done != self._written[0] and self._counted >= _SLOW * done
        return 0.0 if is_slow and 0 < total <= _FEW else _INTERVAL

    def _draw_bar(self, took: float) -> None:
        done, total, detail = self._state
        if self._bar is None:
            from rich.console import Console  # lazy: 50 ms, and only for people
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[facts]}"))
            console = Console(file=sys.stderr)
            self._bar = Progress(*columns, console=console, transient=True, auto_refresh=False)
            self._task = self._bar.add_task("", total=None, facts="")
            self._bar.start()
        from rich.markup import escape

        shown = escape(f"{self._title}: {detail}" if detail else self._title)
        facts = escape(self._facts(took))
        self._bar.update(
            self._task, completed=done, total=total or None, description=shown, facts=facts, refresh=True
        )

    def _text(self, took: float) -> str:
        detail = self._state[2]
        return f"{self._title}: {self._facts(took)}" + (f": {detail}" if detail else "")

    def _facts(self, took: float) -> str:
        """Return the count, the rate, and the time left, or the time that it took where the total is not known."""
        done, total, _ = self._state
        counted = f"{done:,} of {total:,} {self._noun}" if total else f"{done:,} {self._noun}" if done else ""
        rate = rate_text(done, self._counted)
        is_known = done >= _LEAST_STEPS and total > 0 and done >= _LEAST_PART * total
        time_text = f"{_time(self._left(took))} left" if is_known else f"{_time(took)} so far"
        return ", ".join(filter(None, (counted, rate, time_text)))

    def _left(self, took: float) -> float:
        """Return the seconds that are left if a step takes as long as those before. It doesn't rise while a step runs."""
        done, total, _ = self._state
        each = self._counted / done
        return max(each * (total - done) - (took - self._counted), each * (total - done - 1), 0.0)


def rate_text(done: int, seconds: float) -> str:
    """Return how fast steps are: `4.0/s`, or `about 20 s each` for slow ones; empty if none is done."""
    if not done or seconds <= 0:
        return ""
    rate = done / seconds
    return f"{rate:,.1f}/s" if rate >= _LOWEST_RATE else f"about {_time(seconds / done)} each"


def _time(seconds: float) -> str:
    """Return a time to the second: `8 s`, `2 m 05 s`, `1 h 02 m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02} s"
    return f"{whole // 3600} h {whole // 60 % 60:02} m"
