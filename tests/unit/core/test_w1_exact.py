from math import isnan

import pytest

from warp_core import CandidatePool, OpinionScale, TargetDistribution, reachable_w1, w1_exact, w1_minimizer

ENDS = [1, 0, 0, 0, 0, 0, 1]
RIGHT = [0, 0, 0, 0, 0, 0, 1]


def test_the_best_set_is_found_where_greedy_misses_it():
    # Half of the target at either end: {-30, +30} costs 0; the minimizer begins with the more relevant 0, ends at 15.
    pool = CandidatePool([0.9, 0.8, 0.7], [3, 0, 6])
    exact, greedy = w1_exact(pool, ENDS, 2), w1_minimizer(pool, ENDS, 2)
    assert (exact.indices.tolist(), exact.w1) == ([1, 2], 0)
    assert (greedy.indices.tolist(), greedy.w1) == ([0, 1], 15)


def test_the_set_comes_in_the_order_in_which_the_minimizer_would_take_it():
    # Target 1/4 at -30, 3/4 at +30. Alone, +30 costs 1/4 * 60 = 15 and -30 costs 45. Then one of either costs
    # (1/2 - 1/4) * 60 = 15 and two at +30 cost 15 too: the more relevant -30 wins. Then (1/3 - 1/4) * 60 = 5, then 0.
    pool = CandidatePool([0.9, 0.1, 0.2, 0.3], [0, 6, 6, 6])
    selection = w1_exact(pool, [1, 0, 0, 0, 0, 0, 3], 4)
    assert selection.indices.tolist() == [3, 0, 2, 1]
    assert selection.w1_after == pytest.approx([15, 15, 5, 0])


def test_of_the_sets_with_minimum_w1_the_most_relevant_is_chosen():
    # Target at 0: {-10, 0} and {0, +10} cost 5 each, total relevance 0.9 and 1.1.
    pool = CandidatePool([0.4, 0.5, 0.6], [2, 3, 4])
    assert w1_exact(pool, [0, 0, 0, 1, 0, 0, 0], 2).indices.tolist() == [1, 2]


@pytest.mark.parametrize(("weight", "chosen"), [(0, 1), (0.49, 1), (0.51, 0), (1, 0), (None, 1)])
def test_the_blend_weighs_w1_over_range_against_mean_relevance(weight, chosen):
    # Target at +30. At -30 with relevance 1: (1-w) * 60/60 - w = 1 - 2w. At +30 with relevance 0: 0. They meet at 0.5.
    pool = CandidatePool([1, 0], [0, 6])
    assert w1_exact(pool, RIGHT, 1, relevance_weight=weight).indices.tolist() == [chosen]


def test_the_scope_is_the_entity_unless_the_pool_is_asked_for():
    pool = CandidatePool([0.1, 0.9], [6, 0], [False, True])
    assert w1_exact(pool, RIGHT, 1).indices.tolist() == [1]
    assert w1_exact(pool, RIGHT, 1, scope="pool").indices.tolist() == [0]


def test_unknown_bins_come_only_as_filling():
    pool = CandidatePool([0.1, 0.9, 0.2], [6, -1, 0])
    assert w1_exact(pool, RIGHT, 3).indices.tolist() == [0, 2]
    assert w1_exact(pool, RIGHT, 3, fill=True).indices.tolist() == [0, 2, 1]


@pytest.mark.parametrize("bins", [[], [-1, -1]])
@pytest.mark.parametrize("weight", [0, 0.5])
def test_nothing_to_choose_gives_an_empty_selection(bins, weight):
    pool = CandidatePool([1.0] * len(bins), bins)
    assert w1_exact(pool, RIGHT, 3, relevance_weight=weight).indices.tolist() == []


@pytest.mark.parametrize("rel_norm", ["none", "minmax", "rank"])
def test_huge_relevances_can_be_blended(rel_norm):
    pool = CandidatePool([-1e308, 1e308, 0], [0, 0, 0])
    selection = w1_exact(pool, RIGHT, 2, relevance_weight=0.5, rel_norm=rel_norm)
    assert selection.indices.tolist() == [1, 2]


@pytest.mark.parametrize("target", [TargetDistribution.of_counts([1, 3, 2]), [1 / 6, 1 / 2, 1 / 3], [1, 3, 2]])
def test_a_target_given_as_shares_ties_as_its_counts_do(target):
    # Positions 0, 1, 3: alone, 0 costs 1/2 * 1 + 1/3 * 3 = 1.5 and 3 costs 1/6 * 3 + 1/2 * 2 = 1.5: relevance decides.
    pool = CandidatePool([0.1, 0.9], [0, 2], scale=OpinionScale((0, 1, 3)))
    assert w1_exact(pool, target, 1).indices.tolist() == [1]


@pytest.mark.parametrize(
    ("k", "scope", "w1"),
    [
        # Half of the target at either end; candidates at 0, -30, +30, the last unmatched, and one of unknown bin.
        (1, "pool", 30),  # wherever it lies
        (2, "pool", 0),  # either end
        (9, "pool", 10),  # all three: 1/3 travels 30
        (2, "entity", 15),  # 0 and -30: 1/2 travels 30
    ],
)
def test_the_reachable_w1_is_that_of_the_best_set(k, scope, w1):
    pool = CandidatePool([0.9, 0.8, 0.7, 0.6], [3, 0, 6, -1], [True, True, False, True])
    assert reachable_w1(pool, TargetDistribution.of_counts(ENDS), k, scope) == pytest.approx(w1)


@pytest.mark.parametrize("bins", [[], [-1, -1]])
def test_no_w1_is_reachable_with_nothing_to_choose(bins):
    assert isnan(reachable_w1(CandidatePool([1.0] * len(bins), bins), TargetDistribution.of_counts(ENDS), 3))
