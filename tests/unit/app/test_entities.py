import time

import pytest

from app.entities import entity_in
from app.store.base import Change, Store
from tests.conftest import put

KNOWN = ["breakfast", "breakfast buffet", "caf\u00e9", "c++", "new york", "pool", "wi-fi", "a b c d e f g h", "spa!"]


@pytest.fixture
def known(store: Store) -> list[Change]:
    return [put(name, {name: 3}) for name in KNOWN]


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
async def test_the_longest_known_name_wins_then_the_earlier_as_whole_words(
    store: Store, known: list[Change], query: str, entity: str
):
    await store.apply("c", known)
    assert await entity_in(query, "c", store) == entity


@pytest.mark.parametrize("query", ["", " ", "?!", "the carpool", "pools", "new", "york new", "breakfasts", "\ufffd"])
async def test_a_query_without_a_known_name_names_none(store: Store, known: list[Change], query: str):
    await store.apply("c", known)
    assert await entity_in(query, "c", store) is None


async def test_only_names_that_opinions_are_held_on_in_this_collection_are_known(store: Store):
    await store.apply("c", [put("a", {"pool": 3}, excluded=True), put("b", {"spa": 3}), put("c", {"bar": 3})])
    await store.apply("other", [put("a", {"pool": 3})])
    await store.apply("c", [Change("b")])
    assert await entity_in("the pool, the spa and the bar", "c", store) == "bar"
    assert await entity_in("the pool", "c", store) is None
    assert await entity_in("the pool", "other", store) == "pool"


async def test_a_very_long_query_is_answered_fast_from_its_beginning(store: Store, known: list[Change]):
    await store.apply("c", known)
    begin = time.perf_counter()
    assert await entity_in("pool " + "word " * 200_000 + "breakfast", "c", store) == "pool"
    assert await entity_in("x" * 1_000_000, "c", store) is None
    assert time.perf_counter() - begin < 3
