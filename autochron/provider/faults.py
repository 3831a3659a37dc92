"""Faults on request: what a test or a script asks a provider to do wrong, and on which attempts.

One grammar for the `x-loopback` request header and for a script's `fault`: names with commas between them,
each with an optional `*N` for "the first N attempts only". A number is an HTTP status.

    429*1            the first attempt is refused with `retry-after-ms: 1`, the retry succeeds
    500              every attempt fails
    disconnect       the body breaks off half-way and the connection closes
    stall            a stream stops half-way and stays open; a whole answer never comes
    gzip             the answer is compressed
"""

from collections.abc import Iterable
from dataclasses import dataclass

from autochron.provider.errors import ScriptError

NAMES = ("disconnect", "gzip", "stall")
_FIRST_ERROR, _LAST_ERROR = 400, 599


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing to do wrong: a name or a status, on the first `times` attempts (0: on all)."""

    name: str
    times: int = 0

    @property
    def status(self) -> int | None:
        """Return the HTTP status to refuse with, or None for a fault that isn't a refusal."""
        return int(self.name) if self.name.isdecimal() else None

    def hits(self, attempt: int) -> bool:
        """Return whether this attempt, counted from 0, is one of those."""
        return not self.times or attempt < self.times


def parse(text: str) -> tuple[Fault, ...]:
    """Read the grammar above; ScriptError on anything else."""
    return tuple(_one(part.strip()) for part in text.split(",") if part.strip())


def of_attempt(faults: Iterable[Fault], attempt: int) -> tuple[Fault, ...]:
    """Keep the faults that hit this attempt."""
    return tuple(fault for fault in faults if fault.hits(attempt))


def _one(part: str) -> Fault:
    name, star, times = part.partition("*")
    known = name in NAMES or (name.isdecimal() and _FIRST_ERROR <= int(name) <= _LAST_ERROR)
    if not known or (star and not times.isdecimal()):
        spelling = f"a status from {_FIRST_ERROR} to {_LAST_ERROR}, {', '.join(NAMES)}; each may end in *N"
        raise ScriptError(f"unknown fault {part!r}: use {spelling} (provider-fault)")
    return Fault(name, int(times) if times else 0)
