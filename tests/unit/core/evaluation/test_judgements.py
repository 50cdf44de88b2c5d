"""Preferences, votes and agreement: values worked by hand, SciPy as the oracle of the sign test."""

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from warp_core import InvalidInputError
from warp_core.evaluation.judgements import (
    consistent,
    directional_agreement,
    majority,
    position_bias,
    sign_test_p,
    tally,
)

W, L, T = 1, -1, 0


def same(found, expected) -> None:
    np.testing.assert_array_equal(found, expected)  # nan equals nan here


def test_a_preference_holds_only_when_both_orders_show_it():
    first = [W, W, W, T, T, L, L, nan, W]
    second = [W, L, T, T, W, L, W, W, nan]
    same(consistent(first, second), [W, T, T, T, T, L, T, nan, nan])


def test_three_of_five_votes_decide_and_two_do_not():
    votes = np.array([[W, W, W], [W, W, L], [W, T, L], [L, T, T], [T, L, T]])
    same(majority(votes), [W, T, T])


def test_missing_votes_neither_decide_nor_lower_the_majority_that_is_needed():
    votes = np.array(
        [
            [W, W, W, nan],
            [W, W, T, nan],
            [W, nan, L, nan],
            [nan, nan, nan, W],
            [nan, nan, nan, W],
        ]
    )
    # three votes of five can decide; two cannot, so there is no judgement, and not a tie
    same(majority(votes), [W, nan, T, nan])


def test_an_even_panel_needs_more_than_half():
    same(majority([[W, W, L], [W, L, L]]), [W, T, L])


def test_one_voter_decides_alone():
    same(majority([[W, L, T, nan]]), [W, L, T, nan])


def test_the_tally_of_the_papers_table_2():
    # W1 minimizer, k = 5: 51/8/97 of 156 questions; Fair 86%, Win 33%
    found = tally([W] * 51 + [L] * 8 + [T] * 97)
    assert (found.wins, found.losses, found.ties, found.n, found.unjudged) == (51, 8, 97, 156, 0)
    assert (round(found.fair, 2), round(found.win, 2), round(found.tie, 2)) == (0.86, 0.33, 0.62)
    assert found.p < 0.001


def test_the_papers_p_is_the_one_sided_one():
    # G.1.3: 10 wins and 2 losses, p = 0.019: (66 + 12 + 1) / 4096 = 0.0193, twice that two-sided
    found = tally([W] * 10 + [L] * 2)
    assert found.p_greater == 79 / 4096
    assert found.p == 158 / 4096


def test_what_was_not_judged_counts_nowhere_else():
    found = tally([W, nan, nan, T])
    assert (found.n, found.unjudged, found.fair, found.win, found.tie) == (2, 2, 1.0, 0.5, 0.5)


def test_nothing_decided_is_no_evidence_and_no_share():
    found = tally([T, T])
    assert (found.p, found.p_greater, found.win, found.tie) == (1.0, 1.0, 0.0, 1.0)
    assert isnan(found.fair)
    assert isnan(tally([]).win)


@given(st.integers(0, 400), st.integers(0, 400))
def test_the_sign_test_equals_scipys(wins: int, losses: int):
    if wins + losses:
        for one_sided, alternative in ((False, "two-sided"), (True, "greater")):
            expected = binomtest(wins, wins + losses, alternative=alternative).pvalue
            assert sign_test_p(wins, losses, one_sided=one_sided) == pytest.approx(expected, rel=1e-9)


def test_many_thousand_wins_are_no_overflow():
    assert sign_test_p(20_000, 0) == 0.0
    assert sign_test_p(10_000, 10_000) == 1.0


def test_directional_kappa_leaves_ties_out():
    # both commit in 10 pairs: 6 WW, 1 WL, 1 LW, 2 LL; p_o 0.8; each has 7 W of 10: p_e 0.49 + 0.09 = 0.58
    first = [W] * 7 + [L] * 3 + [T, W, T, nan]
    second = [W] * 6 + [L] + [W] + [L] * 2 + [W, T, T, W]
    found = directional_agreement(first, second)
    assert found.n == 10
    assert found.agreement == pytest.approx(0.8)
    assert found.kappa == pytest.approx(0.22 / 0.42)


def test_kappa_is_undefined_when_both_judges_lean_one_way_only():
    found = directional_agreement([W, W], [W, W])
    assert (found.n, found.agreement) == (2, 1.0)
    assert isnan(found.kappa)


def test_no_pair_in_which_both_commit_gives_no_agreement():
    found = directional_agreement([W, T], [T, L])
    assert found.n == 0
    assert isnan(found.agreement)
    assert isnan(found.kappa)


def test_opposite_judges_have_a_kappa_of_minus_one():
    assert directional_agreement([W, L, W, L], [L, W, L, W]).kappa == pytest.approx(-1)


def test_position_bias_tells_first_from_second_and_from_ties():
    # A A: first; B B: second; same answer, or tie both times: consistent; tie once: neither; nan: left out
    method_first = [W, W, L, W, T, W, nan]
    method_second = [L, L, W, W, T, T, W]
    found = position_bias(method_first, method_second)
    assert found.n == 6
    assert (found.first, found.second, found.consistent) == (2 / 6, 1 / 6, 2 / 6)
    assert found.p == 1.0  # 2 against 1


def test_a_judge_that_always_takes_the_first_is_all_bias_and_without_kappa():
    found = position_bias([W] * 12, [L] * 12)
    assert (found.first, found.second, found.consistent) == (1.0, 0.0, 0.0)
    assert found.p == 2 / 2**12
    assert directional_agreement([W] * 12, [L] * 12).kappa == 0.0


@pytest.mark.parametrize("wrong", [2, 0.5, np.inf])
def test_what_is_no_preference_is_refused(wrong: float):
    with pytest.raises(InvalidInputError, match="must be -1, 0, 1 or nan"):
        tally([W, wrong])
    with pytest.raises(InvalidInputError, match="second"):
        consistent([W], [wrong])
    with pytest.raises(InvalidInputError, match="votes"):
        majority([[wrong]])


def test_lists_of_different_length_and_empty_panels_are_refused():
    with pytest.raises(InvalidInputError, match="second: 2 preferences are needed"):
        consistent([W, W], [W])
    with pytest.raises(InvalidInputError, match="at least one voter"):
        majority(np.empty((0, 3)))
