"""Measure how long this process has waited: asleep, or until something came or a time-out ended, and not for a processor."""

from __future__ import annotations

from itertools import count

from autochron._runtime.unpatched import getpid, os, perf_counter_ns

_ACCOUNT = "/proc/self/schedstat"
"""Where Linux tells of a process's main thread how long it has run, and how long it was ready to and had to wait, in ns."""
_READING = 1_000_000
"""Nanoseconds that pass with each reading of a clock."""
_LEAST = 10_000_000
"""Nanoseconds of waiting that are noticed. The account is up to a tick behind."""


class VirtualTime:
    """Time that passes by what a program does and not by how busy the machine is: 1 ms a reading, and what it waits for.

    Where the system has no account of waiting (it is no Linux), it is the real time.
    """

    def __init__(self) -> None:
        """Begin at 0."""
        self._readings = count(1)
        self._noticed = 0
        self._process = getpid()
        self._has_account = True
        self._began = self._waited()

    def passed(self) -> int:
        """Return the nanoseconds since the beginning; each call is a reading."""
        waited = self._waited()
        if self._process != getpid():  # a fork, whose account is its own
            self._process = getpid()
            self._began = waited - self._noticed
        waited -= self._began
        if not self._has_account:
            return waited
        if waited - self._noticed >= _LEAST:
            self._noticed = waited
        return next(self._readings) * _READING + self._noticed

    def _waited(self) -> int:
        """Return how long the main thread has waited since some moment, in nanoseconds."""
        now = perf_counter_ns()
        if not self._has_account:
            return now
        try:
            file = os.open(_ACCOUNT, os.O_RDONLY | os.O_CLOEXEC)
            try:
                ran, ready, _ = os.read(file, 80).split()
            finally:
                os.close(file)
        except (OSError, ValueError):
            self._has_account = False
            return now
        return now - int(ran) - int(ready)
