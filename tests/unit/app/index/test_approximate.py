import faiss
import numpy as np
import pytest

from app.index import approximate
from app.index.collection import LocalCollection
from app.index.products import every_product, inner_products
from app.store.base import Vector
from tests.indexes import entry, index_of, sealed, search

N, DIMENSION = 6000, 24


def clustered(n: int = N, clusters: int = 60, noise: float = 0.7) -> Vector:
    """Unit vectors around random centres."""
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(clusters, DIMENSION))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    vectors = centres[rng.integers(0, clusters, n)] + rng.normal(size=(n, DIMENSION)) * noise / DIMENSION**0.5
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


VECTORS = clustered()


@pytest.fixture(scope="module")
def index() -> LocalCollection:
    return sealed(index_of(entry(f"d{i}", v, {"room": i % 7}) for i, v in enumerate(VECTORS)), approximate_from=1)


def exact(vectors: Vector, query: Vector, k: int) -> set[int]:
    return set(np.argsort(-(vectors @ query))[:k].tolist())


def share_found(index: LocalCollection, queries: Vector, k: int, known: Vector = VECTORS) -> float:
    shares = []
    for query in queries:
        found = {int(name[1:]) for name, _ in search(index, query, k)}
        assert len(found) == k
        shares.append(len(found & exact(known, query, k)) / k)
    return float(np.mean(shares))


@pytest.mark.parametrize("k", [10, 200])
def test_nearly_all_of_the_nearest_are_found_with_a_part_of_the_documents_looked_at(
    index: LocalCollection, k: int, monkeypatch: pytest.MonkeyPatch
):
    looked_at = []

    def counting(matrix: Vector, rows: object, query: Vector) -> object:
        if matrix is index.segment.matrix:
            looked_at.append(len(rows))
        return inner_products(matrix, rows, query)

    monkeypatch.setattr(approximate, "inner_products", counting)
    assert share_found(index, VECTORS[::300], k) > 0.95
    assert sum(looked_at) / len(VECTORS[::300]) < 0.4 * N


def test_queries_that_lie_between_the_clusters_are_answered_too(index: LocalCollection):
    rng = np.random.default_rng(5)
    queries = rng.normal(size=(20, DIMENSION)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    assert share_found(index, queries, 100) > 0.9


@pytest.mark.parametrize("k", [10, 200, 3000])
def test_how_many_lists_are_put_in_order_at_first_changes_nothing(
    index: LocalCollection, k: int, monkeypatch: pytest.MonkeyPatch
):
    found = []
    for at_first in (1, 3, len(index.segment.centroids), 10**6):
        monkeypatch.setattr(approximate, "NEAR", at_first)
        found.append([search(index, query, k) for query in VECTORS[::1000]])
    assert all(one == found[0] for one in found)


def test_as_many_as_are_asked_for_are_found_even_if_most_are_dead(index: LocalCollection):
    """All documents near the query die, so that the first lists hold nothing."""
    again = LocalCollection(index.segment)
    dead = exact(VECTORS, VECTORS[0], N - 300)
    for i in dead:
        again.put(entry(f"d{i}", present=False))
    hits = search(again, VECTORS[0], 250)
    assert len(hits) == 250
    assert not {int(name[1:]) for name, _ in hits} & dead
    assert len(search(again, VECTORS[0], 1000)) == 300


def test_documents_that_came_since_are_all_looked_at(index: LocalCollection):
    again = LocalCollection(index.segment)
    again.put(entry("new", VECTORS[17], {"room": 1}))
    again.put(entry("d18", VECTORS[17], {"room": 1}))
    assert {name for name, score in search(again, VECTORS[17], 3) if score > 0.999} == {"new", "d17", "d18"}


def test_a_search_for_as_many_as_there_are_finds_all_in_order(index: LocalCollection):
    small = sealed(index_of(entry(f"d{i}", v) for i, v in enumerate(VECTORS[:500])), approximate_from=1)
    hits = search(small, VECTORS[0], 500)
    assert [score for _, score in hits] == pytest.approx(np.sort(VECTORS[:500] @ VECTORS[0])[::-1], abs=1e-6)


def test_documents_without_a_vector_come_where_a_similarity_of_zero_lies():
    entries = [entry("east", np.array([1, 0], np.float32)), entry("west", np.array([-1, 0], np.float32))]
    index = sealed(index_of([*entries, *(entry(f"none{i}") for i in range(5))]), approximate_from=1)
    hits = search(index, np.array([1, 0], np.float32), 9)
    assert [score for _, score in hits] == [1, 0, 0, 0, 0, 0, -1]


def test_one_document_or_equal_ones_make_an_index():
    for vectors in (VECTORS[:1], np.repeat(VECTORS[:1], 50, axis=0)):
        index = sealed(index_of(entry(f"d{i}", v) for i, v in enumerate(vectors)), approximate_from=1)
        assert len(search(index, VECTORS[0], 99)) == len(vectors)


def test_a_collection_below_the_size_is_searched_exactly():
    few = index_of(entry(f"d{i}", v) for i, v in enumerate(VECTORS[:100]))
    assert len(sealed(few, approximate_from=101).segment.centroids) == 0
    assert len(sealed(few, approximate_from=100).segment.centroids) > 0


def test_the_lists_stay_while_the_collection_grows_a_little_and_are_made_anew_when_it_has_doubled_twice(
    index: LocalCollection,
):
    some = sealed(index_of(entry(f"d{i}", v) for i, v in enumerate(VECTORS[:400])), approximate_from=1)
    for i in range(400, 500):
        some.put(entry(f"d{i}", VECTORS[i]))
    for i in range(50):
        some.put(entry(f"d{i}", present=False))
    grown = sealed(some, approximate_from=1)
    assert grown.segment.centroids.tolist() == some.segment.centroids.tolist()
    assert share_found(grown, VECTORS[60:500:40], 20, np.where(np.arange(500)[:, None] < 50, 0, VECTORS[:500])) > 0.9
    for i in range(500, 3000):
        grown.put(entry(f"d{i}", VECTORS[i]))
    assert len(sealed(grown, approximate_from=1).segment.centroids) > 1.5 * len(grown.segment.centroids)


def test_the_same_documents_make_the_same_lists():
    twice = [sealed(index_of(entry(f"d{i}", v) for i, v in enumerate(VECTORS[:300])), 1).segment for _ in range(2)]
    assert twice[0].centroids.tobytes() == twice[1].centroids.tobytes()
    assert twice[0].id_bytes.tobytes() == twice[1].id_bytes.tobytes()


def test_a_product_is_the_same_to_the_last_bit_wherever_its_row_lies():
    rng = np.random.default_rng(0)
    for dimension in (1, 2, 3, 8, 12, 17, 384):
        matrix = rng.normal(size=(50, dimension)).astype(np.float32)
        query = rng.normal(size=dimension).astype(np.float32)
        every = inner_products(matrix, np.arange(50), query)
        assert every == pytest.approx(matrix @ query, abs=1e-5)
        assert every_product(matrix, query) == pytest.approx(every, abs=1e-5)
        moved = np.concatenate([matrix[13:14], matrix])
        for i in (0, 13, 49):
            assert inner_products(matrix, np.array([i]), query)[0] == every[i]
            assert inner_products(moved, np.array([i + 1, 0]), query)[0] == every[i]
        hits, rows = faiss.knn(query[None], matrix, 50, metric=faiss.METRIC_INNER_PRODUCT)
        assert hits[0].tolist() == every[rows[0]].tolist()


@pytest.mark.parametrize("rows", [[-1], [3], [0, 5]])
def test_rows_outside_the_matrix_are_an_error_and_no_crash(rows: list[int]):
    with pytest.raises(IndexError, match=r"rows must lie in 0 \.\. 2"):
        inner_products(np.ones((3, 2), np.float32), np.array(rows), np.ones(2, np.float32))


def test_products_of_nothing_or_another_length_are_zero():
    matrix = np.ones((3, 2), np.float32)
    assert inner_products(matrix, np.zeros(0, np.int64), np.ones(2, np.float32)).tolist() == []
    assert inner_products(matrix, np.arange(3), np.ones(3, np.float32)).tolist() == [0, 0, 0]
    assert every_product(matrix, np.ones(3, np.float32)).tolist() == [0, 0, 0]
    assert every_product(matrix[:0], np.ones(2, np.float32)).tolist() == []
    assert every_product(matrix.astype(np.float64)[::2], np.ones(2)).tolist() == [2, 2]
    assert inner_products(matrix.astype(np.float64)[::2], np.arange(2), np.ones(2)).tolist() == [2, 2]
