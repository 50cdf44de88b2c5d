"""What every index promises, over each way of holding the vectors."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Protocol
from uuid import NAMESPACE_OID, uuid5

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient, models

from app.index.base import MAX_RESULTS, CollectionIndex
from app.index.local import LocalIndex
from app.index.qdrant import QdrantIndex
from app.store.base import IndexEntry, Labels, Vector
from tests.indexes import EVERYTHING, entry, sealed, wanted
from warp_core import SENTIMENT_INTENSITY

# The engine for tests compares with every point anyway.
pytestmark = pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning")

EAST, NORTH, WEST = (np.array(v, np.float32) for v in ([1, 0], [0, 1], [-1, 0]))
QUERY = np.array([0.8, 0.6], np.float32)


class Held(Protocol):
    """An index that a test fills."""

    async def told(self, entries: Sequence[IndexEntry]) -> CollectionIndex:
        """The collection `c` after it was told these, in order."""

    async def close(self) -> None: ...


class Fresh:
    """In this process, all of it changed since there was a segment."""

    def __init__(self) -> None:
        self.index = LocalIndex()

    async def told(self, entries: Sequence[IndexEntry]) -> CollectionIndex:
        for one in entries:
            self.index.put(one)
        return self.index["c"]

    async def close(self) -> None:
        await self.index.close()


class Sealed(Fresh):
    """In this process, in a segment after every call."""

    approximate_from = EVERYTHING

    async def told(self, entries: Sequence[IndexEntry]) -> CollectionIndex:
        await super().told(entries)
        self.index = self.index.replaced({"c": sealed(self.index["c"], self.approximate_from)})
        return self.index["c"]


class Approximate(Sealed):
    """The same, ordered for the approximate search."""

    approximate_from = 1


class Qdrant:
    """Vectors in Qdrant, whose client brings an engine for tests; it is filled as an operator would."""

    def __init__(self) -> None:
        self.documents = LocalIndex(keeps_vectors=False)
        self.client = AsyncQdrantClient(":memory:")
        self.index = QdrantIndex(self.client, "warp-", self.documents)

    async def told(self, entries: Sequence[IndexEntry]) -> CollectionIndex:
        for one in entries:
            self.documents.put(one)
            if one.vector is not None:
                await self._upsert(one, one.vector)
        return self.index["c"]

    async def _upsert(self, one: IndexEntry, vector: Vector) -> None:
        if not await self.client.collection_exists("warp-c"):
            params = models.VectorParams(size=len(vector), distance=models.Distance.COSINE)
            await self.client.create_collection("warp-c", params)
        positions = SENTIMENT_INTENSITY.positions
        opinions = [{"entity": entity, "si": positions[b]} for entity, b in one.bins.items()]
        point = models.PointStruct(
            id=str(uuid5(NAMESPACE_OID, one.id)), vector=vector.tolist(), payload={"id": one.id, "opinions": opinions}
        )
        await self.client.upsert("warp-c", [point])

    async def close(self) -> None:
        await self.index.close()


@pytest.fixture(params=[Fresh, Sealed, Approximate, Qdrant], ids=lambda kind: kind.__name__.lower())
def held(request: pytest.FixtureRequest, runner: asyncio.Runner) -> Iterator[Held]:
    one = request.param()
    yield one
    runner.run(one.close())


def named(hits: Sequence[tuple[str, float]]) -> list[str]:
    return [name for name, _ in hits]


async def test_the_nearest_come_first_with_their_cosine(held: Held):
    index = await held.told([entry("west", WEST), entry("north", NORTH), entry("east", EAST)])
    hits = await index.search(QUERY, 3)
    assert named(hits) == ["east", "north", "west"]
    assert [score for _, score in hits] == pytest.approx([0.8, 0.6, -0.8])
    assert await index.search(QUERY, 1) == hits[:1]
    assert await index.search(QUERY, 0) == []


async def test_what_was_replaced_deleted_or_excluded_is_found_as_it_is_now(held: Held):
    await held.told([entry(name, EAST, {"room": 1}) for name in ("a", "b", "c", "d")])
    index = await held.told(
        [
            entry("a", NORTH, {"room": 6}),
            entry("b", present=False),
            entry("c", EAST, {"room": 1}, excluded=True),
        ]
    )
    assert set(named(await index.search(QUERY, 9))) == {"a", "d"}
    found = await index.held("room", wanted({1: QUERY, 6: QUERY}), 9, ())
    assert (found.ids, found.bins) == (["d", "a"], [1, 6])
    assert found.scores == pytest.approx([0.8, 0.6])
    assert index.labels("room", ["a", "b", "c"]) == {
        "a": Labels(6, None, excluded=False),
        "c": Labels(None, None, excluded=True),
    }
    assert set(index.excluded(["a", "b", "c"])) == {"c"}
    assert index.counts("room", 7) == [0, 1, 0, 0, 0, 0, 1]


async def test_the_held_are_the_nearest_of_each_bin_and_of_the_entity_alone(held: Held):
    index = await held.told(
        [
            entry("east", EAST, {"room": 0}),
            entry("north", NORTH, {"room": 0, "food": 6}),
            entry("west", WEST, {"room": 0}),
            entry("up", NORTH, {"room": 6}),
            entry("other", EAST, {"food": 0}),
        ]
    )
    found = await index.held("room", wanted({6: -NORTH, 0: QUERY, 3: QUERY}), 2, {"north", "nobody"})
    assert (found.ids, found.bins) == (["up", "east", "west"], [6, 0, 0])
    assert found.scores == pytest.approx([-1.0, 0.8, -0.8])
    assert (await index.held("room", wanted({0: QUERY}), 1, ())).ids == ["east"]
    assert (await index.held("nothing", wanted({0: QUERY}), 9, ())).ids == []


async def test_the_held_of_several_bins_together_are_the_nearest_of_them_all(held: Held):
    index = await held.told(
        [
            entry("east", EAST, {"room": 0}),
            entry("north", NORTH, {"room": 0}),
            entry("west", WEST, {"room": 6}),
            entry("up", NORTH, {"room": 6}),
            entry("mild", EAST, {"room": 3}),
        ]
    )
    # similar by 0.8 and 0.6 in bin 0, by 0.8 and -0.6 in bin 6
    opposed = wanted({0: QUERY, 6: -QUERY})
    found = await index.held("room", opposed, 3, (), together=True)
    assert (set(found.ids[:2]), found.ids[2:]) == ({"east", "west"}, ["north"])
    assert [{"east": 0, "west": 6, "north": 0}[name] for name in found.ids] == found.bins
    assert found.scores == pytest.approx([0.8, 0.8, 0.6])
    found = await index.held("room", opposed, 9, {"east", "nobody"}, together=True)
    assert (found.ids, found.bins) == (["west", "north", "up"], [6, 0, 6])
    for together in (False, True):
        assert (await index.held("room", opposed, 0, (), together)).ids == []
    assert (await index.held("room", [], 9, (), together=True)).ids == []
    assert (await index.held("nothing", opposed, 9, (), together=True)).ids == []


async def test_documents_of_an_entity_equal_brute_force(held: Held):
    """Two entities with close vectors, of which one is asked for: no document of the other, ever."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(200, 8))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    bins = [{"room": i % 7} if i % 2 else {"rooms": i % 7} for i in range(200)]
    index = await held.told([entry(f"d{i}", vectors[i], bins[i]) for i in range(200)])
    query = vectors[0]
    for b in range(7):
        exact = sorted(((float(vectors[i] @ query), f"d{i}") for i in range(1, 200, 2) if i % 7 == b), reverse=True)
        found = await index.held("room", wanted({b: query}), 5, {exact[1][1]})
        assert found.ids == [name for _, name in [exact[0], *exact[2:6]]]
    exact = sorted(((float(vectors[i] @ query), f"d{i}") for i in range(1, 200, 2) if i % 7 in (0, 1, 6)), reverse=True)
    found = await index.held("room", wanted({0: query, 1: query, 6: query}), 9, {exact[1][1]}, together=True)
    assert found.ids == [name for _, name in [exact[0], *exact[2:10]]]
    best = sorted(((float(vectors[i] @ query), f"d{i}") for i in range(200)), reverse=True)
    assert named(await index.search(query, 200)) == [name for _, name in best]


async def test_a_query_of_another_dimension_finds_nothing_and_is_similar_to_nothing(held: Held):
    index = await held.told([entry("east", EAST, {"room": 1}), entry("north", NORTH, {"room": 1})])
    for dimension in (0, 1, 3):
        query = np.ones(dimension, np.float32)
        assert await index.search(query, 2) == []
        found = await index.held("room", wanted({1: query}), 9, {"east"})
        assert (found.ids, found.scores) == (["north"], [0.0])


async def test_an_empty_index_finds_nothing(held: Held):
    index = await held.told([])
    assert await index.search(QUERY, 9) == []
    assert (await index.held("room", wanted({1: QUERY}), 9, ())).ids == []
    assert (await index.vectors(["a"]), index.entities("", 9), index.knows("room")) == ({}, [], False)


async def test_vectors_are_those_of_the_documents_that_are_here(held: Held):
    await held.told([entry("a", EAST), entry("gone", EAST), entry("7", NORTH)])
    index = await held.told([entry("a", WEST), entry("gone", present=False)])
    found = await index.vectors(["7", "a", "gone", "never"])
    assert {name: vector.tolist() for name, vector in found.items()} == {"a": [-1, 0], "7": [0, 1]}


async def test_no_search_gives_more_than_the_most(held: Held):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(MAX_RESULTS + 1, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    if isinstance(held, Qdrant):
        vectors = vectors[:300]  # the test's engine takes its time for each
    index = await held.told([entry(str(i), vector) for i, vector in enumerate(vectors)])
    assert len(await index.search(vectors[0], 10**9)) == min(len(vectors), MAX_RESULTS)
