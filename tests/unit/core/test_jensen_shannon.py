from math import log2

import numpy as np
import pytest

from warp_core import CandidatePool, OpinionScale, TargetDistribution, w1_minimizer
from warp_core.distributions import jensen_shannon, shares
from warp_core.selectors import js_minimizer, js_mmr
from warp_core.selectors.jensen_shannon import DivergenceCost

RIGHT = [0, 0, 0, 0, 0, 0, 1]
TWO = OpinionScale((0, 1))


def order(relevance, bins, target, **options) -> list[int]:
    return js_mmr(CandidatePool(relevance, bins), target, 9, **options).indices.tolist()


def test_the_divergence_of_one_more_is_the_textbooks():
    # Target 1/2, 1/2. One document: M = 3/4, 1/4, so H(M) - H(P) / 2 - H(Q) / 2 = 0.8113 - 0 - 0.5, in either bin.
    running = DivergenceCost(TargetDistribution.of_counts([1, 1]))
    one = -0.75 * log2(0.75) - 0.25 * log2(0.25) - 0.5
    assert running.of_one_more() == pytest.approx([one, one])
    running.add(0)
    assert running.current == pytest.approx(one)
    # The second: the same bin changes nothing, the other makes it equal to the target.
    assert running.of_one_more() == pytest.approx([one, 0])
    running.add(1)
    assert running.current == pytest.approx(0)


def test_an_empty_list_is_as_far_as_lists_can_be():
    assert DivergenceCost(TargetDistribution.of_counts([1, 2])).current == 1


def test_the_divergence_of_a_long_list_is_that_of_its_shares():
    rng = np.random.default_rng(5)
    target = TargetDistribution.of_counts([0, 3, 0, 1, 7, 2, 5])
    running, counts = DivergenceCost(target), np.zeros(7)
    for b in rng.integers(0, 7, 300):
        expected = [jensen_shannon(shares(counts + one), target.shares) for one in np.eye(7)]
        assert running.of_one_more() == pytest.approx(expected, abs=1e-12)
        running.add(int(b))
        counts[b] += 1


def test_the_minimizer_takes_what_brings_the_shares_nearest():
    # Target 3/4 at -30. First the larger share. Then two at -30 would be 0.5436 - 0.8113 / 2 = 0.138 bits away, one at
    # either end 0.9544 - (1 + 0.8113) / 2 = 0.049. Then -30, for 2 of 3, and again, for 3 of 4.
    pool = CandidatePool([0.1, 0.2, 0.9, 0.3], [0, 0, 0, 6])
    assert js_minimizer(pool, [3, 0, 0, 0, 0, 0, 1], 4).indices.tolist() == [2, 3, 1, 0]


def test_an_opinion_next_to_the_target_is_as_wrong_as_the_opposite_one():
    # Target at +30. +20 and -30 are both 1 bit away, so relevance decides; W1 tells 10 from 60.
    pool = CandidatePool([0.9, 0.1], [0, 5])
    assert js_minimizer(pool, RIGHT, 1).indices.tolist() == [0]
    assert w1_minimizer(pool, RIGHT, 1).indices.tolist() == [1]


def test_the_minimizer_takes_the_entitys_candidates_only():
    pool = CandidatePool([0.9, 0.1], [6, 0], [False, True])
    assert js_minimizer(pool, RIGHT, 2).indices.tolist() == [1]
    assert js_mmr(pool, RIGHT, 2).indices.tolist() == [0, 1]


@pytest.mark.parametrize(("weight", "first"), [(0, 1), (0.49, 1), (0.5, 0), (0.51, 0), (1, 0), (None, 0)])
def test_the_weight_decides_between_relevance_and_gain(weight, first):
    # Target at +30. Candidate 0 is relevant and at -30: w * 1 + (1-w) * 0. Candidate 1: w * 0 + (1-w) * 1 / 1.
    assert order([1, 0], [0, 6], RIGHT, relevance_weight=weight)[0] == first


def test_a_divergence_of_zero_counts_as_1e_9():
    # First: 0.5 * 0.5 + 0.5 * 1 against 0.5 * 1 + 0. Then the divergence is 0, and leaving the bin costs 0.3 bits,
    # which are 3e8 times 1e-9 and outweigh relevance.
    pool = CandidatePool([0.5, 1, 0], [0, 1, 0], scale=TWO)
    assert js_mmr(pool, [1, 0], 3, rel_norm="none").indices.tolist() == [0, 2, 1]


def test_minmax_is_the_default():
    # Target at +30: at -30 the score is w * rel_0, the others' w * rel + 1 - w; 0.6 * 10 beats 0.6 + 0.4 without it.
    arguments = ([10, 5, 0], [0, 6, 6], RIGHT)
    assert order(*arguments, relevance_weight=0.6)[0] == 1
    assert order(*arguments, relevance_weight=0.6, rel_norm="none")[0] == 0


def test_a_target_given_as_shares_chooses_as_its_counts_do():
    pool = CandidatePool([0.5] * 9, [0, 1, 2] * 3, scale=OpinionScale((0, 1, 3)))
    counts, weights = TargetDistribution.of_counts([1, 3, 2]), [1 / 6, 1 / 2, 1 / 3]
    assert js_minimizer(pool, counts, 6).indices.tolist() == js_minimizer(pool, weights, 6).indices.tolist()
    assert pool.counts(js_minimizer(pool, counts, 6).indices) == [1, 3, 2]
