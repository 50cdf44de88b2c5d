import pytest

from app.errors import InvalidRequestError
from app.labels import bin_of_position, entity_and_bin
from app.schemas import OpinionInput
from warp_core import SENTIMENT_INTENSITY, OpinionScale

STARS_ONLY = OpinionScale((1, 2, 3), stars=(1, 1, 2, 3, 3))


@pytest.mark.parametrize(
    ("given", "position"),
    [
        ({"si": 20}, 20),
        ({"si": -0.0}, 0),
        ({"sentiment": "positive"}, 20),
        ({"sentiment": "positive", "intensity": "low"}, 10),
        ({"sentiment": "negative", "intensity": "high"}, -30),
        ({"sentiment": "neutral", "intensity": "high"}, 0),
        ({"sentiment": "mixed"}, 0),
        ({"stars": 1}, -30),
        ({"stars": 3}, 0),
        ({"stars": 4.4}, 20),
        ({"stars": 5}, 30),
    ],
)
def test_each_way_to_write_an_opinion_reaches_its_position(given: dict, position: float):
    entity, b = entity_and_bin(OpinionInput(" ROOM", **given), SENTIMENT_INTENSITY)
    assert (entity, SENTIMENT_INTENSITY.positions[b]) == ("room", position)


@pytest.mark.parametrize(
    ("given", "scale", "pointer", "detail"),
    [
        ({}, SENTIMENT_INTENSITY, "", "exactly one of si, sentiment and stars is needed, got none"),
        ({"si": 20, "stars": 4}, SENTIMENT_INTENSITY, "", "exactly one of .* got si and stars"),
        ({"si": 0, "sentiment": "mixed"}, SENTIMENT_INTENSITY, "", "exactly one of .* got si and sentiment"),
        ({"intensity": "low"}, SENTIMENT_INTENSITY, "", "exactly one of .* got none"),
        ({"si": 20, "intensity": "low"}, SENTIMENT_INTENSITY, "/intensity", "only goes with a sentiment"),
        ({"stars": 2, "intensity": "low"}, SENTIMENT_INTENSITY, "/intensity", "only goes with a sentiment"),
        ({"si": 15}, SENTIMENT_INTENSITY, "/si", "must be one of -30, -20, -10, 0, 10, 20, 30, got 15"),
        ({"stars": 0.9}, SENTIMENT_INTENSITY, "/stars", r"in 1 \.\. 5, got 0.9"),
        ({"stars": 5.1}, SENTIMENT_INTENSITY, "/stars", r"in 1 \.\. 5, got 5.1"),
        ({"stars": 4}, OpinionScale((1, 2)), "/stars", "defines no positions for stars"),
        ({"sentiment": "positive"}, STARS_ONLY, "/sentiment", "must be one of 1, 2, 3, got 20"),
    ],
)
def test_what_is_no_opinion_of_the_scale_is_refused_where_it_stands(given: dict, scale, pointer: str, detail: str):
    with pytest.raises(InvalidRequestError, match=detail) as refused:
        entity_and_bin(OpinionInput("room", **given), scale)
    assert [error.pointer for error in refused.value.errors] == [pointer]


def test_a_document_level_position_is_a_bin_or_refused():
    assert bin_of_position(3, STARS_ONLY) == 2
    with pytest.raises(InvalidRequestError, match=r"must be one of 1, 2, 3, got 2\.5") as refused:
        bin_of_position(2.5, STARS_ONLY)
    assert refused.value.errors[0].pointer == "/si"
