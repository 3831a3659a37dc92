"""Limits of memory and processor time for a fork. The operating system enforces them whatever the code does."""

from __future__ import annotations

import resource
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from autochron._runtime.unpatched import os

MEMORY = 1 << 30
"""Bytes of memory that a fork may take beyond those of its parent."""


class Limits(NamedTuple):
    """What a fork may take.

    Attributes:
        seconds: time until its end.
        memory: bytes beyond those of its parent.
        cores: how many cores it may keep busy all the time.
    """

    seconds: float
    memory: int = MEMORY
    cores: int = 1


def limit_process(limits: Limits, size: int) -> Callable[[], None]:
    """Limit the processor time and the memory of this process.

    Args:
        limits: what it may take.
        size: the bytes that `address_space` returned in the parent; with 0, memory is not limited.

    Returns:
        A function that lifts the limit of memory, so that enough is left to report the result.
    """
    seconds = int(limits.seconds * limits.cores) + 2
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_seconds = int(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds if hard < 0 else min(cpu_seconds, hard), hard))
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if not size:
        return lambda: None
    bytes_allowed = size + limits.memory
    with suppress(ValueError, OSError):  # a lower limit is in force
        resource.setrlimit(
            resource.RLIMIT_AS, (bytes_allowed if hard < 0 else min(bytes_allowed, hard), hard)
        )

    def lift() -> None:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    return lift


_known = (0, 0)
"""Id and size in bytes of this process, kept from its first fork. Reading it takes a fifth of the time of an empty fork."""


def has_grown() -> None:
    """Have the size of this process read again, after it has imported modules that every fork will have."""
    global _known  # noqa: PLW0603 - a fact of the process
    _known = (0, 0)


def address_space() -> int:
    """Return the size of this process's address space in bytes, as first read; 0 if it can't be read."""
    global _known  # noqa: PLW0603 - a fact of the process
    process = os.getpid()
    if _known[0] != process:
        try:
            with open("/proc/self/statm", "rb") as file:
                _known = process, int(file.read().split()[0]) * resource.getpagesize()
        except (OSError, ValueError):
            _known = process, 0
    return _known[1]
