import numpy as np
import pytest

from warp_core import CandidatePool, OpinionScale
from warp_core.selectors import dpp, entity_dpp, kdpp

FLAT = [1] * 7


def over_positions(relevance, bins, k=9, **options) -> list[int]:
    return dpp(CandidatePool(relevance, bins), FLAT, k, **options).indices.tolist()


def over_embeddings(relevance, embeddings, k=9) -> list[int]:
    pool = CandidatePool(relevance, [-1] * len(relevance), embeddings=embeddings)
    return kdpp(pool, FLAT, k).indices.tolist()


def test_each_step_multiplies_the_determinant_most():
    # All relevances equal, so all qualities are 1. First by position: 0, at -30. Similarities to it are 1/2 at 0 and 0
    # at +30: d^2 is 3/4 and 1, so 2. Then 1 has similarity 1/2 to both: 1 - 1/4 - 1/4; 3 is a twin of 0 and has 0.
    assert over_positions([1, 1, 1, 1], [0, 3, 6, 0]) == [0, 2, 1, 3]


def test_quality_is_one_more_than_relevance():
    # q^2 is 4 for the first, relevance 1. Then q^2 * (1 - similarity^2): 1 has 1 * (1 - 0) = 1 at the other end, 2 has
    # (1 + r)^2 * 3/4 in the middle: more from (1 + r)^2 = 4/3, r = 0.1547, on.
    assert over_positions([1, 0, 0.154], [0, 6, 3]) == [0, 1, 2]
    assert over_positions([1, 0, 0.155], [0, 6, 3]) == [0, 2, 1]


def test_once_every_bin_has_one_the_rest_follows_by_relevance():
    assert over_positions([0.1, 0.2, 0.3, 0.9, 0.8, 0.7], [0, 6, 0, 6, 0, 6]) == [3, 4, 5, 2, 1, 0]


def test_distances_count_in_units_of_the_scale():
    # Positions 0, 9, 10. After 0: similarity 0.1 at 9 and 0 at 10, so 2. Bins alone would not tell.
    pool = CandidatePool([1, 1, 1], [0, 1, 2], scale=OpinionScale((0, 9, 10)))
    assert dpp(pool, [1, 1, 1], 3).indices.tolist() == [0, 2, 1]


def test_unknown_bins_and_unmatched_candidates_stay_out():
    pool = CandidatePool([1, 0.9, 0.8], [-1, 0, 6], [True, False, True])
    assert dpp(pool, FLAT, 3).indices.tolist() == [1, 2]
    assert entity_dpp(pool, FLAT, 3).indices.tolist() == [2]


def test_what_follows_by_relevance_keeps_the_budget():
    pool = CandidatePool([1, 0.9, 0.8, 0.7], [0, 0, 0, 6], tokens=[2, 3, 1, 2])
    assert dpp(pool, FLAT, 4, token_budget=5).indices.tolist() == [0, 3, 2]


def test_embeddings_are_compared_by_their_clipped_cosine():
    # 1 - cos^2 to the first: 0.64 for a cosine of 0.6; 1 for one of -0.6, which counts as 0.
    assert over_embeddings([1, 1, 1], [[1, 0], [3, 4], [-3, 4]], 2) == [0, 2]


def test_a_huge_range_of_relevance_leaves_gains_finite():
    relevance = [1e308, -1e308, 0]
    pool = CandidatePool(relevance, [0, 3, 6], embeddings=[[1, 0], [0, 1], [1, 1]])
    for selector in (dpp, kdpp):
        assert selector(pool, FLAT, 3, rel_norm="none").indices.tolist() == [0, 2, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "k"), [(10, 5), (1000, 50)])
def test_identical_embeddings_give_k_picks_in_input_order(n, k, dtype):
    """laming-chen/fast-map-dpp#1."""
    assert over_embeddings([0.5] * n, np.ones((n, 8), dtype), k) == list(range(k))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_near_duplicates_give_k_distinct_picks(dtype):
    """laming-chen/fast-map-dpp#1: the residual is used up after a few."""
    noise = np.random.default_rng(3).normal(size=(1000, 8)) * 1e-6
    picked = over_embeddings(np.linspace(0, 1, 1000), (1 + noise).astype(dtype), 50)
    assert len(set(picked)) == 50
