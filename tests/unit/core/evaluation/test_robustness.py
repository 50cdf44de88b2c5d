import numpy as np
import pytest

from warp_core import SENTIMENT_INTENSITY, CandidatePool, TargetDistribution, select, target_distribution
from warp_core.evaluation.experiment import Case
from warp_core.evaluation.perturbation import COLD_STARTS, EPSILONS, ERROR_RATES, SAMPLE_SIZES
from warp_core.evaluation.robustness import (
    ESTIMATORS,
    Population,
    at_cold_start,
    estimated,
    estimation_error,
    under_noisy_scores,
    under_wrong_labels,
    under_wrong_targets,
)

K = 4
METHODS = ("w1_minimizer", "w1_mmr")
# Forty of the entity's hundred documents, five to three positive, and ten of others that are all negative.
PEOPLE = np.array([6, 6, 6, 0, 6, 0, 6, 0] * 12 + [6, 6, 6, 0])
MEMBERS = np.array([*range(40), *[-1] * 10])
POOL = CandidatePool(np.linspace(1, 0.02, 50), [*PEOPLE[:40], *[0] * 10], MEMBERS >= 0)
CASE = Case(POOL, TargetDistribution.of_counts(np.bincount(PEOPLE, minlength=7).tolist()))
POPULATION = Population(PEOPLE, MEMBERS, [0, 0, 0, 500, 0, 0, 0])


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def undisturbed(method: str) -> float:
    return select(method, POOL, CASE.target, K).w1


def test_nothing_disturbed_is_the_plain_result():
    targets = under_wrong_targets(CASE, METHODS, K, 3, rng())
    labels = under_wrong_labels(CASE, POPULATION, METHODS, K, 3, rng())
    assert targets.shape == (2, len(EPSILONS), 3)
    assert labels.shape == (2, len(ERROR_RATES), 3)
    for m, method in enumerate(METHODS):
        assert targets[m, 0] == pytest.approx([undisturbed(method)] * 3)
        assert labels[m, 0] == pytest.approx([undisturbed(method)] * 3)


def test_lists_are_measured_undisturbed():
    # toward any wrong target every list is one of 0 .. 4 negative ones among four, and is measured against the truth
    share = np.bincount(PEOPLE, minlength=7)[0] / len(PEOPLE)
    possible = [abs(negative / K - share) * 60 for negative in range(K + 1)]
    found = under_wrong_targets(CASE, METHODS, K, 20, rng())
    assert np.abs(found[..., None] - possible).min(axis=-1).max() < 1e-9
    assert found[0, -1].max() > undisturbed("w1_minimizer")
    wrong = under_wrong_labels(CASE, POPULATION, METHODS, K, 20, rng())
    assert np.abs(wrong[..., None] - possible).min(axis=-1).max() < 1e-9


def test_more_noise_is_worse_on_average():
    targets = under_wrong_targets(CASE, ("w1_exact",), K, 60, rng())[0].mean(axis=1)
    labels = under_wrong_labels(CASE, POPULATION, ("w1_exact",), K, 60, rng())[0].mean(axis=1)
    assert targets[0] <= targets[2] <= targets[3]
    assert labels[0] <= labels[3] <= labels[5]


def test_all_methods_meet_the_same_disturbance():
    twice = under_wrong_targets(CASE, ("w1_minimizer", "w1_minimizer"), K, 10, rng())
    assert (twice[0] == twice[1]).all()
    twice = under_wrong_labels(CASE, POPULATION, ("w1_mmr", "w1_mmr"), K, 10, rng())
    assert (twice[0] == twice[1]).all()


def test_a_candidate_and_its_population_see_the_same_wrong_label():
    # Two documents are the whole population. Whatever their labels, the target made of both is as far from the one as
    # from the other, and the tie goes to the more relevant. Labels of their own would now and then choose the other.
    pool = CandidatePool([2, 1], [0, 6])
    case = Case(pool, TargetDistribution.of_counts([1, 0, 0, 0, 0, 0, 0]))
    population = Population(np.array([0, 6]), np.array([0, 1]), [0] * 7)
    assert under_wrong_labels(case, population, ("w1_minimizer",), 1, 50, rng()) == pytest.approx(0)


def test_noise_reshuffles_top_k_and_nothing_else():
    found = under_noisy_scores(CASE, K, 30, rng())
    share = np.bincount(PEOPLE, minlength=7)[0] / len(PEOPLE)
    possible = [abs(negative / K - share) * 60 for negative in range(K + 1)]
    assert found.shape == (30,)
    assert np.abs(found[:, None] - possible).min(axis=-1).max() < 1e-9
    assert len(set(found.tolist())) > 1
    apart = Case(CandidatePool([1e6, 1], [0, 6]), CASE.target)
    assert under_noisy_scores(apart, 1, 30, rng()) == pytest.approx(top_of(apart))


def top_of(case: Case) -> float:
    return select("top_k", case.pool, case.target, 1).w1


@pytest.mark.parametrize(
    ("estimator", "shares"),
    [
        ("own", [0.5, 0, 0, 0, 0, 0, 0.5]),
        # alpha = 10 / 60
        ("smoothed", [1 / 12, 0, 0, 10 / 12, 0, 0, 1 / 12]),
        ("rule", [1 / 12, 0, 0, 10 / 12, 0, 0, 1 / 12]),
        ("domain", [0, 0, 0, 1, 0, 0, 0]),
    ],
)
def test_the_estimators_worked_by_hand(estimator: str, shares: list[float]):
    found = estimated(estimator, [5, 0, 0, 0, 0, 0, 5], POPULATION.domain)
    assert found.shares.tolist() == pytest.approx(shares)


def test_from_25_opinions_on_the_rule_trusts_them_and_smoothing_does_not():
    seen = [15, 0, 0, 0, 0, 0, 15]
    assert estimated("rule", seen, POPULATION.domain).shares[3] == 0
    assert estimated("smoothed", seen, POPULATION.domain).shares[3] == pytest.approx(50 / 80)
    assert estimated("rule", seen, POPULATION.domain) == target_distribution(seen, POPULATION.domain)


def test_without_a_domain_there_is_nothing_to_mix_with():
    for estimator in ESTIMATORS:
        assert estimated(estimator, [1, 0, 0, 0, 0, 0, 3], [0] * 7).shares.tolist() == [0.25, 0, 0, 0, 0, 0, 0.75]


def test_a_cold_start_ends_where_everybody_was_seen():
    found = at_cold_start(CASE, POPULATION, "w1_minimizer", K, 5, rng())
    assert found.shape == (len(ESTIMATORS), len(COLD_STARTS), 5)
    # all 100 are seen: the opinions alone are the target, and so is the rule's; the domain's never changes
    assert found[0, -1] == pytest.approx([undisturbed("w1_minimizer")] * 5)
    assert found[2, -1] == pytest.approx(found[0, -1])
    assert (found[3] == found[3, 0, 0]).all()


def test_the_error_of_an_estimate_falls_with_what_is_seen():
    found = estimation_error(np.tile(PEOPLE, 4), SENTIMENT_INTENSITY, 40, rng())
    assert found.shape == (len(SAMPLE_SIZES), 40)
    means = found.mean(axis=1)
    assert (np.diff(means[:-1]) < 0).all()
    assert np.isnan(means[-1])  # there are only 400
    # of 250 opinions a whole number is negative, and W1 is 60 times the distance of the two shares
    true = (PEOPLE == 0).mean()
    negative = (np.stack([true + found[4] / 60, true - found[4] / 60]) * 250).T
    assert np.abs(negative - np.round(negative)).min(axis=1) == pytest.approx(0, abs=1e-9)
