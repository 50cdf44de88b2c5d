from math import inf, nan

import numpy as np
import pytest

from warp_core import InvalidInputError, TargetDistribution, target_distribution

DOMAIN = [30, 30, 40]


@pytest.mark.parametrize(
    ("entity", "rule"),
    [
        ([13, 12, 0], "entity"),  # n = 25
        ([12, 12, 0], "smoothed"),  # n = 24
        ([25, 0, 0], "smoothed"),  # one bin only
        ([94, 6, 0], "entity"),  # 0.06 in the second bin
        ([95, 5, 0], "smoothed"),  # 0.05 is not above 0.05
        ([1, 0, 0], "smoothed"),
        ([0, 0, 0], "domain"),
    ],
)
def test_the_rule_follows_the_number_of_opinions_and_their_spread(entity, rule):
    assert target_distribution(entity, DOMAIN).rule == rule


def test_enough_opinions_speak_for_themselves():
    target = target_distribution([13, 12, 0], DOMAIN)
    assert (target.weights, target.n, target.alpha) == ((13, 12, 0), 25, 1)


def test_smoothing_is_exact():
    # alpha = 24/74; 24/74 * 12/24 + 50/74 * 30/100 = 27/74 twice, and 50/74 * 40/100 = 20/74
    target = target_distribution([12, 12, 0], DOMAIN)
    assert (target.n, target.alpha) == (24, 24 / 74)
    assert [weight * 74 for weight in target.weights] == [share * target.total for share in (27, 27, 20)]


def test_an_entity_nobody_spoke_of_takes_the_domain():
    target = target_distribution([0, 0, 0], DOMAIN)
    assert (target.weights, target.n, target.alpha) == ((30, 30, 40), 0, 0)


@pytest.mark.parametrize("domain", [None, [0, 0, 0]])
def test_an_empty_collection_gives_the_uniform_distribution(domain):
    target = target_distribution([0, 0, 0], domain)
    assert (target.weights, target.rule, target.n, target.alpha) == ((1, 1, 1), "uniform", 0, 0)


@pytest.mark.parametrize("domain", [None, [0, 0, 0]])
def test_without_a_domain_few_opinions_stand_unsmoothed(domain):
    target = target_distribution([2, 0, 1], domain)
    assert (target.weights, target.rule, target.n, target.alpha) == ((2, 0, 1), "entity", 3, 1)


@pytest.mark.parametrize("as_input", [np.array, lambda counts: [float(c) for c in counts], tuple])
def test_counts_may_be_any_sequence_of_whole_numbers(as_input):
    assert target_distribution(as_input([2, 0, 1]), as_input(DOMAIN)) == target_distribution([2, 0, 1], DOMAIN)


@pytest.mark.parametrize("argument", ["entity_counts", "domain_counts"])
@pytest.mark.parametrize("bad", [[-1, 1], [0.5, 1], [nan, 1], [inf, 1], ["1", 1], ["a", 1], [None, 1]], ids=repr)
def test_counts_that_are_no_counts_are_refused(argument, bad):
    arguments = {"entity_counts": [1, 1], "domain_counts": [1, 1], argument: bad}
    with pytest.raises(InvalidInputError) as caught:
        target_distribution(**arguments)
    assert caught.value.argument == argument


def test_with_a_unit_weighted_opinions_are_smoothed_as_so_many_whole_ones():
    # 12, 12 and 0 opinions in units of 4; the domain may have weights too: alpha = 24/74 as without a unit
    target = target_distribution([48, 48, 0], [120, 120, 160], unit=4)
    assert (target.rule, target.n, target.alpha) == ("smoothed", 24, 24 / 74)
    assert [weight * 74 for weight in target.weights] == [share * target.total for share in (27, 27, 20)]


@pytest.mark.parametrize(("entity", "rule", "n"), [([50, 50, 0], "entity", 25), ([50, 49, 0], "smoothed", 24)])
def test_with_a_unit_n_is_the_whole_part_of_the_weight(entity, rule, n):
    target = target_distribution(entity, DOMAIN, unit=4)
    assert (target.rule, target.n) == (rule, n)


def test_a_weight_below_one_opinion_still_leans_the_target():
    # a quarter of an opinion: alpha = 0.25 / 50.25 = 1/201; 1/201 * 1 + 200/201 * 0.3 = 61/201
    target = target_distribution([1, 0, 0], DOMAIN, unit=4)
    assert (target.rule, target.n, target.alpha) == ("smoothed", 0, 1 / 201)
    assert [weight * 201 for weight in target.weights] == [share * target.total for share in (61, 60, 80)]


@pytest.mark.parametrize("bad", [0, -1, 0.5, nan, "x", None])
def test_a_unit_below_one_is_refused(bad):
    with pytest.raises(InvalidInputError) as caught:
        target_distribution([1, 1], [1, 1], unit=bad)
    assert caught.value.argument == "unit"


def test_a_domain_of_other_length_is_refused():
    with pytest.raises(InvalidInputError) as caught:
        target_distribution([1, 1], [1, 1, 1])
    assert caught.value.argument == "domain_counts"


def test_counts_over_no_bins_are_refused():
    with pytest.raises(InvalidInputError) as caught:
        target_distribution([])
    assert caught.value.argument == "entity_counts"


def test_counts_are_kept_as_they_are():
    target = TargetDistribution.of_counts([1, 0, 2])
    assert (target.cumulative, target.weights, target.total, target.n_bins) == ((1, 1, 3), (1, 0, 2), 3, 3)
    assert target.shares.tolist() == [1 / 3, 0, 2 / 3]


@pytest.mark.parametrize("as_input", [list, np.array])
@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
        ([2, 3, 5], [0.2, 0.3, 0.5]),
        ([0, 0, 7], [0, 0, 1]),
        ([1, 1, 1], [1 / 3, 1 / 3, 1 / 3]),
        ([1e308, 1e308, 0], [0.5, 0.5, 0]),
        ([5e-324, 5e-324, 0], [0.5, 0.5, 0]),
        ([1], [1]),
    ],
)
def test_weights_become_shares_to_12_decimals(weights, shares, as_input):
    target = TargetDistribution.of_weights(as_input(weights))
    assert target.shares == pytest.approx(shares, rel=0, abs=1e-12)
    assert (target.rule, target.n, target.alpha) == ("request", 0, 1)


@pytest.mark.parametrize(
    "bad",
    [[], 1, None, [[1, 1]], [0, 0], [-1, 2], [nan, 1], [inf, 1], ["a", "b"], ["1", "2"], [True, False], [[1], [1, 2]]],
    ids=repr,
)
def test_weights_that_are_no_distribution_are_refused(bad):
    with pytest.raises(InvalidInputError) as caught:
        TargetDistribution.of_weights(bad)
    assert caught.value.argument == "target"
