"""Faults on request: what a test or a script tells a provider to do wrong, and on which attempts.

The request header `x-loopback` and a script's `fault` have the same grammar: names separated by commas, each with an optional
`*N`, which means the first N attempts only. A number is an HTTP status.

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
    """One fault.

    Attributes:
        name: one of `NAMES`, or an HTTP status.
        times: the number of attempts that it affects, from the first; 0 for all.
    """

    name: str
    times: int = 0

    @property
    def status(self) -> int | None:
        """The HTTP status to refuse with; None for a fault that is no refusal."""
        return int(self.name) if self.name.isdecimal() else None

    def hits(self, attempt: int) -> bool:
        """Return whether the fault affects an attempt; attempts are counted from 0."""
        return not self.times or attempt < self.times


def parse(text: str) -> tuple[Fault, ...]:
    """Parse a list of faults in the grammar above.

    Raises:
        ScriptError: a fault is unknown.
    """
    return tuple(_parse_fault(part.strip()) for part in text.split(",") if part.strip())


def of_attempt(faults: Iterable[Fault], attempt: int) -> tuple[Fault, ...]:
    """Return the faults that affect an attempt; attempts are counted from 0."""
    return tuple(fault for fault in faults if fault.hits(attempt))


def _parse_fault(part: str) -> Fault:
    name, star, times = part.partition("*")
    is_known = name in NAMES or (name.isdecimal() and _FIRST_ERROR <= int(name) <= _LAST_ERROR)
    if not is_known or (star and not times.isdecimal()):
        spelling = f"a status from {_FIRST_ERROR} to {_LAST_ERROR}, {', '.join(NAMES)}; each may end in *N"
        raise ScriptError(f"unknown fault {part!r}: use {spelling} (provider-fault)")
    return Fault(name, int(times) if times else 0)
