"""Lines on a terminal: with colour where someone looks, plain elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TextIO


class Page:
    """Writes lines; a style is a name that rich knows, and nothing where the stream is no terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._console: Any = None
        if is_terminal(stream):
            from rich.console import Console  # lazy: 50 ms, and only for people

            self._console = Console(file=stream, highlight=False, soft_wrap=True)

    def line(self, text: str, style: str | None = None) -> None:
        """Write one line."""
        if self._console is None:
            self._stream.write(f"{text}\n")
        else:
            self._console.print(text, style=style, markup=False)

    def table(self, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
        """Write a table: drawn for people, separated by tabs for programs."""
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
    """Tell whether someone looks who wants colour."""
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb" and "NO_COLOR" not in os.environ
    except ValueError:
        return False


def plural(count: int, noun: str) -> str:
    """Count things: `1 crossing`, `2 crossings`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
