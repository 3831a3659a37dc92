"""What a fork may take of memory and processor time, held by the operating system whatever the code does."""

from __future__ import annotations

import resource
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from autochron._runtime.unpatched import os

MEMORY = 1 << 30
"""Bytes that a fork may take beyond what its parent has."""


class Limits(NamedTuple):
    """What a fork may take; `cores` is how many of them it may keep busy all the time."""

    seconds: float
    memory: int = MEMORY
    cores: int = 1


def limit_process(limits: Limits, size: int) -> Callable[[], None]:
    """Limit the processor time and the memory of this process.

    Args:
        limits: what it may take.
        size: the bytes that `address_space` returned in the parent; with 0, memory is not limited.

    Returns:
        A function that lifts the limit of memory, so that there is some to report what happened.
    """
    seconds = int(limits.seconds * limits.cores) + 2
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    used = resource.getrusage(resource.RUSAGE_SELF)
    soonest = int(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soonest if hard < 0 else min(soonest, hard), hard))
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if not size:
        return lambda: None
    most = size + limits.memory
    with suppress(ValueError, OSError):  # a lower one is in force
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))

    def lift() -> None:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    return lift


_known = (0, 0)
"""A process, and its size when it forked first: to ask each time takes a fifth of what an empty fork does."""


def has_grown() -> None:
    """Have the size of this process asked for again, after it has imported or made what every fork then has."""
    global _known  # noqa: PLW0603 - a fact of the process
    _known = (0, 0)


def address_space() -> int:
    """Return the bytes of this process's addresses, as they were when it asked first; 0 where that can't be read."""
    global _known  # noqa: PLW0603 - a fact of the process
    process = os.getpid()
    if _known[0] != process:
        try:
            with open("/proc/self/statm", "rb") as file:
                _known = process, int(file.read().split()[0]) * resource.getpagesize()
        except (OSError, ValueError):
            _known = process, 0
    return _known[1]
