import pytest

from warp_core import CandidatePool, OpinionScale, TargetDistribution, w1_minimizer

ENDS = [1, 0, 0, 0, 0, 0, 1]


def test_each_step_takes_the_smallest_w1_and_ties_go_to_relevance():
    # Half of the target at either end. Alone, every document costs 30: the most relevant, at 0, wins.
    # With it, -30 or +30 cost 1/2 * 30 = 15 and +10 costs 1/2 * 30 + 1/2 * 20 = 25: -30 is more relevant than +30.
    # With both, +30 costs 1/3 * 30 = 10 and +10 costs 1/6 * 30 + 1/6 * 10 + 1/2 * 20 = 16.7.
    selection = w1_minimizer(CandidatePool([0.9, 0.6, 0.5, 0.8], [3, 0, 6, 4]), ENDS, 3)
    assert selection.indices.tolist() == [0, 1, 2]
    assert selection.w1_after == pytest.approx([30, 15, 10])


def test_the_right_end_is_reached_when_the_target_lies_there():
    pool = CandidatePool([0.9, 0.8, 0.1], [0, 5, 6])
    assert w1_minimizer(pool, [0, 0, 0, 0, 0, 0, 1], 3).indices.tolist() == [2, 1, 0]


def test_uneven_distances_decide():
    # Target at 1. From 0 it is 1 away, from 3 it is 2 away.
    pool = CandidatePool([0.1, 0.9], [0, 2], scale=OpinionScale((0, 1, 3)))
    assert w1_minimizer(pool, [0, 1, 0], 2).indices.tolist() == [0, 1]


def test_only_matched_candidates_of_known_bin_are_chosen():
    pool = CandidatePool([0.9, 0.8, 0.7, 0.6], [0, 6, -1, 6], [True, False, True, True])
    assert w1_minimizer(pool, ENDS, 4).indices.tolist() == [0, 3]


def test_pool_scope_admits_the_unmatched():
    pool = CandidatePool([0.9, 0.8, 0.7, 0.6], [0, 6, -1, 6], [True, False, True, True])
    assert w1_minimizer(pool, ENDS, 4, scope="pool").indices.tolist() == [0, 1, 3]


def test_fill_appends_the_most_relevant_of_the_rest():
    pool = CandidatePool([0.6, 0.8, 0.9, 0.7], [0, 6, -1, 6], [True, False, True, True])
    assert w1_minimizer(pool, ENDS, 3, fill=True).indices.tolist() == [3, 0, 2]
    assert w1_minimizer(pool, ENDS, 9, fill=True).indices.tolist() == [3, 0, 2, 1]
    assert w1_minimizer(pool, ENDS, 1, fill=True).indices.tolist() == [3]


@pytest.mark.parametrize("bins", [[], [-1, -1]])
def test_nothing_to_choose_gives_an_empty_selection(bins):
    assert w1_minimizer(CandidatePool([1.0] * len(bins), bins), ENDS, 3).indices.tolist() == []


def test_a_relevance_weight_is_ignored():
    pool = CandidatePool([0.1, 0.9], [6, 0])
    assert w1_minimizer(pool, [0, 0, 0, 0, 0, 0, 1], 1, relevance_weight=1).indices.tolist() == [0]


def test_relevances_near_the_float_limit_break_ties():
    assert w1_minimizer(CandidatePool([-1e308, 1e308], [0, 6]), ENDS, 2).indices.tolist() == [1, 0]


@pytest.mark.parametrize("k", [1, 20])
@pytest.mark.parametrize(("d", "first"), [(1e-10, 0), (2e-12, 1)])
def test_costs_closer_than_1e_9_tie_whatever_the_length(d, first, k):
    # Shares 0.5 + d and 0.5 - d at the ends: -30 alone costs 60 * (0.5 - d), +30 alone 60 * (0.5 + d). They differ by
    # 120 * d: 1.2e-8 is a difference, 2.4e-10 is none and relevance decides.
    target = TargetDistribution.of_weights([0.5 + d, 0, 0, 0, 0, 0, 0.5 - d])
    assert w1_minimizer(CandidatePool([0.1, 0.9], [0, 6]), target, k).indices[0] == first
