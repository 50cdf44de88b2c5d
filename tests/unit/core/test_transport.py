from math import inf, isnan, nan, sqrt

import numpy as np
import pytest

from warp_core import (
    SENTIMENT_INTENSITY,
    InvalidInputError,
    OpinionScale,
    TargetDistribution,
    wasserstein1,
    wasserstein2,
)
from warp_core.transport import exact_cost, scaled, w1_of_counts, w1_of_prefixes

UNEVEN = OpinionScale((0, 1, 3))
ENDS = TargetDistribution.of_counts([1, 0, 0, 0, 0, 0, 1])


@pytest.mark.parametrize("as_input", [list, np.array])
@pytest.mark.parametrize(
    ("p", "q", "w1"),
    [
        ([1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1], 60),  # all mass from one end to the other
        ([0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1, 0], 10),  # one bin, at the right edge
        ([1, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0, 0], 30),  # both halves travel 30
        ([1, 1, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0], 10),  # every document moves one bin
        ([2, 0, 0, 0, 0, 0, 2], [9, 0, 0, 0, 0, 0, 9], 0),  # equal once they sum to 1
    ],
)
def test_w1_is_mass_times_distance(p, q, w1, as_input):
    assert wasserstein1(as_input(p), as_input(q)) == pytest.approx(w1)


def test_w1_counts_the_uneven_distances_of_a_scale():
    # 1/2 travels from 0 to 1 and 1/2 from 0 to 3
    assert wasserstein1([1, 0, 0], [0, 1, 1], UNEVEN) == pytest.approx(2)


@pytest.mark.parametrize("argument", ["p", "q"])
@pytest.mark.parametrize(
    "bad",
    [[1] * 6, [1] * 8, [], 1, [[1] * 7], [0] * 7, [-1] + [1] * 6, [nan] + [1] * 6, [inf] + [1] * 6, ["a"] * 7],
    ids=repr,
)
def test_weights_that_are_no_distribution_are_refused(argument, bad):
    arguments = {"p": [1] * 7, "q": [1] * 7, argument: bad}
    with pytest.raises(InvalidInputError) as caught:
        wasserstein1(**arguments)
    assert caught.value.argument == argument


def test_w1_of_weights_near_the_float_limit_is_finite():
    assert wasserstein1([1e308] * 7, [1] * 7) == pytest.approx(0)


@pytest.mark.parametrize(
    ("counts", "cost", "w1"),
    [
        # D = 2, cumulative weights 1 1 1 1 1 1 2
        ([1, 0, 0, 0, 0, 0, 0], 6, 30),  # six times |1*2 - 1*1| = 6; 6 / (1*2) * 10
        ([0, 0, 0, 2, 0, 0, 0], 12, 30),  # three times |0 - 2|, three times |4 - 2| = 12; 12 / (2*2) * 10
        ([1, 0, 0, 1, 0, 0, 0], 6, 15),  # |2 - 2| three times, |4 - 2| three times = 6; 6 / (2*2) * 10
        ([1, 0, 0, 0, 0, 0, 1], 0, 0),
    ],
)
def test_exact_cost_is_w1_as_a_whole_number(counts, cost, w1):
    assert exact_cost(counts, ENDS, SENTIMENT_INTENSITY) == cost
    assert scaled(cost, sum(counts), ENDS, SENTIMENT_INTENSITY) == w1
    assert w1_of_counts(counts, ENDS, SENTIMENT_INTENSITY) == w1


def test_exact_cost_weighs_uneven_gaps():
    # D = 3, cumulative 1 2 3; counts at 0: |1*3 - 1*1| * 1 + |1*3 - 2*1| * 2 = 4, and 4 / 3 on the axis
    uniform = TargetDistribution.of_counts([1, 1, 1])
    assert exact_cost([1, 0, 0], uniform, UNEVEN) == 4
    assert w1_of_counts([1, 0, 0], uniform, UNEVEN) == pytest.approx(4 / 3)


def test_w1_of_an_empty_list_is_nan():
    assert isnan(w1_of_counts([0] * 7, ENDS, SENTIMENT_INTENSITY))


def test_prefixes_skip_unknown_bins_and_start_as_nan():
    # one end: 30; both ends: 0; the unknown one changes nothing; two of three left: 1/6 travels 60
    path = w1_of_prefixes([-1, 0, 6, -1, 0], ENDS, SENTIMENT_INTENSITY)
    assert path == pytest.approx([nan, 30, 0, 0, 10], nan_ok=True)


def test_no_documents_have_no_prefixes():
    assert w1_of_prefixes([], ENDS, SENTIMENT_INTENSITY) == []


@pytest.mark.parametrize("as_input", [list, np.array])
@pytest.mark.parametrize(
    ("p", "q", "w2"),
    [
        ([1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1], 60),  # all mass from one end to the other
        ([1, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0, 0], 30),  # both halves travel 30
        ([1, 1, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0], 10),  # every document moves one bin: not one of them two
        ([1, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0, 0], sqrt(1800)),  # half of it travels 60: 3600 / 2
        ([1, 2, 1, 0, 0, 0, 0], [0, 1, 2, 1, 0, 0, 0], 10),
        ([2, 0, 0, 0, 0, 0, 4], [3, 0, 0, 0, 0, 0, 6], 0),  # equal once they sum to 1
        ([3, 3, 0, 0, 0, 0, 1], [6, 6, 0, 0, 0, 0, 2], 0),
    ],
)
def test_w2_is_the_root_of_mass_times_squared_distance(p, q, w2, as_input):
    assert wasserstein2(as_input(p), as_input(q)) == pytest.approx(w2)


def test_w2_counts_the_uneven_distances_of_a_scale():
    # 1/2 travels from 0 to 1 and 1/2 from 0 to 3: (1 + 9) / 2
    assert wasserstein2([1, 0, 0], [0, 1, 1], UNEVEN) == pytest.approx(sqrt(5))


def test_w2_of_shares_and_of_their_counts_differ_by_rounding_alone():
    assert wasserstein2([0.1, 0.2, 0.7], [1, 2, 7], UNEVEN) < 3e-8


@pytest.mark.parametrize("argument", ["p", "q"])
@pytest.mark.parametrize("bad", [[1] * 6, [], [0] * 7, [-1] + [1] * 6, [nan] + [1] * 6, ["a"] * 7], ids=repr)
def test_w2_refuses_weights_that_are_no_distribution(argument, bad):
    with pytest.raises(InvalidInputError) as caught:
        wasserstein2(**{"p": [1] * 7, "q": [1] * 7, argument: bad})
    assert caught.value.argument == argument
