"""What served crossings print that ran side by side: in the recorded order of their prints, and not of their ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from msgspec.json import decode

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os

if TYPE_CHECKING:
    from autochron.model import Envelope

_OUTPUT = 1

MARK = b'"prints":'
"""Stands in the `meta` of an envelope whose prints have an order among those of others."""


class Piece(NamedTuple):
    """One print: its number in the run, the crossing that began last before it, what it says, and whether by `os.write`."""

    number: int
    after: int
    text: str
    is_written: bool = False

    def repeat(self) -> None:
        """Print it again."""
        if self.is_written:
            os.write(_OUTPUT, self.text.encode("latin-1"))
        else:
            sys.stdout.write(self.text)


class Printing:
    """The prints of crossings that are being served."""

    __slots__ = ("_lock", "waiting")

    def __init__(self) -> None:
        self._lock = unpatched.RLock()
        self.waiting: dict[int, list[Piece]] = {}
        """What is still to be printed, by the number of the crossing that prints it."""

    def begin(self, envelope: Envelope) -> None:
        """Take in what a crossing that is served will print, and print what was printed before it began."""
        if self.waiting:
            self._print(lambda piece: piece.after < envelope.seq)
        if MARK in envelope.meta:
            with self._lock:
                self.waiting[envelope.seq] = [Piece(*each) for each in decode(envelope.meta)["prints"]]

    def last_before(self, envelope: Envelope) -> int | None:
        """Return the `seq` of the crossing that had begun when this one printed last; None where it prints nothing."""
        pieces = self.waiting.get(envelope.seq)
        return max(each.after for each in pieces) if pieces else None

    def end(self, envelope: Envelope) -> None:
        """Print the rest of what a crossing prints, and what others had printed before that."""
        pieces = self.waiting.get(envelope.seq)
        if pieces:
            last = pieces[-1].number
            self._print(lambda piece: piece.number <= last)
        with self._lock:
            self.waiting.pop(envelope.seq, None)

    def _print(self, is_due: Callable[[Piece], bool]) -> None:
        with self._lock:
            due: list[Piece] = []
            for seq, pieces in self.waiting.items():
                due += [each for each in pieces if is_due(each)]
                self.waiting[seq] = [each for each in pieces if not is_due(each)]
            for piece in sorted(due):
                piece.repeat()
