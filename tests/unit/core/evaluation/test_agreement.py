import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warp_core import SENTIMENT_INTENSITY, InvalidInputError, TargetDistribution, wasserstein1
from warp_core.evaluation.agreement import label_agreement, rank_agreement, triangle_bound
from warp_core.transport import w1_of_counts


def test_label_agreement_worked_by_hand():
    # positions -30 0 20 30 against -20 0 -10 30; the pair with an unknown is left out
    found = label_agreement(np.array([0, 3, 5, 6, -1, 2]), np.array([1, 3, 2, 6, 4, -1]))
    assert found.n == 4
    assert found.mae == pytest.approx((10 + 0 + 30 + 0) / 4)
    assert found.bias == pytest.approx((10 + 0 - 30 + 0) / 4)
    assert found.same_side == 0.75  # +20 against -10 differs, 0 against 0 does not
    # ranks 1 2 3 4 against 1 3 2 4: 1 - 6 * 2 / (4 * 15)
    assert found.spearman == pytest.approx(0.8)
    first, second = np.array([-30, 0, 20, 30]), np.array([-20, 0, -10, 30])
    assert found.pearson == pytest.approx(np.corrcoef(first, second)[0, 1])
    assert 0 < found.p < 1


def test_a_constant_labelling_correlates_with_nothing():
    found = label_agreement(np.array([0, 0, 0]), np.array([0, 1, 2]))
    assert math.isnan(found.spearman)
    assert math.isnan(found.pearson)
    assert found.mae == 10


def test_nothing_in_common_is_nothing_to_compare():
    found = label_agreement(np.array([-1, 2]), np.array([2, -1]))
    assert found.n == 0
    assert math.isnan(found.mae)


def test_labellings_of_different_documents_are_refused():
    with pytest.raises(InvalidInputError, match="second"):
        label_agreement(np.array([1]), np.array([1, 2]))


def test_the_papers_bound_follows_from_the_papers_figures():
    # WARP 4.5: 2.76 and 13.60 with a mean gap of 2.88 give at most 5.64, at least 10.72, 47.4% at worst
    found = triangle_bound(2.76, 13.60, [2.88])
    assert (found.method_most, found.baseline_least) == pytest.approx((5.64, 10.72))
    assert found.reduction == pytest.approx(0.474, abs=0.0005)


def test_the_gap_is_the_mean_over_entities():
    # the paper's table 16, and its mean
    gaps = [3.66, 1.44, 4.15, 3.23, 1.36, 1.57, 4.60, 2.10, 1.78, 4.90]
    assert triangle_bound(0, 0, gaps).gap == pytest.approx(2.88, abs=0.005)


def test_a_baseline_nearer_than_the_gap_bounds_nothing():
    found = triangle_bound(1, 2, [3])
    assert found.baseline_least == 0
    assert math.isnan(found.reduction)


def test_a_bound_needs_a_gap():
    with pytest.raises(InvalidInputError, match="gaps"):
        triangle_bound(1, 2, [])


counts = st.lists(st.integers(0, 9), min_size=7, max_size=7).filter(any)


@settings(deadline=None)
@given(counts, counts, counts, counts)
def test_the_bound_holds_for_any_two_lists_and_targets(
    method: list[int], baseline: list[int], used: list[int], independent: list[int]
):
    target = TargetDistribution.of_counts(used)
    near, far = (w1_of_counts(one, target, SENTIMENT_INTENSITY) for one in (method, baseline))
    bound = triangle_bound(near, far, [wasserstein1(used, independent)])
    assert wasserstein1(method, independent) <= bound.method_most + 1e-9
    assert wasserstein1(baseline, independent) >= bound.baseline_least - 1e-9


def test_a_line_is_found_and_its_order_agrees():
    found = rank_agreement([1, 2, 3, float("nan")], [3.5, 4.5, 5.5, 0])
    assert found.slope == pytest.approx(1)
    assert found.intercept == pytest.approx(2.5)
    assert found.r_squared == pytest.approx(1)
    assert found.kendall == pytest.approx(1)
    assert found.spearman == pytest.approx(1)


def test_one_pair_out_of_order_lowers_tau_by_two_thirds():
    # 3 pairs, 2 in order, 1 not
    assert rank_agreement([1, 2, 3], [1, 3, 2]).kendall == pytest.approx(1 / 3)


@pytest.mark.parametrize(("first", "second"), [([1], [1]), ([1, 1], [1, 2]), ([1, 2], [3, 3]), ([], [])])
def test_what_has_no_order_agrees_with_nothing(first: list[float], second: list[float]):
    assert math.isnan(rank_agreement(first, second).kendall)
