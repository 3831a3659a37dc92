"""Measures of agreement between two raters, as pure functions of their ratings of the same subjects."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from msgspec import Struct

Z_95 = 1.959963984540054
"""The quantile of the standard normal distribution for a two-sided interval of 95 %."""


class Confusion(Struct, frozen=True):
    """The confusion matrix of labels (good or bad) and the judge's verdicts (passed or failed), as counts."""

    good_passed: int
    good_failed: int
    bad_passed: int
    bad_failed: int

    @property
    def total(self) -> int:
        """The number of subjects."""
        return self.good_passed + self.good_failed + self.bad_passed + self.bad_failed

    @property
    def agreed(self) -> int:
        """The number of subjects on which label and judge agree."""
        return self.good_passed + self.bad_failed


def confusion(labels: Sequence[bool], passed: Sequence[bool]) -> Confusion:
    """Count the four combinations of labels and verdicts, which are parallel sequences."""
    pairs = list(zip(labels, passed, strict=True))
    return Confusion(
        *(pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False)))
    )


def wilson(successes: float, total: float, z: float = Z_95) -> tuple[float, float] | None:
    """Return Wilson's score interval of a proportion, without continuity correction.

    Args:
        successes: the number of successes; of trials that are not independent, a fraction of it.
        total: the number of trials, or what they are worth.
        z: the quantile of the standard normal distribution for the confidence level.

    Returns:
        The lower and upper bound from 0 to 1; None if there are no trials.
    """
    if total == 0:
        return None
    share, square = successes / total, z * z
    middle = share + square / (2 * total)
    half = z * sqrt(share * (1 - share) / total + square / (4 * total * total))
    scale = 1 + square / total
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def clustered(counts: Sequence[tuple[int, int]], z: float = Z_95) -> tuple[float, float] | None:
    """Return the interval of a proportion whose trials come in clusters, where those of a cluster are alike.

    It is Wilson's interval for as many independent trials as the clusters are worth: the trials divided by the design effect
    (Kish 1965), which is estimated from how much the clusters' shares differ. Where they don't differ, as when all trials
    succeed, that can't be estimated, and each cluster counts as one trial.

    Args:
        counts: of each cluster, the successes and the trials.
        z: the quantile of the standard normal distribution for the confidence level.

    Returns:
        The lower and upper bound from 0 to 1; None with fewer than two clusters that have trials.
    """
    clusters = [(successes, total) for successes, total in counts if total]
    if len(clusters) < 2:
        return None
    successes, total = sum(each for each, _ in clusters), sum(each for _, each in clusters)
    share, number = successes / total, len(clusters)
    residuals = sum((found - share * size) ** 2 for found, size in clusters)
    variance = residuals * number / (number - 1) / total**2
    alone = share * (1 - share) / total
    effective = total / max(1.0, variance / alone) if variance and alone else number
    return wilson(share * effective, effective, z)


def kappa(counts: Confusion) -> float | None:
    """Return Cohen's kappa; None if chance alone would always agree, or if there are no subjects."""
    total = counts.total
    if total == 0:
        return None
    good, passed = counts.good_passed + counts.good_failed, counts.good_passed + counts.bad_passed
    # Integers, so that an agreement which chance explains entirely gives exactly 0.
    expected = good * passed + (total - good) * (total - passed)
    if expected == total * total:
        return None
    return (counts.agreed * total - expected) / (total * total - expected)


def mean_absolute_error(labels: Sequence[float], scores: Sequence[float]) -> float | None:
    """Return the mean absolute difference of scores and labels; None if there are none."""
    distances = [abs(label - score) for label, score in zip(labels, scores, strict=True)]
    return sum(distances) / len(distances) if distances else None


def spearman(labels: Sequence[float], scores: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation, where ties share their mean rank; None if all values of one side are equal."""
    label_ranks, score_ranks = _ranks(labels), _ranks(scores)
    middle = (len(label_ranks) + 1) / 2
    products = sum(
        (label_rank - middle) * (score_rank - middle)
        for label_rank, score_rank in zip(label_ranks, score_ranks, strict=True)
    )
    spread = sum((label_rank - middle) ** 2 for label_rank in label_ranks) * sum(
        (score_rank - middle) ** 2 for score_rank in score_ranks
    )
    return products / sqrt(spread) if spread else None


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from 1, where equal values share the mean of their ranks."""
    ordered = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(ordered):
        end = start
        while end < len(ordered) and values[ordered[end]] == values[ordered[start]]:
            end += 1
        for index in ordered[start:end]:
            ranks[index] = (start + 1 + end) / 2
        start = end
    return ranks
