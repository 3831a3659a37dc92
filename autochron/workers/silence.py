"""The standard streams of a process that works for us: flushed before it is forked, and silent in it."""

from __future__ import annotations

import sys
from contextlib import suppress

from autochron._runtime.unpatched import os


def flush() -> None:
    """Write what waits in the standard streams, which each fork would write again."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def silence() -> None:
    """Connect the three standard descriptors of this process to the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
