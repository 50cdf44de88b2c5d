import pytest

from warp_core import CandidatePool, OpinionScale
from warp_core.selectors import opinion_mmr

ANY = [1] * 7


def order(relevance, bins, target=ANY, **options) -> list[int]:
    return opinion_mmr(CandidatePool(relevance, bins), target, 9, rel_norm="none", **options).indices.tolist()


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        # At 0, -10 and +30. After the most relevant, the similarities are 1 - 10/60 = 0.83 and 1 - 30/60 = 0.5.
        (0.5, [0, 1, 2]),  # 0.45 - 0.417 = 0.033 against 0.25 - 0.25 = 0
        (0.4, [0, 2, 1]),  # 0.36 - 0.5 = -0.14 against 0.2 - 0.3 = -0.1
        (None, [0, 1, 2]),
    ],
)
def test_relevance_is_traded_against_nearness_to_the_chosen_opinions(weight, expected):
    assert order([1, 0.9, 0.5], [3, 2, 6], relevance_weight=weight) == expected


def test_only_the_nearest_chosen_opinion_counts():
    # -30 and +30 are taken: of -20 and 0, the latter's nearest is 30 away, not 10, although their means agree.
    assert order([0.9, 0.9, 0.1, 0], [0, 6, 1, 3], relevance_weight=0.1) == [0, 1, 3, 2]


def test_the_distance_is_the_scales():
    # Positions 0, 1, 4: from 1, the last is 3 away and the first 1: similarities 0.25 and 0.75.
    pool = CandidatePool([1, 0.5, 0.5], [1, 0, 2], scale=OpinionScale((0, 1, 4)))
    assert opinion_mmr(pool, [1, 1, 1], 3).indices.tolist() == [0, 2, 1]


@pytest.mark.parametrize("bins", [[3, 2, 4], [3, 4, 2]])
def test_opinions_equally_far_come_in_input_order(bins):
    assert order([1, 0.5, 0.5], bins) == [0, 1, 2]


@pytest.mark.parametrize("target", [[1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1]])
def test_the_target_plays_no_part(target):
    assert order([1, 0.9, 0.5], [3, 2, 6], target) == [0, 1, 2]


def test_no_relevance_at_all_still_begins_with_the_most_relevant():
    assert order([0.1, 0.9, 0.2], [0, 3, 6], relevance_weight=0) == [1, 2, 0]


def test_unknown_bins_come_only_as_filling():
    assert order([0.1, 0.9], [6, -1]) == [0]
    assert order([0.1, 0.9], [6, -1], fill=True) == [0, 1]
