"""Repeating the reads of standard input that the body of a served crossing made."""

from __future__ import annotations

import sys

from autochron._runtime.unpatched import os

TAKEN = b'"taken":'
"""In the `meta` of an envelope: it says what the body read from standard input."""


def consume(parts: list[tuple[str, int]]) -> None:
    """Read from standard input what the body read, so that the next reader gets what follows.

    Args:
        parts: how each part was read (`text`, `bytes`, or from the descriptor), and the number of characters or bytes.
    """
    for kind, count in parts:
        try:
            if kind == "text":
                sys.stdin.read(count)
            elif kind == "bytes":
                sys.stdin.buffer.read(count)
            else:
                left = count
                while left and (data := os.read(0, left)):
                    left -= len(data)
        except (OSError, ValueError, AttributeError):  # the program has closed or replaced it
            return
