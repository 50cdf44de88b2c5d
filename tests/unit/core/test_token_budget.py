"""A token budget is kept by every selector, and a greedy one chooses as if only what still fits were there."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from tests.strategies import WEIGHTS, for_each_selector, problems, thorough
from warp_core import SELECTORS, CandidatePool, InvalidInputError, top_k, w1_minimizer, w1_mmr
from warp_core.selectors import js_minimizer, js_mmr, opinion_mmr, wassrank_ot

ENDS = [1, 0, 0, 0, 0, 0, 1]
BUDGETS = st.integers(0, 12)
without_weight = pytest.mark.parametrize(
    ("selector", "literal"), [(w1_minimizer, oracles.w1_minimizer), (js_minimizer, oracles.js_minimizer)]
)
with_weight = pytest.mark.parametrize(
    ("selector", "literal"),
    [(w1_mmr, oracles.w1_mmr), (js_mmr, oracles.js_mmr), (opinion_mmr, oracles.opinion_mmr)],
)


def spent(pool, selection) -> int:
    return int(pool.tokens[selection.indices].sum())


@without_weight
@thorough
@given(drawn=problems(), budget=BUDGETS)
def test_a_greedy_selector_takes_the_best_that_still_fits(selector, literal, drawn, budget):
    problem, pool, target, k = drawn
    chosen = selector(pool, target, k, token_budget=budget).indices.tolist()
    assert chosen == literal(replace(problem, token_budget=budget), k)


@with_weight
@thorough
@given(drawn=problems(), weight=WEIGHTS, budget=BUDGETS)
def test_a_blending_selector_takes_the_best_that_still_fits(selector, literal, drawn, weight, budget):
    problem, pool, target, k = drawn
    selection = selector(pool, target, k, relevance_weight=weight, rel_norm="none", token_budget=budget)
    assert selection.indices.tolist() == literal(replace(problem, token_budget=budget), k, weight)


@pytest.mark.parametrize("name", SELECTORS)
@for_each_selector
@given(drawn=problems(), budget=BUDGETS, fill=st.booleans())
def test_no_selector_spends_more_than_the_budget(name, drawn, budget, fill):
    _, pool, target, k = drawn
    selection = SELECTORS[name](pool, target, k, token_budget=budget, fill=fill, query="opinion 1")
    assert spent(pool, selection) <= budget
    assert len(set(selection.indices.tolist())) == len(selection) <= k


@pytest.mark.parametrize("name", SELECTORS)
@for_each_selector
@given(drawn=problems())
def test_a_budget_for_everything_changes_nothing(name, drawn):
    _, pool, target, k = drawn
    unlimited = SELECTORS[name](pool, target, k)
    limited = SELECTORS[name](pool, target, k, token_budget=int(pool.tokens.sum()))
    assert limited.indices.tolist() == unlimited.indices.tolist()


@pytest.mark.parametrize("name", SELECTORS)
@for_each_selector
@given(drawn=problems(), budget=BUDGETS)
def test_a_filled_selection_has_room_for_none_of_the_rest(name, drawn, budget):
    _, pool, target, k = drawn
    selection = SELECTORS[name](pool, target, k, token_budget=budget, fill=True)
    rest = set(range(len(pool))) - set(selection.indices.tolist())
    assert len(selection) == k or all(spent(pool, selection) + pool.tokens[d] > budget for d in rest)


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (0, [3]),  # what costs nothing is free
        (2, [2, 3]),
        (5, [0, 3]),
        (6, [0, 3]),  # one token is left, which is no part of an item
        (7, [0, 2, 3]),
        (8, [0, 1, 3]),
        (10, [0, 1, 2, 3]),
    ],
)
def test_items_are_taken_whole_or_passed_over(budget, expected):
    pool = CandidatePool([0.9, 0.8, 0.7, 0.6], [3] * 4, tokens=[5, 3, 2, 0])
    assert top_k(pool, ENDS, 4, token_budget=budget).indices.tolist() == expected


def test_what_comes_after_a_passed_over_item_is_chosen_knowing_it_was():
    # Target half and half. -30 is taken; the only +30 does not fit, so the next is again judged against the target:
    # +20 leaves it 5 away, -30 leaves it 30 away.
    pool = CandidatePool([0.9, 0.8, 0.7, 0.6], [0, 6, 0, 5], tokens=[1, 9, 1, 1])
    assert w1_minimizer(pool, ENDS, 2, token_budget=3).indices.tolist() == [0, 3]


def test_filling_stays_within_what_is_left():
    # The entity's two cost 4 of 7; of the others, by relevance, the first costs 4 and the second 3.
    pool = CandidatePool([0.1, 0.2, 0.9, 0.8, 0.7], [0, 6, 3, 3, 3], [True, True, False, False, False])
    limited = CandidatePool(pool.relevance, pool.bins, pool.matched, tokens=[2, 2, 4, 3, 1])
    assert w1_minimizer(limited, ENDS, 5, token_budget=7).indices.tolist() == [1, 0]
    assert w1_minimizer(limited, ENDS, 5, token_budget=7, fill=True).indices.tolist() == [1, 0, 3]


def test_an_assignment_is_made_again_without_what_does_not_fit():
    # One slot at either end. The most relevant of each costs 5; together they do not fit, and the cheaper -30 remains.
    pool = CandidatePool([0.9, 0.8, 0.7], [6, 0, 0], tokens=[5, 5, 2])
    assert wassrank_ot(pool, ENDS, 2, token_budget=7).indices.tolist() == [0, 2]


@pytest.mark.parametrize("bad", [-1, 1.5, "9", True, float("nan")])
def test_a_budget_is_a_whole_number_of_at_least_0(bad):
    pool = CandidatePool([0.9], [3], tokens=[1])
    with pytest.raises(InvalidInputError) as caught:
        top_k(pool, ENDS, 1, token_budget=bad)
    assert caught.value.argument == "token_budget"


def test_a_budget_needs_the_tokens():
    with pytest.raises(InvalidInputError) as caught:
        top_k(CandidatePool([0.9], [3]), ENDS, 1, token_budget=5)
    assert caught.value.argument == "tokens"


def test_a_relevance_is_normalised_over_the_pool_not_over_what_fits():
    # Over the pool 0.5 stretches to 0.5, and at +30 it wins: 0.5 * 0.5 + 0.5 * 1 / 1 against 0.5 * 0.6 + 0. Over what
    # fits it would be 0 of 0 .. 1.
    pool = CandidatePool([1, 0.6, 0.5, 0], [0, 0, 6, 0], tokens=[9, 1, 1, 9])
    assert w1_mmr(pool, [0, 0, 0, 0, 0, 0, 1], 1, relevance_weight=0.6, token_budget=1).indices.tolist() == [2]
