"""Measures of agreement between two raters equal values from the literature."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.judging.agreement import (
    Confusion,
    clustered,
    confusion,
    kappa,
    mean_absolute_error,
    spearman,
    wilson,
)


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [  # Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_intervals_equal_those_of_newcombe(successes, total, low, high):
    assert wilson(successes, total) == pytest.approx((low, high), abs=5e-5)
    mirrored = wilson(total - successes, total)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=5e-5)


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda pair: (min(pair), max(pair))), min_size=2
    )
)
def test_clusters_never_narrow_an_interval(counts):
    successes, total = map(sum, zip(*counts, strict=True))
    bounds = clustered(counts)
    if sum(size > 0 for _, size in counts) < 2:
        assert bounds is None
        return
    low, high = wilson(successes, total)
    assert bounds[0] <= low + 1e-9
    assert bounds[1] >= high - 1e-9
    assert bounds[0] - 1e-9 <= successes / total <= bounds[1] + 1e-9


def test_clusters_of_one_trial_are_independent_trials():
    alone = [(1, 1)] * 15 + [(0, 1)] * 133
    assert clustered(alone) == pytest.approx(wilson(15, 148), abs=2e-3)


def test_the_interval_of_clusters_is_that_of_what_they_are_worth():
    # Shares of 1 and 0 in clusters of 10: a design effect of 20, by hand.
    assert clustered([(10, 10), (0, 10)]) == pytest.approx(wilson(0.5, 1))


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        ((15, 5, 10, 70), 0.57),  # Viera and Garrett, Family Medicine 37 (2005) 360-363
        (
            (20, 5, 10, 15),
            0.40,
        ),  # the common textbook example, and its two tables of one agreement and two kappas
        ((45, 15, 25, 15), 0.1304),
        ((25, 35, 5, 35), 0.2593),
        ((50, 0, 0, 50), 1.0),
        ((25, 25, 25, 25), 0.0),
        ((0, 50, 50, 0), -1.0),
    ],
)
def test_kappa_equals_values_from_the_literature(cells, value):
    decimals = 2 if len(f"{value:g}") <= 4 else 4
    assert round(kappa(Confusion(*cells)), decimals) == value


@pytest.mark.parametrize("cells", [(0, 0, 0, 0), (7, 0, 0, 0), (0, 0, 0, 7)])
def test_kappa_is_none_if_chance_agreement_is_certain(cells):
    assert kappa(Confusion(*cells)) is None


def test_measures_of_no_data_are_none():
    assert (wilson(0, 0), mean_absolute_error([], [])) == (None, None)


def test_confusion_counts_each_case():
    labels = [True, True, True, False, False, False, False]
    passed = [True, True, False, True, False, False, False]
    counts = confusion(labels, passed)
    assert counts == Confusion(good_passed=2, good_failed=1, bad_passed=1, bad_failed=3)
    assert (counts.total, counts.agreed) == (7, 5)


IQ = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
HOURS = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]


def test_spearmans_rho_equals_the_textbook_value():
    assert spearman(IQ, HOURS) == pytest.approx(-29 / 165)
    assert spearman(IQ, IQ) == pytest.approx(1)
    assert spearman(IQ, [-value for value in IQ]) == pytest.approx(-1)


def test_tied_values_share_their_rank():
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5).
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / (4.5 * 5) ** 0.5)
    assert spearman([1, 1, 1], [1, 2, 3]) is None
    assert spearman([], []) is None


def test_the_mean_absolute_error_is_the_mean_distance():
    assert mean_absolute_error([0.0, 0.5, 1.0], [0.2, 0.5, 0.6]) == pytest.approx(0.2)
