"""The standard streams of a worker: flushed before the fork, and silent in it."""

from __future__ import annotations

import sys
from contextlib import suppress

from autochron._runtime.unpatched import os


def flush() -> None:
    """Flush the standard streams. Otherwise each fork would write what is buffered again."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def silence() -> None:
    """Connect the three standard descriptors of this process to the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    if null > 2:  # it is a standard descriptor itself where one of them was closed
        os.close(null)
