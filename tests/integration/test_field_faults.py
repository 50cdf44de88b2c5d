"""Known faults of neighbouring projects that our own routes must not have, where no other test holds them already."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from warp_core import SELECTORS

COMPARES_TEXTS = sorted(name for name, selector in SELECTORS.items() if "embeddings" in selector.needs)


def pool(n: int, **fields: Callable[[int], Any]) -> list[dict[str, Any]]:
    """Candidates with all that any selector needs; fields may be given otherwise."""
    made = {
        "id": lambda i: f"c{i}",
        "score": lambda i: 1.0 - i / 100,
        "text": lambda i: f"text number {i}",
        "embedding": lambda i: [1.0, i / 10, -0.5],
        "opinions": lambda i: [{"entity": "tea", "si": (-30, 0, 30)[i % 3]}],
        "tokens": lambda _: 1,
    } | fields
    return [{name: value(i) for name, value in made.items() if value is not None} for i in range(n)]


def rerank(client: TestClient, candidates: list[Any], status: int = 200, **body: Any) -> Any:
    answer = client.post("/rerank", json={"entity": "tea", "query": "tea", "candidates": candidates, **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def without_times(answer: Any) -> Any:
    return {name: value for name, value in answer.items() if name != "timings_ms"}


# A. Limits, order and shape


@pytest.mark.parametrize("variant", ["auto", *SELECTORS])
@pytest.mark.parametrize("k", [1, 2])
def test_a_limit_gives_exactly_so_many(client: TestClient, variant: str, k: int) -> None:
    """F001, F023: on every method, and with a score that is one number."""
    for size in (k, 6):
        results = rerank(client, pool(size), k=k, variant=variant)["results"]
        assert len(results) == k
        assert all(isinstance(result["score"], float) for result in results)


def test_a_limit_above_the_number_of_candidates_gives_all(client: TestClient) -> None:
    """F003, F005."""
    answer = rerank(client, pool(3), k=30, expansion="none")
    assert {result["id"] for result in answer["results"]} == {"c0", "c1", "c2"}
    assert "only 3 of 30" in " ".join(answer["warnings"])


def test_without_a_limit_it_is_the_documented_one(client: TestClient) -> None:
    """F007."""
    documented = client.get("/openapi.json").json()["components"]["schemas"]["RerankRequest"]["properties"]["k"]
    assert len(rerank(client, pool(25))["results"]) == documented["default"] == 20


@pytest.mark.parametrize("variant", ["auto", *SELECTORS])
def test_an_empty_pool_is_an_empty_answer(client: TestClient, variant: str) -> None:
    """F024."""
    bodies = [{}, {"token_budget": 5}, {"fill": True}, {"adaptive_k": True}]
    if variant in ("auto", "w1_minimizer", "w1_mmr", "w1_exact"):
        bodies.append({"redundancy_weight": 0.5})
    for body in bodies:
        answer = rerank(client, [], variant=variant, expansion="none", **body)
        assert answer["results"] == []
        assert answer["warnings"]


def test_metadata_come_back_deep_equal(client: TestClient) -> None:
    """F021."""
    metadata = {
        "nested": {"list": [1, [2, {"three": None}]]},
        "größe": "日本語 \U0001f9c0",
        "large": 9007199254740993,
        "larger": -(2**63),
        "float": 0.1,
        "none": None,
        "empty": {},
        "": "",
    }
    (result,) = rerank(client, pool(1, metadata=lambda _: metadata), k=1)["results"]
    assert result["metadata"] == metadata
    assert isinstance(result["metadata"]["large"], int)


def test_the_limits_are_told_and_one_above_is_refused_with_the_number(client: TestClient) -> None:
    """F027."""
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    most = schemas["RerankRequest"]["properties"]["candidates"]["maxItems"]
    most_k = schemas["RerankRequest"]["properties"]["k"]["maximum"]
    rerank(client, pool(most), k=most_k)
    assert str(most) in rerank(client, pool(most + 1), 422)["detail"]
    assert str(most_k) in rerank(client, pool(1), 422, k=most_k + 1)["detail"]


# B. Numbers, text and scores


@pytest.mark.parametrize("variant", ["auto", *SELECTORS])
def test_no_answer_holds_a_number_that_is_not_finite(client: TestClient, variant: str) -> None:
    """F028, F029: zero vectors, equal scores, an entity that nobody has an opinion on."""

    def refuse(text: str) -> float:
        raise AssertionError(text)

    for candidates in (
        pool(6, embedding=lambda _: [0.0, 0.0, 0.0]),
        pool(6, score=lambda _: 0.0),
        pool(6, opinions=None),
    ):
        body = {"entity": "tea", "query": "tea", "candidates": candidates, "k": 3, "variant": variant}
        answer = client.post("/rerank", json=body)
        assert answer.status_code == 200, answer.text
        told = json.loads(answer.text, parse_constant=refuse)
        assert all(result["score"] is not None for result in told["results"])


def test_an_entity_is_the_same_however_it_is_written(client: TestClient) -> None:
    """F031: composed, decomposed, in capitals and in full width, in the body and in the path."""
    forms = ("hotel 1/\u00e9", "hotel 1/e\u0301", "HOTEL 1/\u00c9", "\uff28\uff4f\uff54\uff45\uff4c 1/\u00e9")
    documents = [{"id": f"f{i}", "opinions": [{"entity": form, "si": 10 * i}]} for i, form in enumerate(forms)]
    client.post("/ingest", json={"collection": "forms", "documents": documents}).raise_for_status()
    for form in forms:
        path = "".join(f"%{byte:02X}" for byte in form.encode())
        assert client.get(f"/entities/{path}?collection=forms").json()["n"] == len(forms)
        answer = client.post("/rerank", json={"entity": form, "collection": "forms", "candidates": []}).json()
        assert (answer["decision"]["entity"], answer["target"]["n"]) == ("hotel 1/\u00e9", len(forms))


@pytest.mark.parametrize("scores", [[-8.0, 6.0, 0.5, -0.1], [40.0, 0.0, 3.5, 12.25], [1e300, -1e300, 5e-324, 0.0]])
def test_scores_of_any_range_come_back_as_they_were_given(client: TestClient, scores: list[float]) -> None:
    """F033: logits, BM25."""
    results = rerank(client, pool(4, score=lambda i: scores[i]), k=4, variant="top_k")["results"]
    assert [result["score"] for result in results] == sorted(scores, reverse=True)


@pytest.mark.parametrize("variant", ["auto", *SELECTORS])
def test_equal_candidates_come_in_the_order_of_the_pool_every_time(client: TestClient, variant: str) -> None:
    """F038, F039."""
    alike = pool(
        30,
        score=lambda _: 0.5,
        opinions=lambda _: [{"entity": "tea", "si": 10}],
        text=lambda _: "the same text",
        embedding=lambda _: [1.0, 0.0, 0.0],
    )
    first = rerank(client, alike, k=10, variant=variant)
    for _ in range(5):
        assert without_times(rerank(client, alike, k=10, variant=variant)) == without_times(first)
    if variant != "random":
        chosen = [result["index"] for result in first["results"]]
        assert chosen == list(range(len(chosen)))


# C. Diversity baselines


@pytest.mark.parametrize(
    ("field", "zero"),
    [("relevance_weight", 0.0), ("seed", 0), ("redundancy_weight", 0.0), ("token_budget", 0), ("adaptive_k", 0)],
)
def test_a_zero_is_a_value_and_no_default(client: TestClient, field: str, zero: float) -> None:
    """F041: it gives what the value next to zero gives, not what leaving it out gives, where these differ."""
    tiny = {"relevance_weight": 1e-12, "redundancy_weight": 1e-12, "adaptive_k": 1e-12}.get(field, zero)
    variant = {"relevance_weight": "mmr", "seed": "random"}.get(field, "w1_minimizer")
    with_zero, beside = (
        [result["id"] for result in rerank(client, pool(9), k=5, variant=variant, **{field: value})["results"]]
        for value in (zero, tiny)
    )
    assert with_zero == beside
    if field in ("relevance_weight", "token_budget"):
        left_out = [result["id"] for result in rerank(client, pool(9), k=5, variant=variant)["results"]]
        assert with_zero != left_out


@pytest.mark.parametrize("variant", COMPARES_TEXTS)
@pytest.mark.parametrize("spread", [0.0, 1e-9])
def test_near_duplicates_leave_no_selector_short(client: TestClient, variant: str, spread: float) -> None:
    """F045, F047: fifty times nearly the same vector."""
    near = pool(50, score=lambda _: 0.5, embedding=lambda i: [1.0, spread * i, 0.0])
    indices = [result["index"] for result in rerank(client, near, k=30, variant=variant)["results"]]
    assert len(set(indices)) == len(indices)
    assert variant == "mmkp" or len(indices) == 30  # that one takes one of each group of near-equal texts


# D. Distributions


@pytest.mark.parametrize("factor", [0.9999999, 1.0, 1.0000001, 0.5, 3.0, 1e-300, 1e300])
def test_weights_need_not_sum_to_one(client: TestClient, factor: float) -> None:
    """F055."""
    target = {"distribution": {"-30": 0.25 * factor, "30": 0.75 * factor}}
    told = rerank(client, pool(6), target=target)["target"]["distribution"]
    assert told == {"-30": 0.25, "30": 0.75}


@pytest.mark.parametrize("variant", ["js_minimizer", "js_mmr"])
def test_an_opinion_that_the_target_lacks_divides_by_no_zero(client: TestClient, variant: str) -> None:
    """F057."""
    answer = rerank(client, pool(6), k=6, variant=variant, target={"distribution": {"-30": 1}})
    assert len(answer["results"]) == 6


# E. Ingest and index


def test_the_same_id_three_times_is_one_document_with_the_latest_vector(client: TestClient) -> None:
    """F065."""
    for text in ("cold soup", "warm soup", "a pool in the garden"):
        document = {"id": "s", "text": text, "opinions": [{"entity": "soup", "si": 10}]}
        client.post("/ingest", json={"collection": "again", "documents": [document]}).raise_for_status()
    answer = client.post("/search", json={"query": "a pool in the garden", "collection": "again"}).json()
    assert [result["id"] for result in answer["results"]] == ["s"]
    assert answer["results"][0]["score"] == pytest.approx(1.0, abs=1e-3)


def test_expansion_never_brings_a_document_about_something_else(client: TestClient) -> None:
    """F067: two entities whose documents say the same."""
    documents = [
        {
            "id": f"{entity}{i}",
            "text": f"lovely number {i}",
            "opinions": [{"entity": entity, "si": (-30, 10, 30)[i % 3]}],
        }
        for entity in ("red", "blue")
        for i in range(30)
    ]
    client.post("/ingest", json={"collection": "close", "documents": documents}).raise_for_status()
    for i in range(60):
        body = {
            "entity": "red",
            "query": f"lovely number {i}",
            "collection": "close",
            "candidates": [],
            "k": 1 + i % 20,
        }
        for expansion in ("entity_gated", "adaptive"):
            answer = client.post("/rerank", json={**body, "expansion": expansion}).json()
            assert answer["results"]
            assert all(result["id"].startswith("red") for result in answer["results"])


@pytest.mark.parametrize("length", [0, 2, 4])
def test_an_embedding_of_another_length_is_refused_with_both_lengths(client: TestClient, length: int) -> None:
    """F069: beside good ones, and nothing of it is stored."""
    client.post("/ingest", json={"collection": "three", "documents": [{"id": "a", "embedding": [1.0, 0.0, 0.0]}]})
    wrong = {"id": "wrong", "embedding": [1.0] * length}
    report = client.post("/ingest", json={"collection": "three", "documents": [wrong, {"id": "good"}]}).json()
    if client.get("/readyz").json()["checks"]["encoder"] != "none":
        assert report["failed"][0]["id"] == "wrong"
    assert client.get("/documents/wrong?collection=three").status_code == 404
    refused = rerank(client, pool(2, embedding=lambda i: [1.0] * (3 if i == 0 else length)), 422)
    assert refused["errors"][0]["pointer"] == "/candidates/1/embedding"
    assert f"holds {length} numbers" in refused["detail"]
    assert "3 are expected" in refused["detail"]


# H. Health, security and running


def test_overlapping_calls_about_one_entity_all_succeed(client: TestClient) -> None:
    """F105: re-ranking, ingest and deletion of the same entity at once."""
    statuses: list[int] = []

    def call(i: int) -> None:
        document = {"id": f"o{i % 3}", "opinions": [{"entity": "overlap", "si": 10 * (i % 3)}]}
        statuses.append(client.post("/ingest", json={"documents": [document]}).status_code)
        statuses.append(client.post("/rerank", json={"entity": "overlap", "candidates": pool(5)}).status_code)
        statuses.append(client.delete(f"/documents/o{i % 3}").status_code)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 36
