from math import inf, isnan, nan

import numpy as np
import pytest

from warp_core import CandidatePool, InvalidInputError, OpinionScale, Selection, TargetDistribution

ENDS = TargetDistribution.of_counts([1, 0, 0, 0, 0, 0, 1])


@pytest.fixture
def pool() -> CandidatePool:
    return CandidatePool([0.5, 0.9, 0.5, 0.9, 0.1], [0, 6, 0, -1, 0], [True, True, False, True, True])


def chosen(pool: CandidatePool, *indices: int) -> Selection:
    return Selection(np.array(indices, np.intp), pool, ENDS)


@pytest.mark.parametrize(
    ("relevance", "bins", "matched"),
    [
        ([1, 0.5], [0, 6], [True, False]),
        ((1, 0.5), (0.0, 6.0), (1, 0)),
        (np.array([1, 0.5], np.float32), np.array([0, 6], np.int8), np.array([True, False])),
        (np.array([1, 0.5]), np.array([0, 6], np.uint64), np.array([1, 0])),
    ],
)
def test_lists_and_arrays_make_the_same_pool(relevance, bins, matched):
    pool = CandidatePool(relevance, bins, matched)
    assert (pool.relevance.tolist(), pool.bins.tolist(), pool.matched.tolist()) == ([1, 0.5], [0, 6], [True, False])


def test_all_candidates_match_when_nothing_is_said():
    assert CandidatePool([1, 2], [0, 0]).matched.tolist() == [True, True]


def test_a_pool_may_be_empty():
    pool = CandidatePool([], [])
    assert len(pool) == 0
    assert pool.by_relevance.tolist() == []
    assert pool.queues(9) == [[]] * 7
    assert pool.counts() == [0] * 7


NO_NUMBERS = [["a", "b"], ["1", "0"], [None, 1], [nan, 1], [inf, 1], [-inf, 1], [[1, 0]], 1, [[1], [1, 2]]]
REFUSED = {
    "relevance": [*NO_NUMBERS, None, [True, False]],
    "bins": [*NO_NUMBERS, None, [True, False], [0], [0, 1, 2], [0.5, 1], [7, 0], [-2, 0], [2**70, 0]],
    "matched": [*NO_NUMBERS, [True], [True] * 3, [2, 0], [0.5, 1], [-1, 0]],
}


@pytest.mark.parametrize(
    ("argument", "bad"), [(argument, bad) for argument, values in REFUSED.items() for bad in values], ids=repr
)
def test_input_that_is_no_pool_is_refused_by_name(argument, bad):
    arguments = {"relevance": [1, 2], "bins": [0, 1], "matched": [True, True], argument: bad}
    with pytest.raises(InvalidInputError) as caught:
        CandidatePool(**arguments)
    assert caught.value.argument == argument


def test_the_bins_end_where_the_scale_ends():
    scale = OpinionScale((1, 2, 3))
    assert CandidatePool([1], [2], scale=scale).counts() == [0, 0, 1]
    with pytest.raises(InvalidInputError, match=r"bins: must lie in -1 \.\. 2"):
        CandidatePool([1], [3], scale=scale)


def test_equal_relevances_keep_their_input_order(pool):
    assert pool.by_relevance.tolist() == [1, 3, 0, 2, 4]


def test_queues_hold_each_bin_most_relevant_first_and_no_unknown(pool):
    assert pool.queues(9) == [[0, 2, 4], [], [], [], [], [], [1]]


def test_counts_skip_unknown_bins(pool):
    assert pool.counts() == [3, 0, 0, 0, 0, 0, 1]
    assert pool.counts(matched_only=True) == [2, 0, 0, 0, 0, 0, 1]
    assert pool.counts([2, 3]) == [1, 0, 0, 0, 0, 0, 0]
    assert pool.counts(np.array([2, 3, 4]), matched_only=True) == [1, 0, 0, 0, 0, 0, 0]


def test_a_part_of_a_pool_has_its_own_order(pool):
    assert pool.by_relevance[0] == 1
    part = pool.take(np.array([4, 2]))
    assert (part.relevance.tolist(), part.bins.tolist(), part.matched.tolist()) == ([0.1, 0.5], [0, 0], [True, False])
    assert part.by_relevance.tolist() == [1, 0]


def test_a_selection_measures_itself(pool):
    selection = chosen(pool, 0, 1, 2, 3)
    assert len(selection) == 4
    assert selection.w1 == 10  # two at -30, one at +30: 2/3 - 1/2 travels 60
    assert selection.w1_matched == 0  # candidate 2 does not match: one at either end
    assert selection.w1_after == [30, 0, 10, 10]
    assert selection.em == 0.75


def test_an_empty_selection_has_no_w1_and_no_match(pool):
    selection = chosen(pool)
    assert isnan(selection.w1)
    assert isnan(selection.w1_matched)
    assert (selection.w1_after, selection.em) == ([], 0)


def test_a_selection_of_unknown_bins_has_no_w1(pool):
    assert isnan(chosen(pool, 3).w1)


def test_a_selection_without_a_match_has_no_matched_w1(pool):
    assert isnan(chosen(pool, 2).w1_matched)
    assert chosen(pool, 2).w1 == 30
