import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import thorough
from warp_core import CandidatePool
from warp_core.greedy import TIE
from warp_core.selectors.ranking import affordable, best_first, most_relevant_first


def pool_of(relevance, **columns) -> CandidatePool:
    return CandidatePool(relevance, [0] * len(relevance), **columns)


def ranked(scores, relevance) -> list[int]:
    return list(best_first(pool_of(relevance), np.array(scores, float)))


def literally_ranked(scores, relevance) -> list[int]:
    left, order = list(range(len(scores))), list[int]()
    while left:
        highest = max(scores[d] for d in left)
        order.append(min((d for d in left if highest - scores[d] < TIE), key=lambda d: (-relevance[d], d)))
        left.remove(order[-1])
    return order


@pytest.mark.parametrize(
    ("scores", "relevance", "expected"),
    [
        ([1, 3, 2], [0, 0, 0], [1, 2, 0]),
        ([1, 1, 1], [0.1, 0.9, 0.5], [1, 2, 0]),
        ([1, 1, 1], [0.5, 0.5, 0.5], [0, 1, 2]),
        # 12 and 6 are equal, 6 and 0 are, 12 and 0 are not: 6 first; then 12, the highest left; then 0
        ([0, 6e-10, 12e-10], [0.9, 0.8, 0.7], [1, 2, 0]),
        ([], [], []),
    ],
)
def test_the_highest_score_comes_first_and_relevance_decides_between_equals(scores, relevance, expected):
    assert ranked(scores, relevance) == expected == literally_ranked(scores, relevance)


@thorough
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 3)), max_size=12))
def test_a_ranking_is_the_literal_repetition_of_take_the_best(candidates):
    scores, relevance = [s * 4e-10 for s, _ in candidates], [r for _, r in candidates]
    assert ranked(scores, relevance) == literally_ranked(scores, relevance)


@pytest.mark.parametrize(
    ("k", "token_budget", "expected"),
    [
        (2, None, [2, 0]),
        (9, None, [2, 0, 1]),
        (9, 9, [2, 0, 1]),
        (9, 5, [2, 1]),  # 3 are spent; 4 more do not fit, 1 does
        (1, 5, [2]),
        (9, 2, [1]),
        (9, 0, []),
    ],
)
def test_a_budget_passes_over_what_it_does_not_cover(k, token_budget, expected):
    assert affordable(pool_of([0, 0, 0], tokens=[4, 1, 3]), [2, 0, 1], k, token_budget) == expected


def test_the_chosen_are_listed_by_relevance_equals_in_input_order():
    assert most_relevant_first(pool_of([0.1, 0.9, 0.1, 0.5]), {3, 2, 0}) == [3, 0, 2]
