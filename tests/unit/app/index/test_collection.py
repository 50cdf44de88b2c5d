import asyncio
from itertools import permutations
from threading import Event, Thread

import numpy as np
import pytest

from app.index.base import MAX_RESULTS, Held, Hit
from app.index.collection import SEAL_ROWS, LocalCollection
from app.index.local import LocalIndex
from app.index.merging import merged
from app.store.base import IndexEntry, Labels, Vector
from tests.indexes import EVERYTHING, entry, index_of, members, sealed, search, wanted

QUERY = np.array([1, 0, 0, 0], np.float32)
HIDDEN = {True: {"a": Labels(None, None, excluded=True)}, False: {}}
EAST, NORTH, WEST = (np.array(v, np.float32) for v in ([1, 0], [0, 1], [-1, 0]))


def random_units(n: int, dimension: int, seed: int = 0) -> Vector:
    vectors = np.random.default_rng(seed).normal(size=(n, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(params=[False, True], ids=["fresh", "sealed"])
def seal(request: pytest.FixtureRequest) -> bool:
    """Whether what was put first has gone into a segment before more comes."""
    return bool(request.param)


def told(entries: list[IndexEntry], seal: bool) -> LocalCollection:
    index = index_of(entries)
    return sealed(index) if seal else index


def test_the_nearest_come_first_with_their_cosine(seal: bool):
    index = told([entry("west", WEST), entry("north", NORTH), entry("east", EAST)], seal)
    query = np.array([0.8, 0.6], np.float32)
    assert [name for name, _ in search(index, query, 3)] == ["east", "north", "west"]
    assert [score for _, score in search(index, query, 3)] == pytest.approx([0.8, 0.6, -0.8])
    assert search(index, query, 1) == search(index, query, 3)[:1]


def test_a_replaced_document_is_found_once_under_its_latest_vector_and_opinions(seal: bool):
    index = told([entry("a", EAST, {"room": 1, "food": 2}), entry("b", WEST, {"room": 3})], seal)
    assert (members(index, "room"), members(index, "food")) == ({"a": 1, "b": 3}, {"a": 2})
    index.put(entry("a", NORTH, {"room": 5}))
    assert search(index, NORTH, 10) == [("a", 1.0), ("b", 0.0)]
    assert (members(index, "room"), members(index, "food")) == ({"b": 3, "a": 5}, {})
    assert (len(index), index.counts("room", 7)) == (2, [0, 0, 0, 1, 0, 1, 0])
    assert index.labels("room", ["a"]) == {"a": Labels(5, None, excluded=False)}
    assert index.labels("food", ["a"]) == {"a": Labels(None, None, excluded=False)}


@pytest.mark.parametrize("gone", [entry("a", present=False), entry("a", EAST, {"room": 1}, excluded=True)])
def test_a_deleted_or_excluded_document_is_nowhere_until_it_comes_back(gone: IndexEntry, seal: bool):
    index = told([entry("a", EAST, {"room": 1}), entry("b", WEST, {"room": 3})], seal)
    assert members(index, "room") == {"a": 1, "b": 3}
    index.put(gone)
    index.put(gone)
    assert (search(index, EAST, 10), members(index, "room"), len(index)) == ([("b", -1.0)], {"b": 3}, 1)
    assert index.counts(None, 7) == [0, 0, 0, 1, 0, 0, 0]
    assert index.labels("room", ["a", "b"]) == {"b": Labels(3, None, excluded=False), **HIDDEN[gone.excluded]}
    assert set(index.excluded(["a", "b"])) == set(HIDDEN[gone.excluded])
    index.put(entry("a", NORTH, {"room": 6}))
    assert (search(index, NORTH, 1), members(index, "room")) == ([("a", 1.0)], {"b": 3, "a": 6})


def test_an_empty_index_finds_nothing(seal: bool):
    for index in (told([], seal), told([entry("a", bins={"room": 1})], seal), LocalIndex()["never"]):
        assert search(index, EAST, 10) == []
        assert members(index, "nothing") == {}


def test_documents_without_vectors_are_members_before_and_after_the_first_vector(seal: bool):
    index = told([entry(f"d{i}", bins={"room": i % 7}) for i in range(1500)], seal)
    index.put(entry("a", EAST, {"room": 0}))
    index.put(entry("late", None, {"room": 6}))
    found = members(index)
    assert len(found) == 1502
    assert (found["d13"], found["a"], found["late"]) == (6, 0, 6)
    assert search(index, EAST, 1) == [("a", 1.0)]
    again = sealed(index)
    assert (members(again), search(again, EAST, 1)) == (found, [("a", 1.0)])


def test_a_zero_vector_lies_between_the_near_and_the_far(seal: bool):
    index = told([entry("east", EAST), entry("zero", 0 * EAST), entry("west", WEST)], seal)
    assert search(index, EAST, 3) == [("east", 1.0), ("zero", 0.0), ("west", -1.0)]


@pytest.mark.parametrize("dimension", [0, 1, 3])
async def test_queries_of_another_dimension_find_nothing_and_are_similar_to_nothing(dimension: int, seal: bool):
    index = told([entry("east", EAST, {"room": 1})], seal)
    query = np.ones(dimension, np.float32)
    assert await index.search(query, 2) == []
    assert await index.held("room", wanted({1: query}), 9, ()) == Held(["east"], [1], [0.0])


async def test_the_held_of_a_bin_are_its_nearest_to_the_query_of_the_bin_without_those_left_out(seal: bool):
    index = told(
        [
            entry("east", EAST, {"room": 0}),
            entry("north", NORTH, {"room": 0, "food": 6}),
            entry("west", WEST, {"room": 0}),
            entry("up", NORTH, {"room": 6}),
            entry("other", EAST, {"food": 0}),
        ],
        seal,
    )
    query = np.array([0.8, 0.6], np.float32)
    near = ["east", "north", "west"], [0.8, 0.6, -0.8]
    for limit, without, kept in ((9, set(), slice(3)), (2, {"east", "nobody"}, slice(1, 3)), (1, {"north"}, slice(1))):
        found = await index.held("room", wanted({0: query}), limit, without)
        assert (found.ids, found.bins, found.scores) == (
            near[0][kept],
            [0] * len(found.ids),
            pytest.approx(near[1][kept]),
        )
    found = await index.held("room", wanted({6: -NORTH, 0: NORTH, 3: NORTH}), 1, ())
    assert found == Held(["up", "north"], [6, 0], [-1.0, 1.0])
    assert await index.held("nothing", wanted({0: query}), 9, ()) == Held([], [], [])


async def test_vectors_are_the_latest_of_those_that_are_here(seal: bool):
    index = told([entry("a", EAST), entry("gone", EAST), entry("b", NORTH)], seal)
    index.put(entry("a", WEST))
    index.put(entry("gone", present=False))
    found = await index.vectors(["b", "a", "gone", "never"])
    assert {name: vector.tolist() for name, vector in found.items()} == {"a": [-1, 0], "b": [0, 1]}
    assert await told([entry("a")], seal).vectors(["a"]) == {}


@pytest.mark.parametrize("k", [1, 2, 3])
async def test_equals_come_in_one_order_however_they_were_put_and_sealed(k: int):
    orders = set()
    for order in permutations("abc"):
        for seal_after in range(4):
            index = index_of([entry("0", NORTH, {"room": 1})])
            for i, name in enumerate(order):
                index = sealed(index) if i == seal_after else index
                index.put(entry(name, EAST, {"room": 1}))
            held = await index.held("room", wanted({1: EAST}), k, ())
            orders.add((tuple(search(index, EAST, k)), tuple(zip(held.ids, held.scores, strict=True))))
    ((found, held),) = orders
    assert found == held
    assert len(found) == k
    assert set(found) <= {("a", 1.0), ("b", 1.0), ("c", 1.0)}


def test_an_absurd_k_gives_the_most_that_a_search_returns(seal: bool):
    vectors = random_units(MAX_RESULTS + 500, 4)
    index = told([entry(str(i), v) for i, v in enumerate(vectors)], seal)
    hits = search(index, QUERY, 10**9)
    assert len({name for name, _ in hits}) == MAX_RESULTS
    assert [score for _, score in hits] == pytest.approx(-np.sort(-(vectors @ QUERY))[:MAX_RESULTS], abs=1e-6)
    assert search(index, QUERY, 0) == []


@pytest.mark.parametrize(("documents", "changes"), [(5000, SEAL_ROWS), (120_000, 1200)])
def test_a_new_segment_is_due_when_a_thousand_rows_and_a_hundredth_of_them_have_changed(documents: int, changes: int):
    index = sealed(index_of(entry(str(i), bins={"room": 1}) for i in range(documents)))
    for i in range(changes // 2):  # a death and a new row each
        assert not index.needs_sealing()
        index.put(entry(str(i), bins={"room": 2}))
    assert index.needs_sealing()
    assert not sealed(index).needs_sealing()


def changed_much(index: LocalIndex) -> None:
    """300 documents, each replaced five times, every third of them deleted at last."""
    for i, vector in enumerate(random_units(1500, 4)):
        index.put(entry(f"d{i % 300}", vector, {"room": i % 7, f"e{i % 300 % 5}": 3}))
    for i in range(0, 300, 3):
        index.put(entry(f"d{i}", present=False))


async def test_sealing_keeps_what_is_found():
    index = LocalIndex()
    changed_much(index)
    before = index["c"]
    after = sealed(before)
    assert (len(after), after.changed, len(after.segment)) == (200, 0, 200)
    assert search(after, QUERY, 300) == search(before, QUERY, 300)
    assert after.entities("", 9) == before.entities("", 9)
    for entity in ("room", "e0", "e4"):
        assert members(after, entity) == members(before, entity)
        assert after.counts(entity, 7) == before.counts(entity, 7)
    assert after.counts(None, 7) == before.counts(None, 7)
    assert after.labels("room", [f"d{i}" for i in range(301)]) == before.labels("room", [f"d{i}" for i in range(301)])


def test_a_view_shows_what_was_there_when_it_was_taken(seal: bool):
    index = told([entry(f"d{i}", EAST if i % 2 else NORTH, {"room": i % 7}) for i in range(100)], seal)
    index.put(entry("d1", present=False))
    index.put(entry("d2", EAST, {"room": 1}))
    view, found, before = index.view(), search(index, EAST, 200), members(index)
    for i in range(3000):  # the arrays are outgrown too
        index.put(entry(f"d{i % 100 + 2}", WEST, {"room": 6}))
        index.put(entry(f"new{i}", EAST, {"room": 6}))
    assert view.search(EAST, 200) == found
    assert members(LocalCollection(merged(view.parts(), EVERYTHING, lambda: None))) == before
    replayed = LocalCollection(view.segment)
    for change in view.changes("c"):
        replayed.put(change)
    assert (members(replayed), search(replayed, EAST, 200)) == (before, found)


def test_a_search_beside_the_writer_never_finds_a_document_twice_or_with_a_wrong_score(seal: bool):
    index, written, found = told([entry(f"d{i}", EAST) for i in range(50)], seal), Event(), list[list[Hit]]()
    view = [index.view()]

    def search_on() -> None:
        while not written.is_set():
            found.append(view[0].search(EAST, 100))

    reader = Thread(target=search_on)
    reader.start()
    for i in range(3000):
        index.put(entry(f"d{i % 50}", NORTH if i % 3 else EAST))
        view[0] = index.view()
    written.set()
    reader.join()
    assert found
    for hits in found:
        assert {name for name, _ in hits} == {f"d{i}" for i in range(50)}
        assert len(hits) == 50
        assert {score for _, score in hits} <= {0.0, 1.0}


async def test_what_takes_long_is_searched_in_another_thread_as_it_was_when_asked():
    index = index_of(entry(f"d{i}", EAST, {"room": 1}) for i in range(20_000))
    asked = (
        asyncio.ensure_future(index.search(EAST, 2000)),
        asyncio.ensure_future(index.held("room", wanted({1: EAST}), 9, ())),
    )
    await asyncio.sleep(0)
    for i in range(20_000):
        index.put(entry(f"d{i}", WEST, {"room": 2}))
    hits, held = await asyncio.gather(*asked)
    assert {score for _, score in hits} == {1.0}
    assert held.scores == [1.0] * 9


def test_collections_are_indexed_apart():
    index = LocalIndex()
    index.put(entry("a", EAST, {"room": 1}))
    index.put(entry("a", None, {"room": 2, "food": 3}, collection="other"))
    assert (members(index["c"]), members(index["other"])) == ({"a": 1}, {"a": 2})
    assert (index["c"].entities("", 9), index["other"].knows("food")) == ([("room", 1)], True)
    assert (len(index), search(index["other"], EAST, 9)) == (2, [])


def test_an_adopted_index_replaces_all_of_the_old_but_what_a_reader_holds():
    index, other = LocalIndex(), LocalIndex()
    index.put(entry("old", EAST, {"room": 1}))
    index.put(entry("old", EAST, {"room": 1}, collection="gone"))
    other.put(entry("new", NORTH, {"room": 5}))
    held = index["c"]
    index.adopt(other)
    assert (len(index), members(index["c"]), members(index["gone"])) == (1, {"new": 5}, {})
    assert (members(held), search(held, EAST, 9)) == ({"old": 1}, [("old", 1.0)])


def test_an_index_that_keeps_no_vectors_keeps_the_opinions():
    index = LocalIndex(keeps_vectors=False)
    index.put(entry("a", EAST, {"room": 1}))
    assert (members(index["c"]), search(index["c"], EAST, 1)) == ({"a": 1}, [])
