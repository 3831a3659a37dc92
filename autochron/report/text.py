"""Write lines of text, with colours and drawn tables on a terminal, plain elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TextIO

from autochron._runtime.unpatched import os
from autochron.escaping import terminal_line, visible

WIDTH = 100
"""Columns of a line where neither `COLUMNS` nor a terminal says how many there are."""

_PLAINER = str.maketrans("├─└│→…×∥●○−≠µ–", "|-`|>~x=*o-!u-")
"""ASCII characters for those of a drawing that an encoding does not have, one for each."""


class Page:
    """Writes lines to a stream. A style is a name of rich's, such as `bold red`. It has an effect on a terminal only.

    Attributes:
        is_whole: whether nothing is left out of long lists.
    """

    def __init__(self, stream: TextIO, *, plain: bool = False, whole: bool = False) -> None:
        """Write to a stream.

        Args:
            stream: where lines are written.
            plain: write without styles, whatever the stream is.
            whole: leave nothing out of long lists; see `few`.
        """
        self.is_whole = whole
        self._stream = stream
        self._console: Any = None
        self._encoding: str = getattr(stream, "encoding", None) or "utf-8"
        if not plain and (is_terminal(stream) or _is_set("FORCE_COLOR")):
            from rich.console import Console  # lazy: 50 ms, and only for people

            self._console = Console(
                file=stream,
                highlight=False,
                soft_wrap=True,
                emoji=False,
                force_terminal=True,
                color_system=None if _is_set("NO_COLOR") else "auto",
                width=None if is_terminal(stream) else self.width,
            )

    def line(self, text: str, style: str | None = None) -> None:
        """Write one line. Control characters are escaped, so that the text can't steer the terminal."""
        text = writable(terminal_line(text), self._encoding)
        if self._console is None:
            self._stream.write(f"{text}\n")
        else:
            self._console.print(text, style=style, markup=False)

    def parts(self, parts: Sequence[tuple[str, str | None]]) -> None:
        """Write one line that consists of pieces, each a text and its style."""
        if self._console is None:
            self.line("".join(text for text, _ in parts))
            return
        from rich.text import Text  # lazy: only for people

        line = Text()
        for text, style in parts:
            line.append(writable(terminal_line(text), self._encoding), style)
        self._console.print(line)

    def few(self, count: int) -> int:
        """Return how many entries of a list are shown: `count`, or as many as there are on a whole page."""
        return sys.maxsize if self.is_whole else count

    @property
    def is_fitted(self) -> bool:
        """Whether lines should fit a width: on a terminal, also one without colours, and where colours are wanted."""
        if self._console is not None:
            return True
        try:
            return self._stream.isatty()
        except ValueError:  # closed
            return False

    @property
    def width(self) -> int:
        """The columns that `COLUMNS` in the environment names, else those of the terminal; `WIDTH` where there is neither."""
        named = os.environ.get("COLUMNS", "")
        try:
            if named.isdecimal() and int(named):
                return int(named)
            if self._stream.isatty():
                return os.get_terminal_size(self._stream.fileno()).columns or WIDTH
        except (OSError, ValueError):  # no terminal after all, or closed, or too many digits
            pass
        return WIDTH

    def table(self, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
        """Write a table: drawn on a terminal, else with tabs between the cells and without headings."""
        rows = [tuple(visible(cell) for cell in row) for row in rows]
        if self._console is None:
            for row in rows:
                self._stream.write("\t".join(row) + "\n")
            return
        from rich.table import Table  # lazy: only for people

        table = Table(box=None, pad_edge=False)
        for heading in headings:
            table.add_column(heading, no_wrap=heading in {"id", "crossings", "status"})
        for row in rows:
            table.add_row(*row)
        self._console.print(table)


def is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal on which tables and bars can be drawn: not with `TERM=dumb`."""
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:
        return False


def _is_set(variable: str) -> bool:
    """Return whether a variable is set and not empty, as no-color.org and force-color.org have it."""
    return bool(os.environ.get(variable))


def writable(text: str, encoding: str) -> str:
    """Return a text with only the characters that an encoding has: drawings in ASCII, other characters as escapes."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAINER).encode(encoding, "backslashreplace").decode(encoding)
    return text


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: `1 crossing`, `2 crossings`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
