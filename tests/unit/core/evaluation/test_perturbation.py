import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warp_core import InvalidInputError, TargetDistribution
from warp_core.evaluation.perturbation import dirichlet_target, mislabelled, noisy_scores, own_target, seen_counts

TARGET = TargetDistribution.of_counts([1, 0, 0, 2, 0, 0, 1])


def test_no_noise_is_the_target_itself():
    assert dirichlet_target(TARGET, 0, np.random.default_rng(0)) is TARGET


@settings(deadline=None)
@given(st.floats(0.001, 1), st.integers(0, 99))
def test_a_disturbed_target_keeps_its_share_and_sums_to_one(epsilon: float, seed: int):
    shares = dirichlet_target(TARGET, epsilon, np.random.default_rng(seed)).shares
    assert shares.sum() == pytest.approx(1)
    assert (shares >= (1 - epsilon) * TARGET.shares - 1e-9).all()


def test_the_noise_is_even_over_all_distributions():
    rng = np.random.default_rng(1)
    drawn = np.array([dirichlet_target(TARGET, 1, rng).shares for _ in range(4000)])
    # each share of an even Dirichlet over 7 has mean 1/7 and variance (1/7)(6/7)/8
    assert drawn.mean(axis=0) == pytest.approx([1 / 7] * 7, abs=0.01)
    assert drawn.var(axis=0) == pytest.approx([6 / 49 / 8] * 7, rel=0.1)


BINS = np.array([0, 1, 2, 3, 4, 5, 6, -1] * 2000)


def test_as_many_labels_are_wrong_as_asked_and_all_others_are_alike():
    wrong = mislabelled(BINS, 0.3, 7, np.random.default_rng(2))
    known = BINS >= 0
    assert (wrong != BINS)[known].mean() == pytest.approx(0.3, abs=0.015)
    changed = (wrong != BINS) & (BINS == 3)
    assert np.bincount(wrong[changed], minlength=7) / changed.sum() == pytest.approx(
        [1 / 6, 1 / 6, 1 / 6, 0, 1 / 6, 1 / 6, 1 / 6], abs=0.05
    )


def test_the_unknown_stays_unknown_even_when_all_is_wrong():
    wrong = mislabelled(BINS, 1, 7, np.random.default_rng(3))
    assert (wrong[BINS < 0] == -1).all()
    assert (wrong != BINS)[BINS >= 0].all()
    assert wrong.max() < 7


def test_a_higher_rate_changes_more_of_the_same():
    few, many = (mislabelled(BINS, rate, 7, np.random.default_rng(4)) for rate in (0.1, 0.4))
    assert (many[few != BINS] == few[few != BINS]).all()
    assert (mislabelled(BINS, 0, 7, np.random.default_rng(4)) == BINS).all()


def test_noise_is_in_proportion_to_the_score():
    scores = np.repeat([0.0, 1.0, -10.0], 5000)
    noisy = noisy_scores(scores, 0.05, np.random.default_rng(5))
    deviations = [(noisy - scores)[scores == value].std() for value in (0, 1, -10)]
    assert deviations == pytest.approx([0, 0.05, 0.5], rel=0.05)


def test_opinions_are_seen_without_replacement():
    bins = np.array([0, 0, 3, 6])
    assert seen_counts(bins, 3, 7, np.random.default_rng(6)) in (
        [1, 0, 0, 1, 0, 0, 1],
        [2, 0, 0, 1, 0, 0, 0],
        [2, 0, 0, 0, 0, 0, 1],
    )
    for n in (4, 99):
        assert seen_counts(bins, n, 7, np.random.default_rng(6)) == [2, 0, 0, 1, 0, 0, 1]
    assert seen_counts(bins, 0, 7, np.random.default_rng(6)) == [0] * 7


def test_nothing_seen_says_nothing():
    assert own_target([0, 0, 0]).shares.tolist() == pytest.approx([1 / 3] * 3)
    assert own_target([1, 0, 3]).shares.tolist() == [0.25, 0, 0.75]


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_strength_out_of_range_is_named(share: float):
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInputError, match="epsilon"):
        dirichlet_target(TARGET, share, rng)
    with pytest.raises(InvalidInputError, match="rate"):
        mislabelled(BINS, share, 7, rng)
    with pytest.raises(InvalidInputError, match="noise"):
        noisy_scores(np.ones(2), share, rng)
