import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warp_core import InvalidInputError
from warp_core.evaluation.significance import (
    benjamini_hochberg,
    clustered_bootstrap,
    paired_differences,
    paired_reduction,
    reduction,
    stars,
    wilcoxon_p,
)

NAN = float("nan")


def exact_wilcoxon(differences: list[float]) -> float:
    """Two-sided p by all 2^n assignments of signs to the ranks, for differences without ties and zeros."""
    ranks = {abs(d): i + 1 for i, d in enumerate(sorted(differences, key=abs))}
    seen = sum(ranks[abs(d)] for d in differences if d > 0)
    sums = [sum(plus) for size in range(len(ranks) + 1) for plus in combinations(ranks.values(), size)]
    low = sum(s <= seen for s in sums) / len(sums)
    high = sum(s >= seen for s in sums) / len(sums)
    return min(1.0, 2 * min(low, high))


def test_the_smallest_p_of_five_pairs_is_one_in_sixteen():
    assert wilcoxon_p([2, 4, 6, 8, 10], [1, 2, 3, 4, 5]) == pytest.approx(2 / 2**5)


@settings(deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=8, unique=True), st.integers(0, 255))
def test_p_is_that_of_all_assignments_of_signs(sizes: list[int], signs: int):
    differences = [size * (-1 if signs >> i & 1 else 1) for i, size in enumerate(sizes)]
    assert wilcoxon_p(differences, [0] * len(sizes)) == pytest.approx(exact_wilcoxon(differences))


def test_pairs_without_difference_or_with_a_nan_are_no_evidence():
    assert wilcoxon_p([1, 2, NAN], [1, 2, 3]) == 1
    assert wilcoxon_p([1, 2, 3, 4, 5, 6], [x + 1e-12 for x in (1, 2, 3, 4, 5, 6)]) == 1  # rounding
    assert wilcoxon_p([], []) == 1
    assert wilcoxon_p([2, 4, 6, 8, 10, 7, NAN], [1, 2, 3, 4, 5, 7, 1]) == pytest.approx(2 / 2**5)


def test_the_direction_does_not_matter_to_p():
    before, after = [5, 9, 2, 7, 11.5, 3], [1, 8, 2.5, 3, 4, 1]
    assert wilcoxon_p(before, after) == wilcoxon_p(after, before)


def test_pairs_must_pair():
    with pytest.raises(InvalidInputError, match="after"):
        paired_differences([1, 2], [1])


def test_differences_are_before_less_after():
    assert paired_differences([3, NAN, 5, 1], [1, 1, 5, NAN]).tolist() == [2, 0]


def test_adjusted_p_values_worked_by_hand():
    # sorted .01 .02 .03 .5, times 4/rank: .04 .04 .04 .5; the running minimum from the right
    assert benjamini_hochberg([0.02, 0.5, 0.01, 0.03]) == pytest.approx([0.04, 0.5, 0.04, 0.04])
    assert benjamini_hochberg([]).tolist() == []


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0, 1))
def test_adjusted_values_reject_what_the_step_up_procedure_rejects(p_values: list[float], alpha: float):
    n, ordered = len(p_values), sorted(p_values)
    passing = [p for rank, p in enumerate(ordered, 1) if p <= alpha * rank / n]
    limit = max(passing, default=-1.0)
    adjusted = benjamini_hochberg(p_values)
    for p, q in zip(p_values, adjusted.tolist(), strict=True):
        if abs(q - alpha) > 1e-12:  # at equality rounding decides
            assert (q <= alpha) == (p <= limit)
        assert q >= p or math.isclose(p, q)


@pytest.mark.parametrize("bad", [[-0.1], [1.1], [NAN]])
def test_what_is_no_p_value_is_refused(bad: list[float]):
    with pytest.raises(InvalidInputError, match="p_values"):
        benjamini_hochberg(bad)


@pytest.mark.parametrize(
    ("p", "marks"), [(0.0009, "***"), (0.001, "**"), (0.01, "*"), (0.05, ""), (0.049, "*"), (1, "")]
)
def test_stars(p: float, marks: str):
    assert stars(p) == marks


def test_one_cluster_leaves_nothing_to_resample():
    found = clustered_bootstrap([1, 2, 6], ["a"] * 3, np.random.default_rng(0))
    assert (found.mean, found.low, found.high, found.clusters, found.n) == (3, 3, 3, 1, 3)


def test_two_clusters_give_the_three_means_that_their_draws_have():
    # draws aa, ab, ba, bb with means 0, 2, 2, 3 (a: one value 0; b: two values 3): a quarter each at the ends
    found = clustered_bootstrap([0, 3, 3], ["a", "b", "b"], np.random.default_rng(1))
    assert (found.mean, found.low, found.high) == (2, 0, 3)
    middle = clustered_bootstrap([0, 3, 3], ["a", "b", "b"], np.random.default_rng(1), level=0.4)
    assert (middle.low, middle.high) == (2, 2)


def test_clusters_are_drawn_whole():
    # inside a cluster values differ wildly, but the clusters have one mean: no draw differs
    found = clustered_bootstrap([-9, 11, 0, 2], ["a", "a", "b", "b"], np.random.default_rng(2))
    assert (found.low, found.high) == (1, 1)


def test_the_interval_is_the_one_of_a_loop_over_resamples():
    values, clusters = np.array([4.0, 1, 2, 8, 5, 7]), np.array([0, 0, 1, 1, 1, 2])
    rng = np.random.default_rng(3)
    drawn = rng.integers(3, size=(500, 3))
    means = [np.concatenate([values[clusters == c] for c in draw]).mean() for draw in drawn]
    found = clustered_bootstrap(values, clusters, np.random.default_rng(3), resamples=500)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))


def test_a_nan_is_left_out_and_nothing_leaves_nothing():
    found = clustered_bootstrap([1, NAN, 3], ["a", "b", "a"], np.random.default_rng(0))
    assert (found.mean, found.clusters, found.n) == (2, 1, 2)
    assert math.isnan(clustered_bootstrap([NAN], ["a"], np.random.default_rng(0)).low)


def test_reductions_weigh_queries_differently():
    before, after = [10, 1, NAN], [5, 1, 0]
    assert reduction(before, after) == pytest.approx(1 - 6 / 11)
    assert paired_reduction(before, after) == pytest.approx((0.5 + 0) / 2)


def test_a_reduction_from_nothing_is_none():
    assert math.isnan(reduction([0, 0], [1, 1]))
    assert math.isnan(reduction([NAN], [1]))
    assert paired_reduction([0, 4], [9, 1]) == 0.75
    assert math.isnan(paired_reduction([0], [1]))
