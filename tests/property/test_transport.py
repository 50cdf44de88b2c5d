from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

from tests.oracles import Problem
from warp_core import OpinionScale, TargetDistribution, wasserstein1, wasserstein2
from warp_core.transport import exact_cost, w1_of_counts

thorough = settings(deadline=None, max_examples=100)


@st.composite
def scales(draw) -> OpinionScale:
    tenths = draw(st.lists(st.integers(-500, 500), min_size=2, max_size=11, unique=True))
    return OpinionScale(tuple(t / 10 for t in sorted(tenths)))


def weights_over(scale, weight):
    return st.lists(weight, min_size=scale.n_bins, max_size=scale.n_bins).filter(any)


@st.composite
def distributions(draw):
    """A scale and three weight vectors over it."""
    scale = draw(scales())
    weights = weights_over(scale, st.integers(0, 9)) | weights_over(scale, st.floats(0, 1))
    return scale, draw(weights), draw(weights), draw(weights)


@st.composite
def lists_and_target(draw):
    """A scale, two lists of bins of one length, and target counts."""
    scale = draw(scales())
    bins = st.integers(0, scale.n_bins - 1)
    pairs = draw(st.lists(st.tuples(bins, bins), min_size=1, max_size=12))
    a, b = zip(*pairs, strict=True)
    return scale, a, b, draw(weights_over(scale, st.integers(0, 10**6)))


@thorough
@given(distributions())
def test_w1_is_a_metric_bounded_by_the_range(drawn):
    scale, p, q, r = drawn
    w1 = wasserstein1(p, q, scale)
    assert wasserstein1(p, p, scale) == 0
    assert w1 == pytest.approx(wasserstein1(q, p, scale), abs=1e-9)
    assert 0 <= w1 <= scale.range + 1e-9
    assert w1 <= wasserstein1(p, r, scale) + wasserstein1(r, q, scale) + 1e-9


@thorough
@given(distributions())
def test_distributions_at_distance_zero_are_equal(drawn):
    scale, p, q, _ = drawn
    shares = [[w / sum(weights) for w in weights] for weights in (p, q)]
    furthest = max(abs(a - b) for a, b in zip(*shares, strict=True))
    nearest_positions = min(b - a for a, b in pairwise(scale.positions))
    assert wasserstein1(p, q, scale) >= furthest * nearest_positions / 2 - 1e-9


@thorough
@given(distributions())
def test_w1_equals_scipy(drawn):
    scale, p, q, _ = drawn
    expected = wasserstein_distance(scale.positions, scale.positions, p, q)
    assert wasserstein1(p, q, scale) == pytest.approx(expected, abs=1e-9)


@thorough
@given(distributions())
def test_w2_is_a_metric_between_w1_and_the_range(drawn):
    scale, p, q, r = drawn
    w2 = wasserstein2(p, q, scale)
    rounding = 1e-7 * scale.range
    assert wasserstein2(p, p, scale) == 0
    assert w2 == wasserstein2(q, p, scale)
    assert wasserstein1(p, q, scale) - rounding <= w2 <= scale.range + rounding
    assert w2 <= wasserstein2(p, r, scale) + wasserstein2(r, q, scale) + rounding


def squared_distances(scale) -> np.ndarray:
    return np.subtract.outer(scale.positions, scale.positions) ** 2


@settings(deadline=None, max_examples=50)
@given(distributions())
def test_w2_squared_is_the_cost_of_the_cheapest_plan_that_a_linear_programme_finds(drawn):
    scale, p, q, _ = drawn
    shares = [np.array(weights) / sum(weights) for weights in (p, q)]
    rows = [np.repeat(row, scale.n_bins) for row in np.eye(scale.n_bins)]
    columns = [np.tile(column, scale.n_bins) for column in np.eye(scale.n_bins)]
    plan = linprog(squared_distances(scale).ravel() / scale.range**2, A_eq=rows + columns, b_eq=np.concatenate(shares))
    assert (wasserstein2(p, q, scale) / scale.range) ** 2 == pytest.approx(plan.fun, abs=1e-6)


@thorough
@given(distributions())
def test_w2_equals_pot(drawn):
    ot = pytest.importorskip("ot")
    scale, p, q, _ = drawn
    shares = [np.array(weights) / sum(weights) for weights in (p, q)]
    expected = ot.emd2(*shares, squared_distances(scale) / scale.range**2)
    assert (wasserstein2(p, q, scale) / scale.range) ** 2 == pytest.approx(expected, abs=1e-9)


@thorough
@given(lists_and_target())
def test_exact_costs_order_lists_of_one_length_as_exact_w1_does(drawn):
    scale, a, b, weights = drawn
    n, target = len(a), TargetDistribution.of_counts(weights)
    problem = Problem(scale.positions, [0] * 2 * n, a + b, [True] * 2 * n, weights)
    difference = problem.w1(range(n)) - problem.w1(range(n, 2 * n))
    cost_a, cost_b = (exact_cost([bins.count(i) for i in range(scale.n_bins)], target, scale) for bins in (a, b))
    assert (cost_a > cost_b, cost_a == cost_b) == (difference > 0, difference == 0)


@thorough
@given(lists_and_target())
def test_w1_of_counts_equals_w1_of_the_shares(drawn):
    scale, bins, _, weights = drawn
    counts = [bins.count(i) for i in range(scale.n_bins)]
    cost = w1_of_counts(counts, TargetDistribution.of_counts(weights), scale)
    assert cost == pytest.approx(wasserstein1(counts, weights, scale), abs=1e-9)
