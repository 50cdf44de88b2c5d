import numpy as np
import pytest

from warp_core import CandidatePool, InvalidInputError
from warp_core.selectors import entity_mmr, mmr

FLAT = [1] * 7
EAST, NORTH, BETWEEN = [2.0, 0.0], [0.0, 0.5], [3.0, 4.0]
"""Lengths play no part. BETWEEN has a cosine of 0.6 to the first and of 0.8 to the second."""


def order(relevance, embeddings, k=9, **options) -> list[int]:
    pool = CandidatePool(relevance, [-1] * len(relevance), embeddings=embeddings)
    return mmr(pool, FLAT, k, **options).indices.tolist()


def test_the_most_relevant_comes_first_whatever_the_weight():
    for weight in (0, 0.5, 1):
        assert order([0, 1, 0.5], [EAST, NORTH, BETWEEN], 1, relevance_weight=weight) == [1]


def test_scores_trade_relevance_against_the_nearest_of_the_list():
    # First 0. Then 1 scores 0.5 * 0.8 - 0.5 * 1 = -0.1, 2 scores 0.5 * 0 - 0.5 * 0 = 0, 3 scores 0.25 - 0.3 = -0.05.
    # After 2 the nearest of 3 is 2, at 0.8: 0.25 - 0.4 = -0.15, so that 1 comes before it.
    assert order([1, 0.8, 0, 0.5], [EAST, EAST, NORTH, BETWEEN]) == [0, 2, 1, 3]


def test_a_negative_cosine_speaks_for_a_candidate():
    # 1 scores 0.5 * 0 + 0.5 * 1, 2 scores 0.5 * 0.9 - 0.
    assert order([1, 0, 0.9], [EAST, [-1.0, 0.0], NORTH], 2) == [0, 1]


@pytest.mark.parametrize(("weight", "expected"), [(0, [0, 2, 1]), (0.5, [0, 1, 2]), (1, [0, 1, 2])])
def test_the_weight_decides_and_half_is_the_default(weight, expected):
    # At 0.5, 1 scores 0.5 * 1 - 0.5 * 0.6 = 0.2, 2 scores 0.
    assert order([1, 1, 0], [EAST, BETWEEN, NORTH], relevance_weight=weight) == expected
    assert order([1, 1, 0], [EAST, BETWEEN, NORTH]) == [0, 1, 2]


def test_a_zero_embedding_is_similar_to_nothing():
    assert order([1, 0.5, 0.5], [EAST, EAST, [0.0, 0.0]]) == [0, 2, 1]


@pytest.mark.parametrize("n", [5, 100])
def test_equals_come_in_input_order_in_small_and_in_large_pools(n):
    assert order([0.5] * n, [EAST] * n, 5) == [0, 1, 2, 3, 4]


def test_equals_among_the_best_of_a_large_pool_come_in_input_order():
    # Those to the north are alike and beat all twins of the first.
    embeddings = [NORTH if i % 9 == 5 else EAST for i in range(100)]
    assert order([1.0] + [0.5] * 99, embeddings, 4, relevance_weight=0.1) == [0, 5, 1, 2]
    assert order([1.0] + [0.5] * 99, embeddings, 4, relevance_weight=0.9) == [0, 5, 1, 2]


def test_of_many_scores_within_the_tie_the_most_relevant_wins():
    relevance = [1.0, *([0.5] * 60), 0.5 + 1e-12, *([0.5] * 38), 0.0]
    assert order(relevance, [EAST] * 101, 3) == [0, 61, 1]


def test_in_a_large_pool_a_late_winner_is_found():
    # 0 and twins of it that are nearly as relevant; the only other direction is the least relevant, yet second.
    assert order([*np.linspace(1, 0.9, 99), 0.5], [EAST] * 99 + [NORTH], 3) == [0, 99, 1]


def test_the_budget_passes_over_what_it_does_not_cover():
    pool = CandidatePool([1, 0.5, 0], [-1] * 3, embeddings=[EAST, NORTH, BETWEEN], tokens=[1, 3, 2])
    assert mmr(pool, FLAT, 3, token_budget=3).indices.tolist() == [0, 2]


def test_entity_mmr_takes_matched_candidates_only():
    pool = CandidatePool([1, 0.5, 0], [-1] * 3, [False, True, True], embeddings=[EAST, EAST, NORTH])
    assert entity_mmr(pool, FLAT, 3).indices.tolist() == [1, 2]


def test_it_needs_embeddings():
    with pytest.raises(InvalidInputError, match=r"^embeddings: "):
        mmr(CandidatePool([1], [0]), FLAT, 1)
