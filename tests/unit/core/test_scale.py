from math import inf, nan

import numpy as np
import pytest

from warp_core import SENTIMENT_INTENSITY, InvalidInputError, OpinionScale

SI = SENTIMENT_INTENSITY
STARS = OpinionScale((1, 2, 3, 4, 5), stars=(1, 2, 3, 4, 5))


def position(b: int) -> float:
    return SI.positions[b]


def test_the_default_scale_has_seven_positions_ten_apart():
    assert (SI.n_bins, SI.range, SI.unit, SI.gaps) == (7, 60, 10, (1,) * 6)


@pytest.mark.parametrize(
    ("positions", "gaps", "unit"),
    [
        ((1, 2, 3, 4, 5), (1, 1, 1, 1), 1),
        ((0, 5), (1,), 5),
        ((-2, 0, 0.5, 7), (4, 1, 13), 0.5),  # 2, 0.5, 6.5
        ((0, 0.1, 0.35, 1), (2, 5, 13), 0.05),  # 0.1, 0.25, 0.65
        ((0, 0.1, 0.2, 0.3), (1, 1, 1), 0.1),  # 0.3 - 0.2 is not 0.1 in floating point
    ],
)
def test_gaps_are_whole_multiples_of_the_unit(positions, gaps, unit):
    scale = OpinionScale(positions)
    assert (scale.gaps, scale.unit) == (gaps, unit)


@pytest.mark.parametrize("b", range(7))
def test_every_position_has_its_own_bin(b):
    assert SI.bin_at(SI.positions[b]) == b


@pytest.mark.parametrize("absent", [5, 40, -30.1, nan])
def test_a_number_between_positions_has_no_bin(absent):
    with pytest.raises(InvalidInputError) as caught:
        SI.bin_at(absent)
    assert caught.value.argument == "si"


@pytest.mark.parametrize(
    ("value", "nearest"),
    [(0, 0), (4, 0), (5, 0), (6, 10), (-5, 0), (15, 10), (-15, -10), (25, 20), (-25, -20), (99, 30), (-99, -30)],
)
def test_the_nearest_position_wins_and_a_tie_goes_toward_zero(value, nearest):
    assert position(SI.nearest_bin(value)) == nearest


@pytest.mark.parametrize(
    ("label", "intensity"),
    [
        (("negative", "high"), -30),
        (("negative", "medium"), -20),
        (("negative", "low"), -10),
        (("neutral", "high"), 0),
        (("mixed", "low"), 0),
        (("positive", "low"), 10),
        (("positive", "medium"), 20),
        (("positive", "high"), 30),
        (("positive",), 20),
    ],
)
def test_a_label_reaches_its_position_up_to_both_ends(label, intensity):
    assert position(SI.bin_of_sentiment(*label)) == intensity


@pytest.mark.parametrize(
    ("label", "argument"), [(("angry", "low"), "sentiment"), (("positive", "extreme"), "intensity")]
)
def test_an_unknown_label_is_refused(label, argument):
    with pytest.raises(InvalidInputError) as caught:
        SI.bin_of_sentiment(*label)
    assert caught.value.argument == argument


def test_a_label_whose_position_the_scale_lacks_is_refused():
    with pytest.raises(InvalidInputError):
        STARS.bin_of_sentiment("positive", "high")


@pytest.mark.parametrize(
    ("stars", "intensity"),
    [
        (1, -30),
        (1.25, -30),  # -27.5
        (1.5, -20),  # -25, a tie
        (2, -20),
        (2.5, -10),
        (3, 0),
        (3.5, 10),
        (4, 20),
        (4.5, 20),  # 25, a tie
        (4.75, 30),  # 27.5
        (5, 30),
        (np.float32(4.5), 20),
        (np.int64(5), 30),
    ],
)
def test_stars_are_interpolated_then_taken_to_the_nearest_bin(stars, intensity):
    assert position(SI.bin_of_stars(stars)) == intensity


def test_a_scale_may_map_stars_to_its_own_positions():
    assert [STARS.bin_of_stars(s) for s in (1, 3.5, 5)] == [0, 2, 4]  # 3.5 lies between 3 and 4: toward zero


@pytest.mark.parametrize("stars", [0.99, 5.01, 0, -1, nan, inf, "4", True])
def test_a_rating_outside_one_to_five_is_refused(stars):
    with pytest.raises(InvalidInputError) as caught:
        SI.bin_of_stars(stars)
    assert caught.value.argument == "stars"


def test_stars_are_refused_by_a_scale_that_does_not_place_them():
    with pytest.raises(InvalidInputError, match="no positions for stars"):
        OpinionScale((0, 1)).bin_of_stars(3)


@pytest.mark.parametrize("positions", [(), (1,), (1, 1), (2, 1), (0, 2, 1), (0, nan), (0, inf), (-inf, 0)])
def test_positions_that_are_no_axis_are_refused(positions):
    with pytest.raises(InvalidInputError) as caught:
        OpinionScale(positions)
    assert caught.value.argument == "positions"


@pytest.mark.parametrize(
    "stars", [(), (1, 2, 3, 4), (1, 2, 3, 4, 5, 6), (5, 4, 3, 2, 1), (1, 2, 3, 4, nan), (-inf,) * 5]
)
def test_star_positions_that_fall_or_are_not_five_are_refused(stars):
    with pytest.raises(InvalidInputError) as caught:
        OpinionScale((1, 5), stars=stars)
    assert caught.value.argument == "stars"
