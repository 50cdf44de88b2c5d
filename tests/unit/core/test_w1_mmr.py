import numpy as np
import pytest

from warp_core import CandidatePool, OpinionScale, TargetDistribution, w1_mmr
from warp_core.candidates import normalised

ENDS = [1, 0, 0, 0, 0, 0, 1]
RIGHT = [0, 0, 0, 0, 0, 0, 1]


def order(relevance, bins, target, **options) -> list[int]:
    return w1_mmr(CandidatePool(relevance, bins), target, 9, **options).indices.tolist()


def test_scores_blend_relevance_with_the_relative_gain():
    # Half of the target at either end. First: W1 60 -> 30 wherever the document lies, gain 0.5: the most relevant wins.
    # Second: 30 -> 15 for either end, gain 0.5: scores 0.5 * 0.5 + 0.25 = 0.5 against 0.5 * 0.25 + 0.25 = 0.375.
    assert order([1, 0.5, 0.25], [3, 0, 6], ENDS, rel_norm="none") == [0, 1, 2]


@pytest.mark.parametrize(("weight", "first"), [(0, 1), (0.49, 1), (0.5, 0), (0.51, 0), (1, 0), (None, 0)])
def test_the_weight_decides_between_relevance_and_gain(weight, first):
    # Target at +30. Candidate 0 is relevant and at -30: w * 1 + (1-w) * 0. Candidate 1: w * 0 + (1-w) * 60/60.
    # They tie at w = 0.5, the default, where the more relevant wins.
    assert order([1, 0], [0, 6], RIGHT, relevance_weight=weight)[0] == first


def test_a_w1_of_zero_counts_as_1e_9():
    # First: 0.5 * 0.5 + 0.5 * 1 against 0.5 * 1 and 0.5 * 1. Then W1 is 0: the document a mere 1e-4 away adds 5e-5 to
    # it, which is 50,000 times 1e-9 and outweighs its relevance.
    pool = CandidatePool([0.5, 1, 0], [0, 1, 0], scale=OpinionScale((0, 1e-4)))
    assert w1_mmr(pool, [1, 0], 3, rel_norm="none").indices.tolist() == [0, 2, 1]


def test_unmatched_candidates_are_chosen_unless_the_scope_is_the_entity():
    pool = CandidatePool([0.1, 0.9], [6, 0], [False, True])
    assert w1_mmr(pool, RIGHT, 2, relevance_weight=0).indices.tolist() == [0, 1]
    assert w1_mmr(pool, RIGHT, 2, relevance_weight=0, scope="entity").indices.tolist() == [1]


def test_unknown_bins_come_only_as_filling():
    assert order([0.1, 0.9, 0.2], [6, -1, 6], RIGHT) == [2, 0]
    assert order([0.1, 0.9, 0.2], [6, -1, 6], RIGHT, fill=True) == [2, 0, 1]


@pytest.mark.parametrize("bins", [[], [-1, -1]])
def test_nothing_to_choose_gives_an_empty_selection(bins):
    assert order([1.0] * len(bins), bins, RIGHT) == []


@pytest.mark.parametrize(
    ("relevance", "weight", "first_by_norm"),
    [
        # Target at +30, only candidate 0 lies elsewhere, at -30: it scores w * rel_0, the others w * rel + 1 - w.
        # none: 5 and 4.5 + 0.5, a tie; minmax: 0.5 and 0.45 + 0.5; rank: 0.5 and 0.25 + 0.5
        ([10, 9, 0], 0.5, {"none": 0, "minmax": 1, "rank": 1}),
        # none: 6 and 0.6 + 0.4; minmax: 0.6 and 0.06 + 0.4; rank: 0.6 and 0.3 + 0.4
        ([10, 1, 0], 0.6, {"none": 0, "minmax": 0, "rank": 1}),
    ],
)
def test_the_normalisation_decides_how_much_relevance_counts(relevance, weight, first_by_norm):
    for rel_norm, first in first_by_norm.items():
        assert order(relevance, [0, 6, 6], RIGHT, relevance_weight=weight, rel_norm=rel_norm)[0] == first


def test_minmax_is_the_default():
    arguments = ([10, 9, 0], [0, 6, 6], RIGHT)
    assert order(*arguments) == order(*arguments, rel_norm="minmax") != order(*arguments, rel_norm="none")


@pytest.mark.parametrize(
    ("rel_norm", "relevance", "expected"),
    [
        ("none", [3, -1, 3], [3, -1, 3]),
        ("minmax", [3, -1, 1], [1, 0, 0.5]),
        ("rank", [30, -1, 2, 30], [1, 0, 0.5, 1]),
        ("minmax", [4, 4], [0, 0]),
        ("rank", [4, 4], [0, 0]),
        ("minmax", [-1e308, 0, 1e308], [0, 0.5, 1]),
        ("rank", [-1e308, 0, 1e308], [0, 0.5, 1]),
        ("minmax", [], []),
        ("rank", [], []),
    ],
)
def test_relevance_is_normalised(rel_norm, relevance, expected):
    assert normalised(np.array(relevance, float), rel_norm) == pytest.approx(np.array(expected))


@pytest.mark.parametrize("rel_norm", ["none", "minmax", "rank"])
def test_huge_relevances_keep_their_order(rel_norm):
    assert order([-1e308, 0, 1e308], [6, 6, 6], RIGHT, rel_norm=rel_norm) == [2, 1, 0]


def test_one_huge_negative_relevance_does_not_hide_the_order_of_the_rest():
    # -3.4e38, the lowest float32, is what some retrievers give a masked document
    assert order([0.2, 0.9, -3.4e38], [6, 6, 6], RIGHT, relevance_weight=1) == [1, 0, 2]


def test_a_target_given_as_shares_chooses_as_its_counts_do():
    # Positions 0, 1, 3, target 1/6, 1/2, 1/3. The first six match it. Then 0 and 3 cost the same, 1.5 / 7, so that
    # relevance decides between the last two.
    pool = CandidatePool([1, 1, 1, 1, 1, 1, 0.5, 0.5001], [0, 1, 1, 1, 2, 2, 0, 2], scale=OpinionScale((0, 1, 3)))
    for target in (TargetDistribution.of_counts([1, 3, 2]), [1 / 6, 1 / 2, 1 / 3]):
        assert w1_mmr(pool, target, 8, rel_norm="none").indices.tolist()[6:] == [7, 6]
