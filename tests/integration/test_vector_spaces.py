"""`/search` in collections whose vectors other encoders, or the callers, have made."""

import asyncio

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.store import open_store
from app.store.base import VectorSpace
from tests.conftest import put

DIMENSION = 256
"""Of the service's encoder, wordllama."""


def store_vector(client: TestClient, collection: str, space: VectorSpace) -> None:
    """Store the document `d` as a service with another encoder would, on the same file."""

    async def apply() -> None:
        store = open_store(client.app.state.resources.settings.store_url)
        vector = np.eye(1, space.dimension, dtype=np.float32)[0]
        await store.apply(collection, [put("d", {"pool": 3}, vector=vector)], space)
        await store.close()

    asyncio.run(apply())


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
