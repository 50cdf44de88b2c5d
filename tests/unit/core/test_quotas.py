from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import thorough
from warp_core import OpinionScale, TargetDistribution
from warp_core.quotas import largest_remainder, rounded_cumulative, within_capacity
from warp_core.transport import exact_cost

PLACES = st.integers(0, 40)
WEIGHTS = st.lists(st.integers(0, 9), min_size=2, max_size=7).filter(any)


@pytest.mark.parametrize(
    ("weights", "k", "quotas"),
    [
        ([1, 3], 8, [2, 6]),  # 2 and 6 exactly
        ([1, 2, 4], 5, [1, 1, 3]),  # 0.71, 1.43, 2.86: two are left, for 0.86 and 0.71
        ([1, 1, 1], 2, [1, 1, 0]),  # 0.67 each: the lower bins first
        ([0, 1, 0, 1], 3, [0, 2, 0, 1]),  # 1.5 each
        ([5, 0], 0, [0, 0]),
        ([10**30, 2 * 10**30], 3, [1, 2]),
    ],
)
def test_the_largest_remainders_get_what_is_left(weights, k, quotas):
    assert largest_remainder(weights, k) == quotas


@pytest.mark.parametrize(
    ("weights", "k", "quotas"),
    [
        ([1, 3], 8, [2, 6]),
        ([1, 1, 1], 2, [1, 0, 1]),  # 0.67, 1.33, 2 become 1, 1, 2: [1, 1, 0] would be 1/3 further from uniform
        ([1, 2, 4], 5, [1, 1, 3]),  # 0.71, 2.14, 5 become 1, 2, 5
        ([1, 1], 1, [1, 0]),  # 0.5 becomes 1
        ([0, 1, 0, 1], 3, [0, 2, 0, 1]),  # 0, 1.5, 1.5, 3 become 0, 2, 2, 3
        ([5, 0], 0, [0, 0]),
        ([10**30, 2 * 10**30], 3, [1, 2]),
    ],
)
def test_cumulative_places_are_rounded(weights, k, quotas):
    assert rounded_cumulative(weights, k) == quotas


@thorough
@given(WEIGHTS, PLACES)
def test_a_largest_remainder_quota_is_the_share_rounded_down_or_up(weights, k):
    quotas = largest_remainder(weights, k)
    assert sum(quotas) == k
    for weight, quota in zip(weights, quotas, strict=True):
        assert abs(quota - k * weight / sum(weights)) < 1


@thorough
@given(st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any), st.integers(1, 6))
def test_no_other_way_to_share_out_k_places_has_a_lower_w1_than_the_rounded_cumulative_one(weights, k):
    scale, target = OpinionScale((0, 1, 3, 3.5)), TargetDistribution.of_counts(weights)
    ways = [way for way in product(range(k + 1), repeat=4) if sum(way) == k]
    quotas = rounded_cumulative(weights, k)
    assert tuple(quotas) in ways
    assert exact_cost(quotas, target, scale) == min(exact_cost(way, target, scale) for way in ways)


@pytest.mark.parametrize(
    ("weights", "capacity", "k", "quotas"),
    [
        ([4, 2, 2], [9, 9, 9], 8, [4, 2, 2]),  # all fit
        ([4, 2, 2], [1, 9, 9], 8, [1, 4, 3]),  # 3 are left over for two equal weights: 1.5 each
        ([4, 2, 2], [1, 2, 9], 8, [1, 2, 5]),  # and of those one place again
        ([1, 0, 0], [1, 4, 2], 4, [1, 2, 1]),  # nothing of weight has room: 3 in the proportion 4 to 2
        ([1, 1, 1], [2, 0, 1], 3, [2, 0, 1]),  # all there is
        ([1, 1], [0, 0], 0, [0, 0]),
    ],
)
def test_what_a_full_bin_leaves_is_shared_out_among_the_others(weights, capacity, k, quotas):
    assert within_capacity(weights, capacity, k) == quotas


@thorough
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=7), st.data())
def test_capacities_are_kept_and_k_is_reached(bins, data):
    weights, capacity = zip(*bins, strict=True)
    if not any(weights):
        weights = (1,) * len(bins)
    k = data.draw(st.integers(0, sum(capacity)))
    quotas = within_capacity(weights, capacity, k)
    assert sum(quotas) == k
    assert all(0 <= quota <= most for quota, most in zip(quotas, capacity, strict=True))


def test_the_weights_of_a_target_are_shared_out_exactly():
    tenths = TargetDistribution.of_weights([0.1, 0.2, 0.7])
    assert largest_remainder(tenths.weights, 10) == rounded_cumulative(tenths.weights, 10) == [1, 2, 7]
