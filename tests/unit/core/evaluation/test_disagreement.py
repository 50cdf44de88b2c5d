import math

import pytest

from warp_core import InvalidInputError, OpinionScale
from warp_core.evaluation.disagreement import disagreement, disputed, minority_share, side_entropy, sides


def test_sides_are_counted_around_the_middle():
    assert sides([1, 2, 3, 4, 5, 6, 7]).tolist() == [6, 4, 18]


def test_the_middle_is_that_of_the_scale_not_zero():
    assert sides([3, 1, 2, 0, 5], OpinionScale((1, 2, 3, 4, 5))).tolist() == [4, 2, 5]
    assert sides([3, 4], OpinionScale((0, 1))).tolist() == [3, 0, 4]


def test_entropy_is_in_bits_over_three_sides_whatever_the_strength():
    # 1/2, 1/4, 1/4: 1/2 * 1 + 1/4 * 2 + 1/4 * 2
    assert side_entropy([1, 1, 0, 1, 0, 0, 1]) == pytest.approx(1.5)
    assert side_entropy([2, 0, 0, 1, 1, 0, 0]) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("minority", "rest", "entropy"),
    # table 13 of the paper: climate control, 45% minority, H = 1.24; the rest of the shares is chosen to fit
    [(45, (5, 50), 1.24)],
)
def test_the_papers_entropies_follow_from_its_minorities_in_bits(minority: int, rest: tuple[int, int], entropy: float):
    assert side_entropy([minority, 0, 0, rest[0], 0, 0, rest[1]]) == pytest.approx(entropy, abs=0.01)


def test_the_minority_is_a_share_of_both_sides_without_the_neutral():
    assert minority_share([1, 0, 0, 100, 0, 0, 3]) == 0.25
    assert minority_share([0, 0, 3, 0, 0, 0, 0]) == 0
    assert minority_share([0, 0, 0, 5, 0, 0, 0]) == 0


def test_no_opinions_disagree_about_nothing():
    assert disagreement([0] * 7) == disagreement([0, 0, 0, 0, 0, 0, 0])
    assert disagreement([0] * 7).entropy == 0


COUNTS = {
    "even": [50, 0, 0, 0, 0, 0, 50],  # H = 1, minority 0.5
    "mixed": [25, 0, 0, 50, 0, 0, 25],  # H = 1.5
    "few": [10, 0, 0, 0, 0, 0, 10],
    "lopsided": [9, 0, 0, 0, 0, 0, 191],  # minority 0.045
    "neutral": [2, 0, 0, 196, 0, 0, 2],  # H = 0.16, minority 0.5
}


def test_the_disputed_come_by_entropy_and_pass_every_threshold():
    assert list(disputed(COUNTS, 10)) == ["mixed", "even"]
    assert list(disputed(COUNTS, 1)) == ["mixed"]
    assert list(disputed(COUNTS, 10, min_count=20)) == ["mixed", "even", "few"]
    assert list(disputed(COUNTS, 10, min_minority=0, min_entropy=0)) == ["mixed", "even", "lopsided", "neutral"]


def test_equal_entropies_are_ordered_by_name():
    assert list(disputed({"b": COUNTS["even"], "a": COUNTS["even"]}, 10)) == ["a", "b"]


def test_a_threshold_met_exactly_is_met():
    assert list(disputed({"x": [10, 0, 0, 0, 0, 0, 90]}, 1, min_entropy=0, min_minority=0.1, min_count=100)) == ["x"]
    assert math.isclose(disagreement(COUNTS["mixed"]).entropy, 1.5)
    assert "mixed" in disputed(COUNTS, 10, min_entropy=1.5)


@pytest.mark.parametrize(
    ("argument", "value"), [("min_entropy", 1.6), ("min_entropy", -0.1), ("min_minority", 0.51), ("min_count", -1)]
)
def test_a_threshold_out_of_range_is_named(argument: str, value: float):
    with pytest.raises(InvalidInputError, match=argument):
        disputed(COUNTS, 10, **{argument: value})
