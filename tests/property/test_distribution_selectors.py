"""Divergence, opinion and assignment selectors give what literal algorithms over all candidates give."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from tests import oracles
from tests.oracles import TIE
from tests.strategies import WEIGHTS, problems, thorough
from warp_core import SELECTORS, CandidatePool, TargetDistribution
from warp_core.quotas import largest_remainder, rounded_cumulative
from warp_core.selectors import js_minimizer, js_mmr, opinion_mmr

APPORTIONMENT = {"wassrank_ot": largest_remainder, "wassrank_ot_cumulative": rounded_cumulative}
EVERY_WASSRANK = pytest.mark.parametrize("name", APPORTIONMENT)
few_problems = partial(problems, relevances=st.integers(0, 8).map(lambda eighths: eighths / 8))


def slots_of(name, target, size) -> list[int]:
    quotas = APPORTIONMENT[name](target.weights, size)
    return [b for b, quota in enumerate(quotas) for _ in range(quota)]


@thorough
@given(problems())
def test_js_minimizer_is_the_literal_greedy_algorithm(drawn):
    problem, pool, target, k = drawn
    assert js_minimizer(pool, target, k).indices.tolist() == oracles.js_minimizer(problem, k)


@thorough
@given(problems(), WEIGHTS)
def test_js_mmr_is_the_literal_greedy_algorithm(drawn, weight):
    problem, pool, target, k = drawn
    selection = js_mmr(pool, target, k, relevance_weight=weight, rel_norm="none")
    assert selection.indices.tolist() == oracles.js_mmr(problem, k, weight)


@thorough
@given(problems(), WEIGHTS)
def test_opinion_mmr_is_the_literal_greedy_algorithm(drawn, weight):
    problem, pool, target, k = drawn
    selection = opinion_mmr(pool, target, k, relevance_weight=weight, rel_norm="none")
    assert selection.indices.tolist() == oracles.opinion_mmr(problem, k, weight)


@EVERY_WASSRANK
@thorough
@given(drawn=few_problems(), weight=WEIGHTS, k=st.integers(1, 4))
def test_wassrank_costs_what_the_best_of_all_assignments_costs(name, drawn, weight, k):
    problem, pool, target, _ = drawn
    selection = SELECTORS[name](pool, target, k, relevance_weight=weight, rel_norm="none")
    matched, known = problem.eligible("entity"), problem.eligible("pool")
    eligible = matched if len(matched) >= k else known
    chosen = selection.indices.tolist()
    assert len(chosen) == min(k, len(eligible))
    assert set(chosen) <= set(eligible)
    slots = slots_of(name, selection.target, len(chosen))
    cost = oracles.cheapest_assignment(problem, chosen, slots, weight)
    assert cost - oracles.cheapest_assignment(problem, eligible, slots, weight) < TIE


@EVERY_WASSRANK
@pytest.mark.parametrize("weight", [0, 0.1, 0.5, 0.9, 1])
@pytest.mark.parametrize("seed", range(4))
def test_wassrank_costs_what_scipys_assignment_costs(name, weight, seed):
    rng = np.random.default_rng(seed)
    relevance, bins, k = rng.random(200), rng.integers(0, 7, 200), 20
    pool, target = CandidatePool(relevance, bins), TargetDistribution.of_counts(rng.integers(0, 50, 7).tolist())
    chosen = SELECTORS[name](pool, target, k, relevance_weight=weight, rel_norm="none").indices
    slots = slots_of(name, target, k)
    apart = np.abs(bins[:, None] - np.array(slots)) / 6
    cost = (1 - weight) * apart + weight * (1 - relevance)[:, None]
    optimum, of_chosen = (matrix[linear_sum_assignment(matrix)].sum() for matrix in (cost, cost[chosen]))
    assert of_chosen == pytest.approx(optimum, abs=1e-9)
