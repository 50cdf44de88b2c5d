import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from threading import Event
from typing import Any

import faiss
import numpy as np
import pytest

from app.index import MAX_RESULTS, MIN_DEAD, CollectionIndex, Index
from app.store.base import IndexEntry, Vector
from tests.indexes import entry, index_of, members

QUERY = np.array([1, 0, 0, 0], np.float32)
EAST, NORTH, WEST = (np.array(v, np.float32) for v in ([1, 0], [0, 1], [-1, 0]))


def random_units(n: int, dimension: int, seed: int = 0) -> Vector:
    vectors = np.random.default_rng(seed).normal(size=(n, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def test_the_nearest_come_first_with_their_cosine():
    index = index_of([entry("west", WEST), entry("north", NORTH), entry("east", EAST)])
    query = np.array([0.8, 0.6], np.float32)
    assert [name for name, _ in index.search(query, 3)] == ["east", "north", "west"]
    assert [score for _, score in index.search(query, 3)] == pytest.approx([0.8, 0.6, -0.8])
    assert index.search(query, 1) == index.search(query, 3)[:1]


def test_a_replaced_document_is_found_once_under_its_latest_vector_and_opinions():
    index = index_of([entry("a", EAST, {"room": 1, "food": 2}), entry("b", WEST, {"room": 3})])
    assert (members(index, "room"), members(index, "food")) == ({"a": 1, "b": 3}, {"a": 2})
    index.put(entry("a", NORTH, {"room": 5}))
    assert index.search(NORTH, 10) == [("a", 1.0), ("b", 0.0)]
    assert (members(index, "room"), members(index, "food")) == ({"b": 3, "a": 5}, {})
    assert len(index) == 2


@pytest.mark.parametrize("gone", [entry("a", present=False), entry("a", EAST, {"room": 1}, excluded=True)])
def test_a_deleted_or_excluded_document_is_nowhere_until_it_comes_back(gone: IndexEntry):
    index = index_of([entry("a", EAST, {"room": 1}), entry("b", WEST, {"room": 3})])
    assert members(index, "room") == {"a": 1, "b": 3}
    index.put(gone)
    index.put(gone)
    assert (index.search(EAST, 10), members(index, "room"), len(index)) == ([("b", -1.0)], {"b": 3}, 1)
    assert index.rows_of(["a", "b"]).tolist() == index.members("room").rows.tolist()
    index.put(entry("a", NORTH, {"room": 6}))
    assert (index.search(NORTH, 1), members(index, "room")) == ([("a", 1.0)], {"b": 3, "a": 6})


def test_an_empty_index_finds_nothing():
    for index in (CollectionIndex(), index_of([entry("a", bins={"room": 1})]), Index()["never"]):
        assert index.search(EAST, 10) == []
        assert index.members("nothing").rows.tolist() == index.members("nothing").bins.tolist() == []


def test_documents_without_vectors_are_members_before_and_after_the_first_vector():
    index = index_of([entry(f"d{i}", bins={"room": i % 7}) for i in range(1500)])
    index.put(entry("a", EAST, {"room": 0}))
    index.put(entry("late", None, {"room": 6}))
    found = members(index, "room")
    assert len(found) == 1502
    assert (found["d13"], found["a"], found["late"]) == (6, 0, 6)
    assert index.search(EAST, 1) == [("a", 1.0)]
    rows = index.rows_of(["a", "late", "d0"])
    assert index.similarities(rows, EAST[None]).tolist() == [[1.0], [0.0], [0.0]]


def test_a_zero_vector_lies_between_the_near_and_the_far():
    index = index_of([entry("east", EAST), entry("zero", 0 * EAST), entry("west", WEST)])
    assert index.search(EAST, 3) == [("east", 1.0), ("zero", 0.0), ("west", -1.0)]


def test_similarities_have_a_row_a_document_and_a_column_a_query():
    index = index_of([entry("east", EAST), entry("north", NORTH)])
    similarities = index.similarities(index.rows_of(["north", "nothing", "east"]), np.stack([EAST, NORTH, WEST]))
    assert similarities.tolist() == [[0, 1, 0], [1, 0, -1]]


@pytest.mark.parametrize("dimension", [0, 1, 3])
def test_queries_of_another_dimension_are_similar_to_nothing_and_find_nothing(dimension: int):
    index = index_of([entry("east", EAST), entry("north", NORTH)])
    queries = np.ones((3, dimension), np.float32)
    assert index.similarities(index.rows_of(["north", "east"]), queries).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert index.search(queries[0], 2) == []


def test_the_vector_of_a_document_is_its_latest_or_none():
    index = index_of([entry("a", EAST), entry("a", NORTH), entry("gone", EAST), entry("gone", present=False)])
    found = [index.vector(name) for name in ("a", "gone", "never")]
    assert [None if vector is None else vector.tolist() for vector in found] == [[0, 1], None, None]
    assert index_of([entry("a")]).vector("a") is None


@pytest.mark.parametrize("k", [1, 2, 3])
def test_equals_are_chosen_and_ordered_by_id_in_whatever_order_they_were_put(k: int):
    for order in permutations("abc"):
        index = index_of([entry("0", NORTH), *(entry(name, EAST) for name in order)])
        assert index.search(EAST, k) == [("a", 1.0), ("b", 1.0), ("c", 1.0)][:k]


@pytest.mark.parametrize("k", [1, 10, 300, 10**9])
def test_search_equals_brute_force_after_any_changes(k: int):
    rng = np.random.default_rng(1)
    vectors, state, index = random_units(2000, 8), dict[str, Vector](), CollectionIndex()
    for vector in vectors:
        name = f"d{rng.integers(300)}"
        if rng.random() < 0.3:
            index.put(entry(name, present=False))
            state.pop(name, None)
        else:
            index.put(entry(name, vector))
            state[name] = vector
    for query in random_units(5, 8, seed=2):
        exact = sorted(((float(v.astype(float) @ query), name) for name, v in state.items()), reverse=True)[:k]
        hits = index.search(query, k)
        assert [name for name, _ in hits] == [name for _, name in exact]
        assert [score for _, score in hits] == pytest.approx([score for score, _ in exact], abs=1e-6)


def test_an_absurd_k_gives_the_most_that_a_search_returns():
    vectors = random_units(MAX_RESULTS + 500, 4)
    hits = index_of(entry(str(i), v) for i, v in enumerate(vectors)).search(QUERY, 10**9)
    assert len({name for name, _ in hits}) == MAX_RESULTS
    assert [score for _, score in hits] == pytest.approx(-np.sort(-(vectors @ QUERY))[:MAX_RESULTS], abs=1e-6)


def test_asking_for_unknown_entities_takes_no_memory():
    index = index_of([entry("a", EAST, {"room": 1})])
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for i in range(5000):
        index.members(f"an entity that nobody knows {i}")
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 50_000


@pytest.mark.parametrize(
    ("rows", "dead", "needed"),
    [(MIN_DEAD, MIN_DEAD - 1, False), (MIN_DEAD, MIN_DEAD, True), (6000, 1199, False), (6000, 1200, True)],
)
def test_a_collection_is_compacted_when_a_thousand_and_a_fifth_of_its_rows_are_dead(rows: int, dead: int, needed: bool):
    index = index_of(entry(str(i), EAST) for i in range(rows))
    for i in range(dead):
        index.put(entry(str(i), present=False))
    assert index.needs_compaction() is needed


def changed_much() -> Index:
    """300 documents, each replaced five times, every third of them deleted at last."""
    index, vectors = Index(), random_units(1500, 4)
    for i, vector in enumerate(vectors):
        index.put(entry(f"d{i % 300}", vector, {"room": i % 7, f"e{i % 300 % 5}": 3}))
    for i in range(0, 300, 3):
        index.put(entry(f"d{i}", present=False))
    return index


async def test_compaction_keeps_what_is_found():
    index = changed_much()
    before = index["c"]
    await index.compact()
    after = index["c"]
    assert after is not before
    assert len(index) == 200
    assert not after.needs_compaction()
    assert after.search(QUERY, 300) == before.search(QUERY, 300)
    assert len(after.search(QUERY, 300)) == 200
    assert after.entities("", 9) == before.entities("", 9)
    for entity in ("room", "e0", "e4"):
        assert list(members(after, entity).items()) == list(members(before, entity).items())
    names = ["d1", "d0", "d299"]
    old, new = (one.similarities(one.rows_of(names), QUERY[None]) for one in (before, after))
    assert old.tolist() == new.tolist()


async def test_a_reader_of_the_old_generation_is_not_disturbed():
    index = changed_much()
    before = index["c"]
    rows, found = before.members("room").rows, before.search(QUERY, 300)
    names, similarities = before.ids(rows), before.similarities(rows, QUERY[None]).tolist()
    await index.compact()
    index.put(entry("d1", present=False))
    index.put(entry("d2", QUERY, {"room": 6}))
    index.put(entry("new", QUERY, {"room": 0}))
    assert (before.search(QUERY, 300), before.ids(rows)) == (found, names)
    assert before.similarities(rows, QUERY[None]).tolist() == similarities
    after = index["c"]
    assert {name for name, _ in after.search(QUERY, 2)} == {"d2", "new"}
    assert "d1" not in members(after, "room")
    assert (members(after, "room")["d2"], len(after)) == (6, 200)


def test_a_search_beside_the_writer_never_finds_a_document_twice_or_with_a_wrong_score():
    index, written = index_of(entry(f"d{i}", EAST) for i in range(50)), Event()

    def search_on() -> list[list[tuple[str, float]]]:
        found = [index.search(EAST, 100)]
        while not written.is_set():
            found.append(index.search(EAST, 100))
        return found

    with ThreadPoolExecutor(1) as reader:
        searching = reader.submit(search_on)
        for i in range(3000):
            index.put(entry(f"d{i % 50}", NORTH if i % 3 else EAST))
        written.set()
    for hits in searching.result():
        assert len({name for name, _ in hits}) == len(hits)
        assert {score for _, score in hits} <= {0.0, 1.0}


@pytest.mark.parametrize("history", [[EAST], [EAST, WEST], [WEST, EAST]])
def test_a_document_replaced_during_a_search_is_found_as_it_was_at_its_start(
    monkeypatch: pytest.MonkeyPatch, history: list[Vector]
):
    index = index_of([*(entry("a", vector) for vector in history), entry("b", NORTH)])
    before, knn = index.search(EAST, 2), faiss.knn

    def knn_beside_a_writer(*arguments: Any, **options: Any) -> Any:
        found = knn(*arguments, **options)
        index.put(entry("a", history[-1], {"room": 1}))  # by another thread, in real life
        return found

    monkeypatch.setattr(faiss, "knn", knn_beside_a_writer)
    assert index.search(EAST, 2) == before


def test_collections_are_indexed_apart():
    index = Index()
    index.put(entry("a", EAST, {"room": 1}))
    index.put(entry("a", None, {"room": 2, "food": 3}, collection="other"))
    assert (members(index["c"]), members(index["other"])) == ({"a": 1}, {"a": 2})
    assert (index["c"].entities("", 9), index["other"].knows("food")) == ([("room", 1)], True)
    assert (len(index), index["c"].dimension, index["other"].dimension) == (2, 2, 0)


def test_an_adopted_index_replaces_all_of_the_old_but_what_a_reader_holds():
    index, other = Index(), Index()
    index.put(entry("old", EAST, {"room": 1}))
    index.put(entry("old", EAST, {"room": 1}, collection="gone"))
    other.put(entry("new", NORTH, {"room": 5}))
    held = index["c"]
    index.adopt(other)
    assert (len(index), members(index["c"]), members(index["gone"])) == (1, {"new": 5}, {})
    assert (members(held), held.search(EAST, 9)) == ({"old": 1}, [("old", 1.0)])
