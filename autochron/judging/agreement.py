"""How far two raters agree: pure functions over what each said of the same subjects."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from msgspec import Struct

Z_95 = 1.959963984540054
"""The standard normal's quantile for a two-sided interval of 95 %."""


class Confusion(Struct, frozen=True):
    """How often each answer of the labels met each of the judge."""

    good_passed: int
    good_failed: int
    bad_passed: int
    bad_failed: int

    @property
    def total(self) -> int:
        """Count all."""
        return self.good_passed + self.good_failed + self.bad_passed + self.bad_failed

    @property
    def agreed(self) -> int:
        """Count where both say the same."""
        return self.good_passed + self.bad_failed


def confusion(labels: Sequence[bool], passed: Sequence[bool]) -> Confusion:
    """Count the four cases."""
    pairs = list(zip(labels, passed, strict=True))
    return Confusion(
        *(pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False)))
    )


def wilson(successes: int, total: int, z: float = Z_95) -> tuple[float, float] | None:
    """Return the interval of a proportion by Wilson's score, without correction for continuity; None of nothing."""
    if total == 0:
        return None
    share, square = successes / total, z * z
    middle = share + square / (2 * total)
    half = z * sqrt(share * (1 - share) / total + square / (4 * total * total))
    scale = 1 + square / total
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def kappa(counts: Confusion) -> float | None:
    """Return Cohen's kappa; None where chance alone would agree always, or there is nothing."""
    total = counts.total
    if total == 0:
        return None
    good, passed = counts.good_passed + counts.good_failed, counts.good_passed + counts.bad_passed
    # In whole numbers as far as it goes, so that an agreement which chance explains wholly is exactly that.
    expected = good * passed + (total - good) * (total - passed)
    if expected == total * total:
        return None
    return (counts.agreed * total - expected) / (total * total - expected)


def mean_absolute_error(labels: Sequence[float], scores: Sequence[float]) -> float | None:
    """Return how far scores are from labels, on the average; None of nothing."""
    distances = [abs(label - score) for label, score in zip(labels, scores, strict=True)]
    return sum(distances) / len(distances) if distances else None


def spearman(labels: Sequence[float], scores: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation, ties sharing their ranks; None where either side has one rank only."""
    ones, others = _ranks(labels), _ranks(scores)
    middle = (len(ones) + 1) / 2
    products = sum((one - middle) * (other - middle) for one, other in zip(ones, others, strict=True))
    spread = sum((one - middle) ** 2 for one in ones) * sum((other - middle) ** 2 for other in others)
    return products / sqrt(spread) if spread else None


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(ordered):
        end = start
        while end < len(ordered) and values[ordered[end]] == values[ordered[start]]:
            end += 1
        for place in ordered[start:end]:
            ranks[place] = (start + 1 + end) / 2
        start = end
    return ranks
