import numpy as np
import pytest

from warp_core.distributions import bin_counts, entropy, jensen_shannon, shares


@pytest.mark.parametrize("as_input", [list, np.array])
def test_counts_cover_every_bin_and_skip_the_unknown(as_input):
    assert bin_counts(as_input([0, 3, -1, 0]), 4).tolist() == [2, 0, 0, 1]


def test_no_bins_count_as_zero_everywhere():
    assert bin_counts([], 3).tolist() == [0, 0, 0]


@pytest.mark.parametrize("as_input", [list, np.array])
def test_shares_sum_to_one(as_input):
    assert shares(as_input([1, 0, 3])).tolist() == [0.25, 0, 0.75]


def test_shares_of_nothing_are_zero():
    assert shares([0, 0]).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("p", "bits"),
    [
        ([1, 0], 0),
        ([0.5, 0.5], 1),
        ([0.5, 0.25, 0.25], 1.5),  # 0.5 * 1 + 2 * 0.25 * 2
        ([0.125] * 8, 3),
    ],
)
def test_entropy_is_in_bits(p, bits):
    assert entropy(p) == pytest.approx(bits)


@pytest.mark.parametrize(
    ("p", "q", "bits"),
    [
        ([1, 0], [0, 1], 1),
        ([0.3, 0.7], [0.3, 0.7], 0),
        ([1, 0], [0.5, 0.5], 0.311278),  # H(3/4, 1/4) - (H(1, 0) + H(1/2, 1/2)) / 2 = 0.811278 - (0 + 1) / 2
    ],
)
def test_jensen_shannon_lies_between_equal_and_disjoint(p, q, bits):
    assert jensen_shannon(p, q) == pytest.approx(bits, abs=1e-6)
    assert jensen_shannon(np.array(q), np.array(p)) == pytest.approx(bits, abs=1e-6)


def test_jensen_shannon_is_never_negative_by_rounding():
    thirds = [1 / 3, 1 / 3, 1 / 3]
    assert jensen_shannon(thirds, [np.nextafter(1 / 3, 0), 1 / 3, 1 / 3]) >= 0
