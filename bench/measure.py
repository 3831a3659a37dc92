"""Measure cases turn about, so that what else the machine does falls on all of them alike."""

from __future__ import annotations

import gc
import importlib.util
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

Case = Callable[[], object]

PEER = "chronicle"
"""The module of agent-chronicle, the paper's own implementation."""


class Figure(Struct, frozen=True, kw_only=True):
    """One number, what it is measured against, and what it should be."""

    benchmark: str
    name: str
    value: float
    unit: str
    against: str
    """The baseline, in words."""
    target: float | None = None
    """The most that it may be; None for what is only told."""
    peer: float | None = None
    """The same figure of agent-chronicle, where it is installed."""
    samples: Mapping[str, float] = {}
    """What the figure was made of: medians in seconds, bytes, or figures of its unit."""

    @property
    def verdict(self) -> str:
        """Return whether the target is held."""
        if self.target is None:
            return ""
        return "ok" if self.value <= self.target else "MISSED"


class Size(Struct, frozen=True):
    """How much is measured."""

    rounds: int
    repeat: int
    turns: tuple[int, ...] = (50, 200, 800)
    """Lengths of conversations; the middle one is held to the targets."""
    crossings: int = 1_000_000
    """How many a large trace has."""


FULL = Size(rounds=40, repeat=40)
TINY = Size(rounds=1, repeat=1, turns=(2, 3, 4), crossings=20)


def has_peer() -> bool:
    """Return whether agent-chronicle is installed."""
    return importlib.util.find_spec(PEER) is not None


def turn_about(
    cases: Mapping[str, Case], rounds: int, *, clock: Callable[[], float] = time.process_time
) -> dict[str, list[float]]:
    """Time each case once a round, beginning with another one each time; seconds.

    By default of the processor, of all threads together: the time of day is also that of whoever else uses the machine.
    """
    names = list(cases)
    times: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        cases[name]()
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            gc.collect()
            started = clock()
            cases[name]()
            times[name].append(clock() - started)
    return times


def over(times: Mapping[str, Sequence[float]], name: str, baseline: str) -> float:
    """Return what a case takes longer than its baseline: the median over the rounds."""
    return statistics.median(each - base for each, base in zip(times[name], times[baseline], strict=True))


def ratio(times: Mapping[str, Sequence[float]], name: str, baseline: str) -> float:
    """Return how many times a case takes as long as its baseline: the median over the rounds."""
    return statistics.median(each / base for each, base in zip(times[name], times[baseline], strict=True))


def medians(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the median of each case."""
    return {name: statistics.median(each) for name, each in times.items()}
