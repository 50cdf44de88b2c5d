from datetime import date

import pytest

from app.store.facets import ALL, day_of, described, facets_of, of_day, of_group, split


@pytest.mark.parametrize(
    ("timestamp", "day"),
    [
        ("2024-01-01", date(2024, 1, 1)),
        ("20240101", date(2024, 1, 1)),
        ("2024-01-01T23:59:59.999999", date(2024, 1, 1)),
        ("2024-01-01T23:59:59Z", date(2024, 1, 1)),
        ("2024-01-01T23:30:00-02:00", date(2024, 1, 2)),  # 01:30 of the next day in UTC
        ("2024-01-02T01:30:00+02:00", date(2024, 1, 1)),  # 23:30 of the day before
        ("2024-03-01T00:00:00+00:01", date(2024, 2, 29)),
        ("2024-12-31T12:00:00-12:00", date(2025, 1, 1)),
        ("0001-01-01T00:00:00Z", date(1, 1, 1)),
        ("9999-12-31T23:59:59Z", date(9999, 12, 31)),
    ],
)
def test_the_day_of_a_time_is_that_in_utc(timestamp: str, day: date):
    assert day_of(timestamp) == day


@pytest.mark.parametrize(
    "timestamp",
    ["", "soon", "2023-02-29", "24-01-01", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-01:00", "10000-01-01"],
)
def test_what_is_no_time_or_lies_beyond_the_calendar_has_no_day(timestamp: str):
    with pytest.raises(ValueError, match=r".+"):
        day_of(timestamp)


def test_facets_are_written_as_they_are_described():
    # 2024-01-01 is day 738886 of the proleptic calendar; ["a","é"] is 10 bytes long
    assert of_day(date(1, 1, 1)) == "t:1:"
    assert of_day(date(2024, 1, 1)) == "t:738886:"
    assert of_group("a", "é") == 'g:10:["a","é"]'
    assert of_group("", "") == 'g:7:["",""]'


def test_a_document_counts_in_all_opinions_on_its_day_and_once_for_each_attribute():
    assert facets_of(None, {}) == [ALL]
    assert facets_of("2024-01-01T23:30:00-02:00", {}) == [ALL, "t:738887:"]
    assert facets_of("2024-01-01", {"b": "2", "a": "1"}) == [ALL, "t:738886:", 'g:9:["a","1"]', 'g:9:["b","2"]']


@pytest.mark.parametrize(
    "facet",
    [
        ALL,
        of_day(date(1, 1, 1)),
        of_day(date(9999, 12, 31)),
        *(of_group(a, v) for a in ("", "a", "1:", '"]', "é", "\0\n", "t:1:") for v in ("", ":", '"]x', "\U0001f600")),
    ],
)
def test_the_name_of_a_count_tells_facet_and_entity(facet: str):
    for entity in ("", "room", "p:room", "t:1:x", 'g:9:["a","1"]', ":", "1:", '"]', "\0", "é", "]", "0"):
        assert split((facet + entity).encode()) == (facet, entity)


def test_no_two_groups_are_written_alike():
    parts = ["", "a", "b", "ab", '"', '","', "[", "]", "\\", '\\"', ",", "1", "11", ":", "é", "\0", "\\u0000"]
    groups = [(attribute, value) for attribute in parts for value in parts]
    assert len({of_group(*group) for group in groups}) == len(groups)


def test_a_facet_is_described_for_the_eye():
    assert described(ALL) == ""
    assert described(of_day(date(2024, 2, 29))) == " on 2024-02-29"
    assert described(of_group("traveller", "family: 2")) == " by traveller family: 2"
