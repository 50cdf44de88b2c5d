import numpy as np
import pytest

from warp_core import CandidatePool, OpinionScale, TargetDistribution, w1_exact
from warp_core.selectors import wassrank_ot, wassrank_ot_cumulative

RIGHT = [0, 0, 0, 0, 0, 0, 1]
ENDS = [1, 0, 0, 0, 0, 0, 1]
BOTH = pytest.mark.parametrize("selector", [wassrank_ot, wassrank_ot_cumulative])


@BOTH
def test_every_slot_gets_its_opinion_where_the_pool_has_it(selector):
    # Two slots at either end; all costs are relevance alone, so the two most relevant of each end, by relevance.
    pool = CandidatePool([0.1, 0.5, 0.9, 0.2, 0.3, 0.8], [0, 0, 0, 6, 6, 3])
    assert selector(pool, ENDS, 4, relevance_weight=0.1).indices.tolist() == [2, 1, 4, 3]


@BOTH
def test_all_slots_are_filled_at_once_not_one_by_one(selector):
    # One slot at either end. Candidate 0, at 0, and one of the ends: 0.5 * 30/60 + 0.5 * (0 + 0.1) = 0.3 at least. The
    # two ends: 0 + 0.5 * (0.1 + 0.2) = 0.15.
    pool = CandidatePool([1, 0.9, 0.8], [3, 0, 6])
    assert selector(pool, ENDS, 2, rel_norm="none").indices.tolist() == [1, 2]


@BOTH
@pytest.mark.parametrize(("weight", "first"), [(0, 1), (0.49, 1), (0.5, 0), (0.51, 0), (1, 0), (None, 0)])
def test_the_weight_decides_between_relevance_and_distance(selector, weight, first):
    # One slot, at +30. At -30 with relevance 1: (1-w) * 60/60 + w * 0. At +30 with relevance 0: 0 + w * 1. They tie at
    # w = 0.5, the default, where the more relevant wins.
    pool = CandidatePool([1, 0], [0, 6])
    assert selector(pool, RIGHT, 1, relevance_weight=weight).indices.tolist() == [first]


def test_slots_come_by_largest_remainder_or_from_the_rounded_cumulative_target():
    # Two slots for thirds: 0.67 each, so the lower bins; or cumulative 0.67, 1.33, 2, so the outer ones.
    pool = CandidatePool([0.5] * 3, [0, 1, 2], scale=OpinionScale((0, 1, 2)))
    by_remainder, by_cumulative = (choose(pool, [1, 1, 1], 2) for choose in (wassrank_ot, wassrank_ot_cumulative))
    assert by_remainder.indices.tolist() == [0, 1]
    assert by_cumulative.indices.tolist() == [0, 2]
    assert by_remainder.w1 == pytest.approx(1 / 2)  # 1/6 travels 1, 1/6 travels 2
    assert by_cumulative.w1 == pytest.approx(1 / 3)  # 1/6 from either end travels 1


def test_the_cumulative_slots_come_nearer_to_the_optimum():
    rng = np.random.default_rng(2)
    lost = {wassrank_ot: 0.0, wassrank_ot_cumulative: 0.0}
    for _ in range(50):
        pool = CandidatePool(rng.random(200), rng.choice(7, 200, p=rng.dirichlet(np.ones(7))))
        target = TargetDistribution.of_weights(rng.dirichlet(np.ones(7)))
        best = w1_exact(pool, target, 10).w1
        for selector in lost:
            lost[selector] += selector(pool, target, 10, relevance_weight=0).w1 - best
    assert lost[wassrank_ot_cumulative] < lost[wassrank_ot] / 3


@BOTH
@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, [1]),  # one matched candidate is there, and enough, though the other fits and is more relevant
        (2, [0, 1]),  # one is not enough: the whole pool
        (9, [0, 1]),
    ],
)
def test_matched_candidates_are_preferred_when_there_are_k_of_them(selector, k, expected):
    pool = CandidatePool([0.9, 0.1], [6, 0], [False, True])
    assert selector(pool, RIGHT, k).indices.tolist() == expected


@BOTH
def test_the_entity_scope_never_takes_the_others(selector):
    pool = CandidatePool([0.9, 0.1], [6, 0], [False, True])
    assert selector(pool, RIGHT, 2, scope="entity").indices.tolist() == [1]


@BOTH
def test_opinions_equally_far_from_a_slot_are_a_tie_however_sums_are_rounded(selector):
    # One slot at 0, equal relevances at -10 and +10: the earlier wins. 0.4 * 1/6 - w * r rounds differently.
    rng = np.random.default_rng(1)
    for relevance, weight in zip(rng.random(300), rng.random(300), strict=True):
        for bins in ([2, 4, 0], [4, 2, 0]):
            pool = CandidatePool([relevance, relevance, 0], bins)
            chosen = selector(pool, [0, 0, 0, 1, 0, 0, 0], 1, relevance_weight=weight, rel_norm="none").indices
            assert chosen.tolist() == [0]


@BOTH
def test_unknown_bins_come_only_as_filling(selector):
    pool = CandidatePool([0.1, 0.9, 0.2], [6, -1, 6])
    assert selector(pool, RIGHT, 3).indices.tolist() == [2, 0]
    assert selector(pool, RIGHT, 3, fill=True).indices.tolist() == [2, 0, 1]
