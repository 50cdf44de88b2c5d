"""`/search` in collections whose vectors other encoders, or the callers, have made."""

import asyncio

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.store import open_store
from app.store.base import Vector, VectorSpace
from tests.conftest import put

DIMENSION = 256
"""Of the service's encoder, wordllama."""


def store_vector(
    client: TestClient, collection: str, space: VectorSpace, text: str = "", vector: Vector | None = None
) -> None:
    """Store the document `d` as a service with another encoder would, on the same file."""

    async def apply() -> None:
        store = open_store(client.app.state.resources.settings.store_url)
        made = np.eye(1, space.dimension, dtype=np.float32)[0] if vector is None else vector
        await store.apply(collection, [put("d", {"pool": 3}, vector=made, text=text)], space)
        await store.close()

    asyncio.run(apply())
    client.delete("/documents/none")  # the service catches up with the store after each change of its own


@pytest.mark.parametrize(
    ("space", "made_by"),
    [
        (VectorSpace(2, None), "its callers and hold 2 numbers"),
        (VectorSpace(2, "wordllama"), "wordllama of another version and hold 2 numbers"),
        (VectorSpace(DIMENSION, "another"), "another and hold 256 numbers"),
    ],
    ids=["another dimension", "the same encoder in another dimension", "another encoder"],
)
def test_vectors_that_the_query_cannot_be_compared_with_are_refused(
    client: TestClient, space: VectorSpace, made_by: str
) -> None:
    collection = f"{space.encoder} {space.dimension}"
    store_vector(client, collection, space)
    answer = client.post("/search", json={"query": "the pool", "collection": collection})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["pointer"]) == (422, "/collection")
    assert f"{made_by}; this service's encoder is wordllama with 256" in error["detail"]


def test_vectors_of_the_callers_are_searched_when_they_have_the_dimension_of_the_encoder(client: TestClient) -> None:
    store_vector(client, "brought", VectorSpace(DIMENSION, None))
    document = {"id": "e", "embedding": [1.0] * DIMENSION}
    client.post("/ingest", json={"collection": "brought", "documents": [document]})
    answer = client.post("/search", json={"query": "the pool", "collection": "brought", "variant": "top_k"})
    assert sorted(result["id"] for result in answer.json()["results"]) == ["d", "e"]


def test_vectors_of_another_model_are_not_compared_with_in_expansion_and_the_remedy_is_named(
    client: TestClient,
) -> None:
    collection = "foreign"
    store_vector(client, collection, VectorSpace(DIMENSION, "another"))
    body = {"entity": "pool", "query": "the pool", "collection": collection, "k": 2}
    for candidates in (["a text that is scored here"], [{"id": "scored elsewhere", "score": 0.5}]):
        answer = client.post("/rerank", json={**body, "candidates": candidates}).json()
        found = next(result for result in answer["results"] if result["origin"] == "expansion")
        assert (found["id"], found["score"]) == ("d", 0)
        (warning,) = [one for one in answer["warnings"] if "compared" in one]
        assert "come from another" in warning
        assert "WARP_ENCODER=another" in warning


def test_vectors_of_two_models_never_meet_in_one_choice(client: TestClient) -> None:
    """The stored vector is, to this service's model, that of the bread; the text that it belongs to is on the pool."""
    collection = "mixed"
    encoder = client.app.state.resources.encoder
    (bread,) = asyncio.run(encoder.encode(["stale cold bread"]))
    store_vector(client, collection, VectorSpace(DIMENSION, "another"), text="the warm pool", vector=bread)
    body = {"entity": "pool", "collection": collection, "k": 2, "variant": "mmr", "expansion": "none"}
    texts = [{"text": "a warm pool", "score": 1.0}, {"text": "stale bread", "score": 1.0}]
    answer = client.post("/rerank", json={**body, "candidates": [{"id": "d", "score": 2.0}, *texts]})
    assert [result["index"] for result in answer.json()["results"]] == [0, 2]  # what is least like the warm pool
    alone = client.post("/rerank", json={**body, "candidates": [{"id": "d", "score": 2.0}]})
    assert alone.status_code == 200
