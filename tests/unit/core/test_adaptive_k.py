"""Adaptive k (WARP, C.3): the list ends before the first document that lowers W1 by less than `min_gain`."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import for_each_selector, problems, thorough
from warp_core import SELECTORS, CandidatePool, InvalidInputError, OpinionScale, top_k, w1_minimizer

ENDS = [1, 0, 0, 0, 0, 0, 1]
TWO_OF_EACH = CandidatePool([0.9, 0.8, 0.7, 0.6], [0, 6, 0, 6])
GAINS = st.sampled_from([0, 0.01, 0.5, 2.5, 10])


@pytest.mark.parametrize(
    ("min_gain", "length"),
    [
        # W1 after each: 30, 0, then 10 (1/6 travels 60), then 0: gains 30, -10, 10.
        (None, 4),
        (0, 2),
        (30, 2),  # a gain of just as much is enough
        (30.1, 1),
        (60, 1),
    ],
)
def test_the_list_ends_before_the_first_gain_that_is_too_small(min_gain, length):
    chosen = w1_minimizer(TWO_OF_EACH, ENDS, 4, min_gain=min_gain).indices.tolist()
    assert chosen == [0, 1, 2, 3][:length]


def test_a_later_large_gain_does_not_bring_it_back():
    # W1 after each: 30, 30 (relevance picks the second -30), then 10: gains 0 and 20.
    pool = CandidatePool([0.9, 0.8, 0.7], [0, 0, 6])
    assert top_k(pool, ENDS, 3, min_gain=5).indices.tolist() == [0]


def test_the_first_document_of_known_bin_has_nothing_to_be_compared_with():
    assert top_k(CandidatePool([0.9, 0.8], [3, 3]), ENDS, 2, min_gain=60).indices.tolist() == [0]


def test_it_counts_for_what_filling_adds_too():
    # W1 after each of the entity's: 30 and 0; the filling at 0 would make it 10, for 1/6 from either end.
    pool = CandidatePool([0.9, 0.8, 0.7], [0, 6, 3], [True, True, False])
    assert w1_minimizer(pool, ENDS, 3, fill=True).indices.tolist() == [0, 1, 2]
    assert w1_minimizer(pool, ENDS, 3, fill=True, min_gain=0).indices.tolist() == [0, 1]


@pytest.mark.parametrize("name", SELECTORS)
@for_each_selector
@given(drawn=problems(), min_gain=GAINS)
def test_it_is_a_beginning_of_the_full_list_never_longer_than_k(name, drawn, min_gain):
    _, pool, target, k = drawn
    full = SELECTORS[name](pool, target, k).indices.tolist()
    short = SELECTORS[name](pool, target, k, min_gain=min(min_gain, pool.scale.range)).indices.tolist()
    assert short == full[: len(short)]
    assert min(1, len(full)) <= len(short) <= k


@thorough
@given(drawn=problems(), min_gain=GAINS)
def test_every_document_but_the_first_gains_enough_and_the_next_would_not(drawn, min_gain):
    _, pool, target, k = drawn
    min_gain = min(min_gain, pool.scale.range)
    path = w1_minimizer(pool, target, k).w1_after
    length = len(w1_minimizer(pool, target, k, min_gain=min_gain))
    gains = [before - after for before, after in pairwise(path)]
    assert all(gain >= min_gain for gain in gains[: max(length - 1, 0)])
    assert length == len(path) or not gains[length - 1] >= min_gain


@pytest.mark.parametrize("bad", [-0.1, 60.1, float("nan"), float("inf"), "1", True])
def test_a_gain_lies_between_0_and_the_scales_range(bad):
    with pytest.raises(InvalidInputError) as caught:
        w1_minimizer(TWO_OF_EACH, ENDS, 4, min_gain=bad)
    assert caught.value.argument == "min_gain"


def test_the_range_is_the_scales_own():
    pool = CandidatePool([0.9, 0.8], [0, 1], scale=OpinionScale((0, 1)))
    assert w1_minimizer(pool, [1, 1], 2, min_gain=0.5).indices.tolist() == [0, 1]
    with pytest.raises(InvalidInputError):
        w1_minimizer(pool, [1, 1], 2, min_gain=2)
