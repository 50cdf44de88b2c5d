import numpy as np
import pytest

from warp_core import InvalidInputError, TargetDistribution, deficit_bins


@pytest.mark.parametrize(
    ("matched", "target", "short"),
    [
        # of 20 matched, half of a target share of 0.4 / 0.2 / 0.4 is 4 / 2 / 4 documents
        ([4, 2, 14], [2, 1, 2], []),
        ([3, 13, 4], [2, 1, 2], [0]),
        ([15, 2, 3], [2, 1, 2], [2]),
        ([20, 0, 0], [2, 1, 2], [1, 2]),
        ([0, 20, 0], [0, 1, 0], []),
    ],
)
def test_a_bin_is_short_below_half_of_its_target_share(matched, target, short):
    assert deficit_bins(matched, TargetDistribution.of_counts(target)) == short


def test_a_bin_with_no_population_is_never_short():
    assert deficit_bins([5, 0], TargetDistribution.of_counts([1, 0]), ratio=1) == []


def test_with_nothing_matched_bins_above_one_percent_are_short():
    assert deficit_bins([0, 0, 0], TargetDistribution.of_counts([97, 1, 2])) == [0, 2]


@pytest.mark.parametrize(("ratio", "short"), [(0, []), (0.5, []), (0.51, [0]), (1, [0])])
def test_the_ratio_moves_the_edge(ratio, short):
    # the pool holds 1/4 of what the target holds 1/2 of
    assert deficit_bins([1, 3], TargetDistribution.of_counts([1, 1]), ratio) == short


def test_a_share_at_the_edge_is_not_short_whatever_the_ratio():
    # 1/10 of the pool, and a tenth of the whole target
    assert deficit_bins([1, 9], TargetDistribution.of_counts([3, 0]), ratio=0.1) == []


def test_counts_may_be_an_array():
    assert deficit_bins(np.array([20, 0]), TargetDistribution.of_weights([0.5, 0.5])) == [1]


@pytest.mark.parametrize("matched", [[1, 1], [0, 0], [1, 1, 1, 1]])
def test_counts_of_other_length_than_the_target_are_refused(matched):
    with pytest.raises(InvalidInputError) as caught:
        deficit_bins(matched, TargetDistribution.of_counts([1, 1, 1]))
    assert caught.value.argument == "matched_counts"
