import time

import pytest

from app.entities import entity_in
from app.index import CollectionIndex
from tests.indexes import entry, index_of

KNOWN = ["breakfast", "breakfast buffet", "caf\u00e9", "c++", "new york", "pool", "wi-fi", "a b c d e f g h", "spa!"]


@pytest.fixture(scope="module")
def known() -> CollectionIndex:
    return index_of(entry(name, bins={name: 3}) for name in KNOWN)


@pytest.mark.parametrize(
    ("query", "entity"),
    [
        ("How is the breakfast", "breakfast"),
        ("breakfast", "breakfast"),
        ("the pool or the breakfast buffet?", "breakfast buffet"),
        ("the breakfast, buffet style", "breakfast"),
        ("pool, caf\u00e9", "pool"),
        ("caf\u00e9, pool", "caf\u00e9"),
        ("What about BREAKFAST?", "breakfast"),
        ("(\u201cBreakfast\u201d)!", "breakfast"),
        ("\u00bfbreakfast?", "breakfast"),
        ("pool\u2026", "pool"),
        ("the \uff30\uff2f\uff2f\uff2c", "pool"),
        ("any Cafe\u0301 near", "caf\u00e9"),
        ("New   York, please", "new york"),
        ("is C++ fast", "c++"),
        ("is it C++?", "c++"),
        ("the Wi-Fi.", "wi-fi"),
        ("spa! or not", "spa!"),
        ("x a b c d e f g h y", "a b c d e f g h"),
    ],
)
def test_the_longest_known_name_wins_then_the_earlier_as_whole_words(known: CollectionIndex, query: str, entity: str):
    assert entity_in(query, known, {}) == entity


@pytest.mark.parametrize("query", ["", " ", "?!", "the carpool", "pools", "new", "york new", "breakfasts", "\ufffd"])
def test_a_query_without_a_known_name_names_none(known: CollectionIndex, query: str):
    assert entity_in(query, known, {}) is None


def test_a_very_long_query_is_answered_fast_from_its_beginning(known: CollectionIndex):
    begin = time.perf_counter()
    assert entity_in("pool " + "word " * 200_000 + "breakfast", known, {}) == "pool"
    assert entity_in("x" * 1_000_000, known, {}) is None
    assert time.perf_counter() - begin < 3
