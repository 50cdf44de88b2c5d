import numpy as np
import pytest

from warp_core import CandidatePool
from warp_core.selectors import random, stratified

UNIFORM = [1] * 7
N, K = 30, 5


def pool_of(n=N, **columns) -> CandidatePool:
    return CandidatePool(np.linspace(1, 0, n), [-1, *[3] * (n - 1)], **columns)


def sample(seed: int, k: int = K) -> list[int]:
    return random(pool_of(), UNIFORM, k, seed=seed).indices.tolist()


def test_the_seed_decides():
    assert sample(3) == sample(3)
    assert len({tuple(sample(seed)) for seed in range(20)}) == 20


def test_the_seed_0_is_a_seed_like_any_other_and_the_default():
    assert sample(0) == random(pool_of(), UNIFORM, K).indices.tolist() != sample(1)


def test_every_candidate_is_drawn_equally_often_whatever_its_relevance_bin_or_match():
    # 2,000 draws of 5 in 30: 333 times each, standard deviation 17
    pool = pool_of(matched=[True, False] * (N // 2))
    drawn = [random(pool, UNIFORM, K, seed=seed).indices for seed in range(2000)]
    times = np.bincount(np.concatenate(drawn), minlength=N)
    assert times == pytest.approx(np.full(N, 2000 * K / N), abs=75)


def test_a_sample_is_listed_by_relevance():
    assert sample(4) == sorted(sample(4))


def test_a_budget_is_spent_in_random_order_not_by_relevance():
    # Budget for three of thirty. By relevance it would always be the first three.
    pool = pool_of(tokens=[1] * N)
    drawn = [random(pool, UNIFORM, N, seed=seed, token_budget=3).indices.tolist() for seed in range(300)]
    assert {len(chosen) for chosen in drawn} == {3}
    assert np.bincount(np.concatenate(drawn), minlength=N).max() < 60  # 30 expected, standard deviation 5.2


def test_a_sample_passes_over_what_does_not_fit():
    pool = CandidatePool([0.9, 0.8, 0.7], [0, 0, 0], tokens=[5, 1, 1])
    for seed in range(10):
        assert random(pool, UNIFORM, 3, seed=seed, token_budget=2).indices.tolist() == [1, 2]


def test_strata_are_filled_by_largest_remainder_with_the_most_relevant_of_each():
    # Target 1/4 at -30, 3/4 at +30: of 4, one and three.
    pool = CandidatePool([0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.6], [0, 0, 6, 6, 6, 6, 3])
    assert stratified(pool, [1, 0, 0, 0, 0, 0, 3], 4).indices.tolist() == [1, 3, 5, 4]


def test_what_a_stratum_lacks_goes_to_the_others():
    # Quotas 2, 1 and 1; -30 has one. The place left goes to 0 and +30 by weight, the lower first; not to +20.
    pool = CandidatePool([0.9, 0.1, 0.2, 0.3, 0.4, 0.8], [0, 3, 3, 6, 6, 5])
    assert stratified(pool, [2, 0, 0, 1, 0, 0, 1], 4).indices.tolist() == [0, 4, 2, 1]


def test_strata_outside_the_target_are_used_last():
    pool = CandidatePool([0.9, 0.8, 0.1], [5, 4, 6])
    assert stratified(pool, [0, 0, 0, 0, 0, 0, 1], 2).indices.tolist() == [1, 2]  # one more place for +10 or +20
    assert stratified(pool, [0, 0, 0, 0, 0, 0, 1], 9).indices.tolist() == [0, 1, 2]


def test_the_sampler_takes_the_entitys_candidates_only():
    pool = CandidatePool([0.9, 0.1], [6, 0], [False, True])
    assert stratified(pool, UNIFORM, 2).indices.tolist() == [1]
