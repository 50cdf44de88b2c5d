"""The fast selectors give what the papers' literal algorithms and exhaustive search give."""

import pytest
from hypothesis import assume, given

from tests import oracles
from tests.oracles import TIE
from tests.strategies import SCOPES, WEIGHTS, problems, thorough
from warp_core import SELECTORS, reachable_w1, w1_exact, w1_minimizer, w1_mmr


@thorough
@given(problems())
def test_w1_minimizer_is_algorithm_1(drawn):
    problem, pool, target, k = drawn
    assert w1_minimizer(pool, target, k).indices.tolist() == oracles.w1_minimizer(problem, k)


@thorough
@given(problems(), WEIGHTS)
def test_w1_mmr_is_algorithm_4(drawn, weight):
    problem, pool, target, k = drawn
    selection = w1_mmr(pool, target, k, relevance_weight=weight, rel_norm="none")
    assert selection.indices.tolist() == oracles.w1_mmr(problem, k, weight)


@thorough
@given(problems(), SCOPES)
def test_w1_exact_reaches_the_minimum_w1_then_the_maximum_relevance(drawn, scope):
    problem, pool, target, k = drawn
    assume(problem.eligible(scope))
    selection = w1_exact(pool, target, k, scope=scope)
    chosen = selection.indices.tolist()
    w1, relevance = oracles.least_w1(problem, k, scope)
    assert problem.w1(chosen) - w1 < TIE
    assert problem.total_relevance(chosen) >= relevance
    assert reachable_w1(pool, selection.target, k, scope) == pytest.approx(float(w1), abs=1e-9)


@thorough
@given(problems(), SCOPES, WEIGHTS.filter(bool))
def test_w1_exact_reaches_the_minimum_of_the_blend(drawn, scope, weight):
    problem, pool, target, k = drawn
    assume(problem.eligible(scope))
    chosen = w1_exact(pool, target, k, scope=scope, relevance_weight=weight).indices.tolist()
    assert abs(oracles.blended(problem, chosen, weight) - oracles.least_blended(problem, k, scope, weight)) < TIE


@thorough
@given(problems())
def test_no_selector_beats_w1_exact_at_the_same_length(drawn):
    _, pool, target, k = drawn
    for name, selector in SELECTORS.items():
        selection = selector(pool, target, k)
        of_known_bin = sum(pool.counts(selection.indices))
        if of_known_bin:
            assert selection.w1 >= w1_exact(pool, target, of_known_bin, scope="pool").w1 - TIE, name
