"""Lines on a terminal: with colour where someone looks, plain elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from autochron._runtime.unpatched import os
from autochron.escaping import terminal_line, visible

WIDTH = 100
"""Columns where no terminal says how many there are."""

_PLAINER = str.maketrans("├─└│→…×∥●○−≠µ–", "|-`|>~x=*o-!u-")
"""What stands for the characters of a drawing where an encoding hasn't got them; as wide as they are."""


class Page:
    """Writes lines; a style is a name that rich knows, and nothing where the stream is no terminal."""

    def __init__(self, stream: TextIO, *, plain: bool = False) -> None:
        self._stream = stream
        self._console: Any = None
        self._encoding: str = getattr(stream, "encoding", None) or "utf-8"
        if not plain and is_terminal(stream):
            from rich.console import Console  # lazy: 50 ms, and only for people

            self._console = Console(file=stream, highlight=False, soft_wrap=True, emoji=False)

    def line(self, text: str, style: str | None = None) -> None:
        """Write one line; what a terminal would obey in it is made visible."""
        text = writable(terminal_line(text), self._encoding)
        if self._console is None:
            self._stream.write(f"{text}\n")
        else:
            self._console.print(text, style=style, markup=False)

    def parts(self, parts: Sequence[tuple[str, str | None]]) -> None:
        """Write one line of pieces, each in a style of its own."""
        if self._console is None:
            self.line("".join(text for text, _ in parts))
            return
        from rich.text import Text  # lazy: only for people

        line = Text()
        for text, style in parts:
            line.append(writable(terminal_line(text), self._encoding), style)
        self._console.print(line)

    @property
    def width(self) -> int:
        """How many columns a line may take: those of the terminal, coloured or not."""
        given = os.environ.get("COLUMNS", "")
        try:
            if self._stream.isatty():
                return (
                    int(given)
                    if given.isdecimal()
                    else os.get_terminal_size(self._stream.fileno()).columns or WIDTH
                )
        except (OSError, ValueError):  # no terminal after all, or closed
            pass
        return WIDTH

    def table(self, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
        """Write a table: drawn for people, separated by tabs for programs."""
        rows = [tuple(visible(each) for each in row) for row in rows]
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
    """Return whether someone looks who wants colour."""
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb" and "NO_COLOR" not in os.environ
    except ValueError:
        return False


def writable(text: str, encoding: str) -> str:
    """Return a text in characters that an encoding has."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAINER).encode(encoding, "backslashreplace").decode(encoding)
    return text


def plural(count: int, noun: str) -> str:
    """Count things: `1 crossing`, `2 crossings`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
