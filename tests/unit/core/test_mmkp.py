from itertools import combinations

import numpy as np
import pytest

from warp_core import CandidatePool
from warp_core.selectors import mmkp
from warp_core.selectors.mmkp import best_load, near_duplicates

FLAT = [1] * 7


def at(degrees) -> np.ndarray:
    """Unit vectors at these angles; 34.9 degrees apart is a cosine of 0.82."""
    radians = np.deg2rad(degrees)
    return np.column_stack([np.cos(radians), np.sin(radians)])


def order(relevance, degrees, k=9, tokens=None, **options) -> list[int]:
    pool = CandidatePool(relevance, [-1] * len(relevance), embeddings=at(degrees), tokens=tokens)
    return mmkp(pool, FLAT, k, **options).indices.tolist()


def test_groups_are_chains_of_near_neighbours():
    assert near_duplicates(at([0, 34, 68, 104, 180])).tolist() == [0, 0, 0, 1, 2]


def test_without_a_budget_the_best_of_each_group_comes_by_relevance_and_then_the_rest():
    # Groups {0, 1, 2} and {3, 4}: their best are 1 and 3; then 2, 0 and 4 by relevance.
    assert order([0.5, 0.9, 0.6, 0.7, 0.1], [0, 30, 60, 120, 130]) == [1, 3, 2, 0, 4]
    assert order([0.5, 0.9, 0.6, 0.7, 0.1], [0, 30, 60, 120, 130], 1) == [1]


def test_a_budget_that_covers_the_best_changes_nothing():
    arguments = ([0.5, 0.9, 0.6, 0.7, 0.1], [0, 30, 60, 120, 130], 2, [9, 5, 9, 5, 9])
    assert order(*arguments, token_budget=10) == [1, 3]


def test_a_smaller_budget_buys_the_most_relevance_not_the_most_relevant():
    # Three groups, 6 tokens: 0 alone is worth 1, 1 and 2 together 0.6 + 0.5.
    assert order([1, 0.6, 0.5, 0], [0, 90, 180, 270], 3, [6, 3, 3, 7], token_budget=6) == [1, 2]


def test_of_a_group_the_cheaper_one_may_win():
    # 0 and 1 are one group: 1 and 2 are worth 0.9 + 0.8, 0 with nothing left for 2 only 1.
    assert order([1, 0.9, 0.8, 0], [0, 10, 90, 180], 2, [5, 2, 3, 9], token_budget=5) == [1, 2]


def test_k_bounds_the_load_too():
    # Two documents: the best two that 6 tokens cover are 0.8 + 0.7 for 3 + 3, not three for 2 each.
    relevance, tokens = [1, 0.8, 0.7, 0.6, 0.55, 0.5, 0], [7, 3, 3, 2, 2, 2, 9]
    assert order(relevance, [0, 50, 100, 150, 200, 250, 300], 2, tokens, token_budget=6) == [1, 2]
    assert order(relevance, [0, 50, 100, 150, 200, 250, 300], 3, tokens, token_budget=6) == [3, 4, 5]


def test_what_is_left_of_the_budget_goes_to_the_most_relevant_that_fit():
    # One group. 0 does not fit; 1 does, and leaves 2 for 3.
    assert order([1, 0.9, 0.8, 0.7], [0, 1, 2, 3], 4, [9, 4, 5, 2], token_budget=6) == [1, 3]


def test_nothing_that_fits_gives_an_empty_selection():
    assert order([1, 0.5], [0, 90], 2, [3, 3], token_budget=2) == []


@pytest.mark.parametrize("seed", range(60))
def test_the_load_is_the_best_of_all_subsets(seed):
    rng = np.random.default_rng(seed)
    n, k, budget = 9, int(rng.integers(1, 6)), int(rng.integers(0, 15))
    value, tokens, groups = rng.integers(-1, 8, n) / 8, rng.integers(0, 7, n), rng.integers(0, 5, n)

    def allowed(load: tuple[int, ...]) -> bool:
        return len(set(groups[list(load)])) == len(load) and tokens[list(load)].sum() <= budget

    chosen = best_load(value, tokens, groups, k, budget)
    subsets = (load for size in range(k + 1) for load in combinations(range(n), size) if allowed(load))
    assert allowed(tuple(chosen))
    assert len(chosen) <= k
    assert value[chosen].sum() == max(value[list(load)].sum() for load in subsets)
