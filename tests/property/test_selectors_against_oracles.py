"""The fast selectors give what the papers' literal algorithms and exhaustive search give."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests import oracles
from tests.oracles import TIE, Problem
from warp_core import (
    SELECTORS,
    CandidatePool,
    OpinionScale,
    TargetDistribution,
    reachable_w1,
    w1_exact,
    w1_minimizer,
    w1_mmr,
)

SCALES = [(-30, -20, -10, 0, 10, 20, 30), (1, 2, 3, 4, 5), (0, 1), (-2, 0, 0.5, 7), (0, 0.1, 0.35, 1)]
RELEVANCES = st.integers(-8, 8).map(lambda eighths: eighths / 8) | st.floats(-100, 100)
WEIGHTS = st.sampled_from([0, 0.1, 0.5, 0.75, 1])
SCOPES = st.sampled_from(["pool", "entity"])

thorough = settings(deadline=None, max_examples=200)


@st.composite
def problems(draw):
    """A problem, its pool, its target (as counts, as the shares of counts, or as any weights) and k."""
    positions = draw(st.sampled_from(SCALES))
    candidates = st.tuples(RELEVANCES, st.integers(-1, len(positions) - 1), st.booleans())
    relevance, bins, matched = zip(*draw(st.lists(candidates, min_size=1, max_size=8)), strict=True)
    counts = st.lists(st.integers(0, 6), min_size=len(positions), max_size=len(positions)).filter(any)
    floats = st.lists(st.floats(0, 1), min_size=len(positions), max_size=len(positions)).filter(any)
    weights, target = draw(
        counts.map(lambda c: (c, TargetDistribution.of_counts(c)))
        | counts.map(lambda c: (c, [count / sum(c) for count in c]))
        | floats.map(lambda w: (w, w))
    )
    pool = CandidatePool(relevance, bins, matched, OpinionScale(positions))
    return Problem(positions, relevance, bins, matched, weights), pool, target, draw(st.integers(1, len(bins) + 1))


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
