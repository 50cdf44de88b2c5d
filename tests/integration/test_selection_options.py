"""What a request may ask of the selection: budgets, early stop, novelty, and selectors that compare embeddings."""

import pytest
from starlette.testclient import TestClient

from tests.integration.test_rerank import rerank

EVEN = {"distribution": {"-30": 1, "30": 1}}


def candidate(i: int, si: int, **more: object) -> dict[str, object]:
    return {"id": f"c{i}", "score": 1 - i / 100, "opinions": [{"entity": "tea", "si": si}], **more}


def ids(answer: dict[str, object]) -> list[str]:
    return [result["id"] for result in answer["results"]]


def test_a_token_budget_takes_whole_documents_only(client: TestClient) -> None:
    candidates = [candidate(0, 30, tokens=50), candidate(1, -30, tokens=80), candidate(2, -30, tokens=40)]
    common = {"entity": "tea", "candidates": candidates, "target": EVEN, "expansion": "none", "k": 2}
    assert ids(rerank(client, **common)) == ["c0", "c1"]
    answer = rerank(client, **common, token_budget=100)
    assert (ids(answer), answer["quality"]["tokens"]) == (["c0", "c2"], 90)


def test_tokens_that_are_not_told_follow_from_the_text(client: TestClient) -> None:
    """41 characters are 11 tokens."""
    candidates = [candidate(0, 30, text="x" * 41), candidate(1, -30, text="x" * 40)]
    common = {"entity": "tea", "candidates": candidates, "target": EVEN, "expansion": "none", "k": 2}
    assert ids(rerank(client, **common, token_budget=20)) == ["c0"]
    assert ids(rerank(client, **common, token_budget=21)) == ["c0", "c1"]
    assert ids(rerank(client, **common, token_budget=10)) == ["c1"]


def test_adaptive_k_stops_where_another_document_buys_too_little(client: TestClient) -> None:
    """Two documents meet the target; a third cannot better that."""
    candidates = [candidate(i, si) for i, si in enumerate((30, -30, 30, -30))]
    common = {"entity": "tea", "candidates": candidates, "target": EVEN, "expansion": "none", "k": 4}
    assert ids(rerank(client, **common, adaptive_k=True)) == ["c0", "c1"]
    assert len(ids(rerank(client, **common, adaptive_k=False))) == 4
    assert ids(rerank(client, **common, adaptive_k=31)) == ["c0"]  # the second buys 30


def test_a_redundancy_weight_prefers_what_is_new(client: TestClient) -> None:
    vectors = ([1.0, 0.0], [1.0, 0.0], [0.0, 1.0])
    candidates = [candidate(i, 30, embedding=vector) for i, vector in enumerate(vectors)]
    common = {"entity": "tea", "candidates": candidates, "target": EVEN, "expansion": "none", "k": 2}
    assert ids(rerank(client, **common)) == ["c0", "c1"]
    assert ids(rerank(client, **common, redundancy_weight=0.7)) == ["c0", "c2"]


def test_embeddings_come_from_the_index_where_the_request_brings_none(client: TestClient) -> None:
    candidates = [{"id": name, "score": 1.0} for name in ("r1", "r2", "r3")]
    answer = rerank(client, entity="breakfast", collection="hotels", candidates=candidates, k=3, redundancy_weight=0.5)
    assert len(ids(answer)) == 3


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"candidates": [{"id": "unknown", "score": 1.0}], "redundancy_weight": 0.5}, "/variant"),
        ({"variant": "top_k", "redundancy_weight": 0.5}, "/redundancy_weight"),
        ({"redundancy_weight": 2}, "/redundancy_weight"),
        ({"token_budget": -1}, "/token_budget"),
        ({"adaptive_k": -0.5}, "/adaptive_k"),
        ({"adaptive_k": "yes"}, "/adaptive_k"),
        ({"seed": -1}, "/seed"),
        ({"candidates": [candidate(0, 0, tokens=-1)]}, "/candidates/0/tokens"),
    ],
)
def test_a_wrong_wish_is_named(client: TestClient, more: dict[str, object], pointer: str) -> None:
    body = {"entity": "tea", "candidates": [candidate(0, 30, embedding=[1.0])], "expansion": "none"} | more
    problem = client.post("/rerank", json=body)
    assert (problem.status_code, problem.json()["errors"][0]["pointer"]) == (422, pointer), problem.text


def test_embeddings_of_different_length_are_refused(client: TestClient) -> None:
    candidates = [candidate(0, 30, embedding=[1.0]), candidate(1, 30, embedding=[1.0, 2.0])]
    body = {"entity": "tea", "candidates": candidates, "expansion": "none", "redundancy_weight": 0.5}
    assert client.post("/rerank", json=body).json()["errors"][0]["pointer"] == "/candidates/1/embedding"


def test_an_embedding_that_does_not_go_with_the_index_is_refused(client: TestClient) -> None:
    """One candidate brings two numbers, the other's vector of 256 is in the index."""
    candidates = [candidate(0, 30, embedding=[1.0, 2.0]), {"id": "r1", "score": 1.0}]
    body = {"entity": "tea", "collection": "hotels", "candidates": candidates, "redundancy_weight": 0.5}
    assert client.post("/rerank", json=body | {"expansion": "none"}).json()["errors"][0]["pointer"] == "/candidates"
