import msgspec
import pytest

from app.documents import Draft, draft, readable_id
from app.errors import InvalidRequestError
from app.store.base import Document, Opinion
from warp_core import SENTIMENT_INTENSITY, OpinionScale

FULL = {
    "id": "r 1",
    "text": "a fine breakfast",
    "opinions": [
        {
            "entity": " Breakfast ",
            "si": 30,
            "confidence": 0.5,
            "evidence": "fine",
            "evidence_type": "explicit",
            "impact": -2,
            "markers": ["joy"],
        },
        {"entity": "Pool", "stars": 1},
    ],
    "si": -10,
    "attributes": {"traveller": "family"},
    "metadata": {"n": 2**63 - 1, "deep": [{"a": None}]},
    "timestamp": "2024-02-29T12:00:00+02:00",
    "version": "7",
    "excluded": False,
}


def drafted(document: object, scale: OpinionScale = SENTIMENT_INTENSITY) -> Draft:
    return draft(msgspec.json.encode(document), scale)


def fingerprint(**fields: object) -> bytes:
    return drafted({"id": "d", **fields}).change.fingerprint


def test_a_document_becomes_a_change_with_entities_as_keys_and_opinions_in_bins():
    change = drafted(FULL).change
    assert (change.id, change.version, change.vector) == ("r 1", 7, None)
    assert change.content == Document(
        text="a fine breakfast",
        opinions=[Opinion("breakfast", 6, 0.5, "fine", "explicit", -2, ["joy"]), Opinion("pool", 0)],
        bin=2,
        attributes={"traveller": "family"},
        metadata={"n": 2**63 - 1, "deep": [{"a": None}]},
        timestamp="2024-02-29T12:00:00+02:00",
        excluded=False,
    )


def test_an_id_alone_is_a_document():
    change = drafted({"id": "a"}).change
    assert (change.id, change.content, change.version) == ("a", Document(), None)


def test_opinions_lie_on_the_scale_of_the_collection():
    scale = OpinionScale((1, 2.5, 4))
    content = drafted({"id": "a", "si": 4, "opinions": [{"entity": "x", "si": 2.5}]}, scale).content
    assert (content.bin, content.opinions[0].bin) == (2, 1)


@pytest.mark.parametrize(
    ("version", "number"),
    [
        (None, None),
        (0, 0),
        ("0", 0),
        ("007", 7),
        (2**53 + 1, 2**53 + 1),
        (2**63 - 1, 2**63 - 1),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_a_version_is_a_whole_number_below_2_to_the_63_or_its_decimal_string(version: object, number: int | None):
    assert drafted({"id": "a", "version": version}).change.version == number


@pytest.mark.parametrize(
    "version",
    [
        -1,
        "-1",
        2**63,
        "9223372036854775808",
        2**64,
        10**30,
        "9" * 30,
        1.5,
        "1.5",
        "1e3",
        "",
        " 1",
        "+1",
        "٣",
        True,
        [1],
    ],
)
def test_another_version_is_refused(version: object):
    with pytest.raises(InvalidRequestError) as refused:
        drafted({"id": "a", "version": version})
    assert refused.value.errors[0].pointer == "/version"


@pytest.mark.parametrize(
    "timestamp", ["2024-02-29", "2024-02-29T23:59", "2024-02-29T23:59:59.5Z", "2024-02-29 10:00:00+05:30", "20240229"]
)
def test_a_timestamp_is_an_iso_8601_date_or_time_and_stays_as_written(timestamp: str):
    assert drafted({"id": "a", "timestamp": timestamp}).content.timestamp == timestamp


@pytest.mark.parametrize("timestamp", ["", "yesterday", "2023-02-29", "2024-02-29T24:01", "29.02.2024", "\0", 5])
def test_another_timestamp_is_refused(timestamp: object):
    with pytest.raises(InvalidRequestError) as refused:
        drafted({"id": "a", "timestamp": timestamp})
    assert refused.value.errors[0].pointer == "/timestamp"


@pytest.mark.parametrize("other", ["ROOM", " room\t", "ｒｏｏｍ"])
def test_a_second_opinion_on_the_same_entity_is_refused(other: str):
    opinions = [{"entity": "room", "si": 0}, {"entity": "pool", "si": 0}, {"entity": other, "si": 0}]
    with pytest.raises(InvalidRequestError, match="a second opinion on 'room'") as refused:
        drafted({"id": "a", "opinions": opinions})
    assert refused.value.errors[0].pointer == "/opinions/2/entity"


@pytest.mark.parametrize(
    "other",
    [
        {"text": "other"},
        {"si": 10},
        {"si": 0},
        {"excluded": True},
        {"timestamp": "2024-01-01"},
        {"attributes": {"a": "b"}},
        {"metadata": {"a": 1}},
        {"metadata": {"a": "1"}},
        {"embedding": [0.1, 0.2]},
        {"embedding": [0.1, 0.25]},
        {"opinions": [{"entity": "room", "si": 10}]},
        {"opinions": [{"entity": "room", "si": 10, "confidence": 0}]},
        {"opinions": [{"entity": "food", "si": 10}]},
    ],
    ids=str,
)
def test_any_other_content_has_another_fingerprint(other: dict):
    base = {"text": "text", "embedding": [0.1, 0.3], "opinions": [{"entity": "room", "si": 20}]}
    assert fingerprint(**base) != fingerprint(**{**base, **other})
    assert fingerprint() != fingerprint(**other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"version": 1}, {"version": 2}),
        ({"metadata": {"a": 1, "b": 2}}, {"metadata": {"b": 2, "a": 1}}),
        ({"text": "", "opinions": [], "si": None, "metadata": {}}, {}),
        ({"opinions": [{"entity": "Room", "si": 20}]}, {"opinions": [{"entity": "room", "sentiment": "positive"}]}),
        ({"embedding": [1, 0]}, {"embedding": [1.0, 0.0]}),
    ],
)
def test_the_same_content_in_another_writing_has_the_same_fingerprint(one: dict, other: dict):
    assert fingerprint(**one) == fingerprint(**other)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"text": "pool"}, "pool"),
        ({"text": "pool", "embedding": [1]}, ""),
        ({"text": "pool", "embedding": []}, ""),
        ({"text": "pool", "excluded": True}, ""),
        ({}, ""),
    ],
)
def test_the_text_is_encoded_unless_an_embedding_came_or_the_document_is_excluded(fields: dict, text: str):
    assert drafted({"id": "a", **fields}).to_encode == text


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b'{"id": "a", "si": 5}', "a"),
        (b'{"id": "\xc3\xa9"}', "é"),
        (b'{"id": 5}', None),
        (b'{"id": null}', None),
        (b'{"ID": "a"}', None),
        (b'["id"]', None),
        (b"null", None),
        (b"", None),
        (b'{"id": "a"', None),
        (b'{"id": "\xff"}', None),
        (b'{"id": "\\ud800"}', None),
        (b'{"id": "a", "x": ' + b"[" * 100_000, None),
    ],
)
def test_the_id_of_a_bad_document_is_told_when_it_can_be_read(raw: bytes, name: str | None):
    assert readable_id(raw) == name


def test_what_is_known_of_an_opinion_is_told_even_when_it_is_nought():
    assert Opinion("room", 3).details() == {}
    assert Opinion("room", 3, 0.5, "e", "t", 1.5, ["m"]).details() == {
        "confidence": 0.5,
        "evidence": "e",
        "evidence_type": "t",
        "impact": 1.5,
        "markers": ["m"],
    }
    assert Opinion("room", 3, confidence=0.0, impact=0.0).details() == {"confidence": 0.0, "impact": 0.0}
