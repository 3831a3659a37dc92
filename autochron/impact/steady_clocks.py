"""Clocks that never go back: time passes for all of them, so `impact` varies when it passes and not what one of them shows.

For a perturbed line two replays are compared: time passes right before its readings, and right after them. Only what the line
itself reads differs between the two, and both may happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_STEADY = frozenset({"monotonic", "perf_counter", "process_time", "thread_time"})
_STEADY_CALLS = frozenset(f"time.{name}{unit}" for name in _STEADY for unit in ("", "_ns"))
"""The sources that never go back."""
_GAPS = (
    (4_001.9, "all"),
    (7.3, "last"),
    (97_003.1, "first"),
    (61.7, "odd"),
    (0.13, "all"),
    (700_001.3, "last"),
    (7.3, "even"),
    (1.1, "first"),
)
"""Seconds that pass at readings of a steady clock, and at which of a line's readings, so that deadlines pass and durations
change."""
STEADY_VARIANTS = len(_GAPS)
"""How many variants a steady clock has."""


def is_steady(call: str) -> bool:
    """Return whether a source is a clock that never goes back."""
    return call in _STEADY_CALLS


def gap(variant: int, nth: int, count: int) -> float:
    """Return the seconds that pass at a reading of a steady clock.

    Args:
        variant: the variant's number.
        nth: the number of the reading among those of its line, from 0.
        count: how many readings the line makes.
    """
    seconds, readings = _GAPS[variant % len(_GAPS)]
    passes = {
        "all": True,
        "first": nth == 0,
        "last": nth == count - 1,
        "even": nth % 2 == 0,
        "odd": nth % 2 == 1,
    }[readings]
    return seconds * (1 + variant // len(_GAPS)) if passes else 0.0


def has_steady(keys: Iterable[str]) -> bool:
    """Return whether any of some sites, by their keys, reads a steady clock."""
    return any(is_steady(key.rpartition(" ")[2]) for key in keys)


def inverted(variants: Mapping[str, int]) -> dict[str, int]:
    """Return the variants with time passing right after the readings instead of before, and the other way round."""
    return {key: ~variant for key, variant in variants.items()}


def oriented(variants: Mapping[str, int], steady: Iterable[str]) -> dict[str, int]:
    """Return variants of which some are inverted, other ones at each step.

    If time passed before the readings of all lines, the two readings of a duration would hide each other.

    Args:
        variants: the variants of several sites.
        steady: all sites that read a steady clock.
    """
    numbers = {key: number for number, key in enumerate(sorted(steady))}
    step = sum(variants.values()) % max(1, len(numbers).bit_length())
    return {
        key: ~variant if numbers.get(key, 0) >> step & 1 else variant for key, variant in variants.items()
    }
