"""Cohere's own client, told another address."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.end_to_end.process import Service, running_service

httpx = pytest.importorskip("httpx", reason="the client's own library is missing: make test FULL=1")
cohere = pytest.importorskip("cohere", reason="the client is missing: make test FULL=1")

REVIEWS = [
    ("r1", "the breakfast was wonderful", 30),
    ("r2", "breakfast was lovely", 30),
    ("r3", "cold breakfast, stale bread", -30),
]
QUERY = "How is the breakfast?"
TEXTS = [text for _, text, _ in REVIEWS]
DOCUMENTS = [{"id": name, "text": text} for name, text, _ in REVIEWS]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running_service(tmp_path_factory.mktemp("drop-in")) as started:
        documents = [
            {"id": name, "text": text, "opinions": [{"entity": "breakfast", "si": si}]} for name, text, si in REVIEWS
        ]
        answer = started.client.post("/ingest", json={"collection": "hotels", "documents": documents})
        assert answer.json()["created"] == len(REVIEWS)
        half = {"distribution": {"-30": 1, "30": 1}}
        assert started.client.put("/entities/breakfast/target?collection=hotels", json=half).is_success
        yield started


@pytest.fixture
def connection() -> Iterator[Any]:
    with httpx.Client() as client:
        yield client


def test_v2(service: Service, connection: Any) -> None:
    client = cohere.ClientV2("key", base_url=service.url, httpx_client=connection)
    answer = client.rerank(model="hotels", query=QUERY, documents=TEXTS)
    assert sorted(result.index for result in answer.results) == [0, 1, 2]
    assert [round(result.relevance_score, 2) for result in answer.results] == [1, 0.67, 0.33]
    assert answer.meta.warnings == []


def test_v1_goes_by_the_opinions_of_ids_that_are_stored(service: Service, connection: Any) -> None:
    client = cohere.Client("key", base_url=service.url, httpx_client=connection)
    asked = {"model": "hotels:breakfast@w1_exact", "query": QUERY, "documents": DOCUMENTS}
    answer = client.rerank(**asked, top_n=2, return_documents=True)
    assert 2 in {result.index for result in answer.results}
    assert {result.document.text for result in answer.results} < set(TEXTS)


def test_a_mistake_is_told_and_not_tried_again(service: Service, connection: Any) -> None:
    client = cohere.ClientV2("key", base_url=service.url, httpx_client=connection)
    with pytest.raises(cohere.UnprocessableEntityError) as caught:
        client.rerank(model="hotels", query=QUERY, documents=TEXTS, top_n=0)
    assert caught.value.body["message"] == "/top_n: expected `int` >= 1"
