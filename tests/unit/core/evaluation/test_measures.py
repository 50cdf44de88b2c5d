import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warp_core import SENTIMENT_INTENSITY, CandidatePool, TargetDistribution, select
from warp_core.evaluation.measures import coverage, distinct, fairness, measure, spread

HALVES = TargetDistribution.of_counts([1, 0, 0, 0, 0, 0, 1])


def test_the_measures_of_a_list_worked_by_hand():
    # two at -30 (matched), one at +30 (not), one unknown: shares 2/3, 1/3 of the known
    found = measure(np.array([0, 0, 6, -1]), [True, True, False, True], HALVES)
    assert found.w1 == pytest.approx((2 / 3 - 1 / 2) * 60)
    assert found.w1_matched == pytest.approx(0.5 * 60)  # all at -30
    assert found.w2 == pytest.approx(math.sqrt((2 / 3 - 1 / 2) * 60**2))
    assert found.em == 0.75
    assert found.selected == 4
    # JS: H of the mean (7/12, 5/12) less the mean of H(2/3, 1/3) and H(1/2, 1/2) = 1
    mean = -(7 / 12) * math.log2(7 / 12) - (5 / 12) * math.log2(5 / 12)
    assert found.js == pytest.approx(mean - (-(2 / 3) * math.log2(2 / 3) - (1 / 3) * math.log2(1 / 3) + 1) / 2)


def test_a_list_without_a_known_opinion_has_no_distance():
    for bins in ([], [-1, -1]):
        found = measure(np.array(bins, np.intp), [False] * len(bins), HALVES)
        assert all(map(math.isnan, (found.w1, found.w1_matched, found.w2, found.js)))
        assert found.em == 0
        assert found.selected == len(bins)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 6), st.booleans()), min_size=1, max_size=8), st.integers(1, 8))
def test_a_list_is_measured_as_the_selection_that_it_is(candidates: list[tuple[int, bool]], k: int):
    bins, matched = zip(*candidates, strict=True)
    chosen = select("top_k", CandidatePool(range(len(bins)), bins, matched), HALVES, k)
    found = measure(chosen.pool.bins[chosen.indices], chosen.pool.matched[chosen.indices], HALVES)
    np.testing.assert_equal(
        [found.w1, found.w1_matched, found.em, found.selected], [chosen.w1, chosen.w1_matched, chosen.em, len(chosen)]
    )


def test_spread_is_the_standard_deviation_over_n():
    assert spread([-30, 30]) == 30
    assert spread([10, 20, 30]) == pytest.approx(math.sqrt(200 / 3))
    assert spread([20]) == 0
    assert math.isnan(spread([]))


def test_markers_count_once_however_often_they_come():
    assert distinct([["hope", "anger"], [], ["anger"], ["fear", "fear"]]) == 3


def test_coverage_is_the_share_of_categories_that_are_there():
    assert coverage(["solo", "solo", None, "couple"], ["solo", "couple", "family", "business"]) == 0.5
    assert coverage(["solo", "alien"], ["solo", "couple", None]) == 0.5  # neither None nor the unknown is a category
    assert math.isnan(coverage(["solo"], []))


POPULATION = {"solo": [5, 0, 0, 0, 0, 0, 5], "family": [0, 0, 0, 10, 0, 0, 0], "rare": [9, 0, 0, 0, 0, 0, 0]}


def test_the_fairness_term_is_the_group_farthest_from_its_own_population():
    # solo: all at +30 where half belongs at -30: sqrt(1/2 * 60^2) = 42.4; family: one bin off, 10
    found = fairness(np.array([6, 6, 4]), ["solo", "solo", "family"], POPULATION)
    assert found.worst == pytest.approx(math.sqrt(0.5) * 60)
    assert found.group == "solo"
    assert found.absent == 0


def test_a_group_like_its_population_is_no_gap():
    found = fairness(np.array([0, 6, 3]), ["solo", "solo", "family"], POPULATION)
    assert found.worst == 0
    assert found.group == "family"  # of equals the first by name


def test_absent_groups_are_counted_apart_and_small_ones_not_at_all():
    found = fairness(np.array([0, 0, -1]), ["solo", "rare", "family"], POPULATION)
    assert found.group == "solo"
    assert found.absent == 0.5  # family has no known opinion in the list; rare is too small to compare
    assert fairness(np.array([0]), ["rare"], POPULATION, min_group=9).worst == 0


def test_a_list_of_no_group_has_no_gap():
    found = fairness(np.array([0, 6]), [None, "stranger"], POPULATION)
    assert math.isnan(found.worst)
    assert found.group is None
    assert found.absent == 1
    assert math.isnan(fairness(np.array([0]), ["solo"], {}).absent)


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_no_group_is_farther_off_than_the_scale_is_long(bins: list[int]):
    found = fairness(np.array(bins), ["solo"] * len(bins), POPULATION)
    assert 0 <= found.worst <= SENTIMENT_INTENSITY.range
