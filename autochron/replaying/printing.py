"""The output of served crossings that overlapped in the recording. It is printed in the recorded order of the prints.

The order of the crossings' ends would not do: one may print, let another print, and then print again.
"""

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
"""In the `meta` of an envelope: it lists prints that have an order among those of other crossings."""


class Piece(NamedTuple):
    """One print.

    Attributes:
        number: its number in the recording.
        after: the `seq` of the crossing that began last before it.
        text: the printed text; bytes of `os.write` are decoded as latin-1.
        is_written: whether it was printed by `os.write`, and not by `sys.stdout`.
    """

    number: int
    after: int
    text: str
    is_written: bool = False

    def repeat(self) -> None:
        """Print the text in the same way."""
        if self.is_written:
            os.write(_OUTPUT, self.text.encode("latin-1"))
        else:
            sys.stdout.write(self.text)


class Printing:
    """The prints of the crossings that are being served.

    Attributes:
        waiting: the prints that are still to come, by the `seq` of their crossing.
    """

    __slots__ = ("_lock", "waiting")

    def __init__(self) -> None:
        self._lock = unpatched.RLock()
        self.waiting: dict[int, list[Piece]] = {}

    def begin(self, envelope: Envelope) -> None:
        """Add the prints of a crossing whose serving begins. First print what was printed before it began."""
        if self.waiting:
            self._print(lambda piece: piece.after < envelope.seq)
        if MARK in envelope.meta:
            with self._lock:
                self.waiting[envelope.seq] = [Piece(*fields) for fields in decode(envelope.meta)["prints"]]

    def last_before(self, envelope: Envelope) -> int | None:
        """Return the `seq` of the crossing that began last before this one's last print; None if it prints nothing."""
        pieces = self.waiting.get(envelope.seq)
        return max(piece.after for piece in pieces) if pieces else None

    def end(self, envelope: Envelope) -> None:
        """Print the remaining prints of a crossing that ends, and those of others that came before them."""
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
                due += [piece for piece in pieces if is_due(piece)]
                self.waiting[seq] = [piece for piece in pieces if not is_due(piece)]
            for piece in sorted(due):
                piece.repeat()
