"""The routes of other re-rankers: /v1/rerank, /v2/rerank, and /rerank with `texts`."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings
from tests.integration.conftest import REVIEWS
from warp_core import SELECTORS

QUERY = "What do guests think about the breakfast?"
DOCUMENTS = [{"id": name, "text": text} for name, text, _, _ in REVIEWS]
TEXTS = [text for _, text, _, _ in REVIEWS]
BREAKFAST = {0, 1, 2, 3, 4}
"""Positions of the reviews of the breakfast."""
GREEDY = ("w1_minimizer", "w1_mmr", "js_minimizer", "js_mmr", "top_k")
ROUTES = ("/v1/rerank", "/v2/rerank", "/v1/rerank/", "/v2/rerank/")


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service with a key that may only write, and one that may only read."""
    settings = Settings(data_dir=Path(tmp_path_factory.mktemp("keyed")), api_keys=("ingest:writer", "read:reader"))
    with TestClient(create_app(settings), raise_server_exceptions=False) as opened:
        yield opened


def results(client: TestClient, path: str = "/v2/rerank", headers: dict[str, str] | None = None, **body: Any) -> Any:
    answer = client.post(path, json={"query": QUERY, "documents": DOCUMENTS, **body}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


def order(
    client: TestClient, path: str = "/v2/rerank", headers: dict[str, str] | None = None, **body: Any
) -> list[int]:
    return [result["index"] for result in results(client, path, headers, **body)]


class TestOrder:
    @pytest.mark.parametrize("variant", ["auto", *SELECTORS])
    def test_without_a_limit_all_come_back_once_with_falling_scores(self, client: TestClient, variant: str) -> None:
        found = results(client, model=f"hotels:breakfast@{variant}")
        assert sorted(result["index"] for result in found) == list(range(len(REVIEWS)))
        scores = [result["relevance_score"] for result in found]
        assert all(before > after for before, after in pairwise(scores))
        assert all(0 <= score <= 1 for score in scores)

    @pytest.mark.parametrize("variant", GREEDY)
    def test_every_beginning_is_what_a_limit_gives(self, client: TestClient, variant: str) -> None:
        whole = order(client, model=f"hotels:breakfast@{variant}")
        for n in range(1, len(REVIEWS) + 1):
            assert order(client, model=f"hotels:breakfast@{variant}", top_n=n) == whole[:n]

    def test_the_beginning_represents_the_population(self, client: TestClient) -> None:
        """Of -30, -20, 0, 10 and 30 the nearest pair to the five is one from either side, not the two most similar."""
        first, second = (REVIEWS[i][3] for i in order(client, model="hotels:breakfast@w1_exact", top_n=2))
        assert {first < 0, second < 0} == {True, False}
        assert set(order(client, model="hotels:breakfast", top_n=5)) == BREAKFAST

    def test_the_policy_goes_by_the_usual_length_when_nobody_says_one(self, client: TestClient) -> None:
        """Of 50 documents 5 match: a quarter of the usual 20, which makes the pool dense here, and a tenth of all."""
        policy = {"dense_em": 0.2, "dense_variant": "w1_minimizer", "sparse_variant": "top_k"}
        assert client.put("/collections/sized", json={"policy": policy}).is_success
        reviews = [{"id": n, "text": t, "opinions": [{"entity": e, "si": si}]} for n, t, e, si in REVIEWS]
        assert client.post("/ingest", json={"collection": "sized", "documents": reviews}).is_success
        documents = [*[f"breakfast {i}" for i in range(45)], *DOCUMENTS[:5]]

        def by(variant: str, **limit: int) -> list[int]:
            return order(client, model=f"sized:breakfast@{variant}", documents=documents, **limit)

        assert by("auto") == by("w1_minimizer") != by("top_k")
        assert by("auto", top_n=30) == by("top_k", top_n=30)

    @pytest.mark.parametrize(
        "limit", [{"top_n": 2}, {"top_k": 2}, {"top_n": 2, "top_k": None}, {"top_n": None, "top_k": 2}]
    )
    def test_top_k_is_another_name_of_top_n(self, client: TestClient, limit: dict[str, Any]) -> None:
        assert len(order(client, **limit)) == 2

    def test_a_limit_above_the_number_gives_all(self, client: TestClient) -> None:
        assert len(order(client, top_n=1000)) == len(REVIEWS)

    def test_no_documents_give_no_results(self, client: TestClient) -> None:
        assert results(client, documents=[]) == []

    def test_more_than_may_be_selected_are_put_in_order_all_the_same(self, client: TestClient) -> None:
        texts = [f"the breakfast number {i}" for i in range(50)]  # max_k is 30, max_candidates 50
        assert sorted(order(client, documents=texts)) == list(range(50))

    def test_one_document_twice_comes_back_twice_and_the_copy_last(self, client: TestClient) -> None:
        found = order(client, model="hotels:breakfast", documents=[*DOCUMENTS, DOCUMENTS[0]])
        assert sorted(found) == list(range(len(REVIEWS) + 1))
        assert found[-1] in (0, len(REVIEWS))

    def test_an_excluded_document_comes_last(self, client: TestClient) -> None:
        body = {"collection": "shy", "documents": [{"id": "x", "text": "fine tea", "si": 30, "excluded": True}]}
        assert client.post("/ingest", json=body).json()["created"] == 1
        documents = [{"id": "x", "text": "fine tea"}, "other tea", "more tea"]
        found = client.post("/v2/rerank", json={"query": "tea", "model": "shy", "documents": documents}).json()
        assert [result["index"] for result in found["results"]][-1] == 0
        assert found["meta"]["warnings"] == [
            "1 excluded documents were left out",
            "only 2 of 3 documents could be selected",
        ]


class TestAddress:
    @pytest.mark.parametrize(
        ("body", "headers", "first"),
        [
            ({"model": "hotels:breakfast"}, {}, {0, 1, 2, 3, 4}),
            ({"model": "hotels:POOL"}, {}, {5, 6}),
            ({"model": "hotels", "entity": "pool"}, {}, {5, 6}),
            ({"collection": "hotels", "entity": "pool"}, {}, {5, 6}),
            ({}, {"x-warp-collection": "hotels", "x-warp-entity": "pool"}, {5, 6}),
            ({"model": "hotels:breakfast"}, {"x-warp-entity": "pool"}, {5, 6}),
            ({"model": "hotels:breakfast", "entity": "pool"}, {"x-warp-entity": "breakfast"}, {5, 6}),
            ({"model": "rerank-v3.5", "collection": "hotels", "entity": None}, {}, {0, 1, 2, 3, 4}),  # by the query
            ({"model": "hotels:pool@auto"}, {}, {5, 6}),
        ],
    )
    def test_the_body_wins_over_the_header_and_that_over_the_model(
        self, client: TestClient, body: dict[str, Any], headers: dict[str, str], first: set[int]
    ) -> None:
        assert set(order(client, headers=headers, top_n=len(first), **body)) == first

    @pytest.mark.parametrize(
        "model", ["rerank-v3.5", "cohere.rerank-v3-5:0", "some/model@v2", "nowhere:pool@bm25", "", None]
    )
    def test_the_name_of_some_other_model_says_nothing(self, client: TestClient, model: str | None) -> None:
        assert order(client, model=model) == order(client)
        answer = client.post("/v1/rerank", json={"query": QUERY, "documents": ["a"], "model": model}).json()
        assert answer["model"] == (model or "default")

    def test_a_header_may_be_any_text(self, client: TestClient) -> None:
        body = {
            "collection": "häuser",
            "documents": [{"id": "1", "text": "x", "opinions": [{"entity": "Frühstück", "si": 0}]}],
        }
        assert client.post("/ingest", json=body).json()["created"] == 1
        headers = [(b"x-warp-collection", "häuser".encode()), (b"x-warp-entity", "FRÜHSTÜCK".encode())]
        documents = ["a", {"id": "1", "text": "x"}]
        found = client.post("/v2/rerank", json={"query": "b", "documents": documents}, headers=headers)  # type: ignore[arg-type]
        assert [result["index"] for result in found.json()["results"]] == [1, 0]

    def test_an_unknown_variant_is_refused_where_it_was_given(self, client: TestClient) -> None:
        for body, pointer in (({"model": "hotels@best"}, "/model"), ({"variant": "best"}, "/variant")):
            answer = client.post("/v2/rerank", json={"query": QUERY, "documents": DOCUMENTS, **body})
            assert (answer.status_code, answer.json()["message"].partition(":")[0]) == (422, pointer)


class TestAnswers:
    def test_v2(self, client: TestClient) -> None:
        body = {
            "model": "hotels:pool",
            "query": QUERY,
            "documents": TEXTS[:2],
            "max_tokens_per_doc": 512,
            "priority": 0,
        }
        answer = client.post("/v2/rerank", json=body, headers={"x-request-id": "r-1"}).json()
        first, second = (result["index"] for result in answer["results"])
        assert {first, second} == {0, 1}
        assert answer == {
            "id": "r-1",
            "results": [{"index": first, "relevance_score": 1.0}, {"index": second, "relevance_score": 0.5}],
            "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}, "warnings": []},
        }

    def test_v1_has_the_model_the_usage_and_the_texts_when_asked_for(self, client: TestClient) -> None:
        documents = [{"text": "four"}, "eight ch"]
        body = {"model": "m", "query": "abcde", "documents": documents}
        answer = client.post("/v1/rerank", json={**body, "return_documents": True}).json()
        assert (answer["model"], answer["usage"]) == ("m", {"total_tokens": 2 + 1 + 2})  # of 5, 4 and 8 characters
        assert {r["index"]: r["document"] for r in answer["results"]} == {0: {"text": "four"}, 1: {"text": "eight ch"}}
        for asked in ({}, {"return_documents": False}, {"return_documents": None}):
            answer = client.post("/v1/rerank", json={**body, **asked}).json()
            assert all(result.keys() == {"index", "relevance_score"} for result in answer["results"])

    def test_rank_fields_make_up_the_text(self, client: TestClient) -> None:
        documents = [{"title": "Pool", "stars": 3, "body": None}]
        body = {
            "query": QUERY,
            "documents": documents,
            "rank_fields": ["title", "stars", "body"],
            "return_documents": True,
        }
        (result,) = client.post("/v1/rerank", json=body).json()["results"]
        assert result["document"] == {"text": "Pool\n3"}

    def test_unknown_fields_are_let_through_and_named(self, client: TestClient) -> None:
        body = {"query": QUERY, "documents": TEXTS, "model": "hotels", "overrides": {}, "return_documents": True}
        said = {path: client.post(path, json=body).json()["meta"]["warnings"] for path in ("/v1/rerank", "/v2/rerank")}
        assert said == {
            "/v1/rerank": ["unknown fields changed nothing: overrides"],
            "/v2/rerank": ["unknown fields changed nothing: overrides, return_documents"],
        }

    @pytest.mark.parametrize("identity", [None, 7, "", "x" * 600, {}])
    def test_an_id_of_another_kind_is_no_mistake(self, client: TestClient, identity: object) -> None:
        assert order(client, documents=[{"id": identity, "text": "a"}]) == [0]

    def test_texts(self, client: TestClient) -> None:
        body = {"query": QUERY, "texts": TEXTS, "raw_scores": False, "truncate": True, "truncation_direction": "right"}
        plain = client.post("/rerank", json=body).json()
        assert sorted(rank["index"] for rank in plain) == list(range(len(TEXTS)))
        assert all(rank.keys() == {"index", "score"} for rank in plain)
        with_texts = client.post("/rerank/", json={**body, "return_text": True}).json()
        assert with_texts == [{**rank, "text": TEXTS[rank["index"]]} for rank in plain]

    def test_texts_and_candidates_are_not_mixed(self, client: TestClient) -> None:
        answer = client.post("/rerank", json={"query": QUERY, "texts": TEXTS, "candidates": []})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/texts")

    def test_the_labeller_of_the_collection_reads_the_texts(self, client: TestClient) -> None:
        assert client.put("/collections/read", json={"labeller": "vader", "registry": {"tea": []}}).is_success
        body = {"model": "read:tea@w1_exact", "query": "tea", "top_n": 2}
        texts = ["Great tea!", "Lovely tea, I love it.", "Terrible tea, awful."]
        target = {"distribution": {"-30": 1, "30": 1}}
        assert client.put("/entities/tea/target?collection=read", json=target).is_success
        found = client.post("/v2/rerank", json={**body, "documents": texts}).json()["results"]
        assert 2 in {result["index"] for result in found}

    def test_all_of_them_count_as_re_rankings(self, client: TestClient) -> None:
        line = 'warp_request_seconds_count{route="/rerank",status="2xx"} '

        def counted() -> int:
            text = client.get("/metrics").text
            return int(float(next(one for one in text.splitlines() if one.startswith(line)).removeprefix(line)))

        before = counted()
        for path in (*ROUTES, "/rerank", "/rerank/"):
            assert client.post(path, json={"query": "a", "documents" if "v" in path else "texts": ["b"]}).is_success
        assert counted() == before + len(ROUTES) + 2


class TestComplaints:
    """Whatever goes wrong, the client reads it as it would from the service that it was written for."""

    BODIES: ClassVar = {"/v1": {"documents": ["a"]}, "/v2": {"documents": ["a"]}, "/re": {"texts": ["a"]}}
    KEYS: ClassVar = {"/v1": {"id", "message", "detail"}, "/v2": {"id", "message"}, "/re": {"error", "error_type"}}

    def complaint(self, answer: Any, path: str, status: int) -> dict[str, str]:
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json"), answer.text
        assert answer.json().keys() == self.KEYS[path[:3]]
        return answer.json()

    @pytest.mark.parametrize("path", [*ROUTES, "/rerank", "/rerank/"])
    @pytest.mark.parametrize(
        "wrong", [{"query": 1}, {"variant": "best"}, {"entity": "x" * 600}, {"collection": "x" * 600}], ids=str
    )
    def test_a_wrong_field(self, client: TestClient, path: str, wrong: dict[str, Any]) -> None:
        said = self.complaint(client.post(path, json={"query": QUERY, **self.BODIES[path[:3]], **wrong}), path, 422)
        assert f"/{next(iter(wrong))}: " in str(said)

    @pytest.mark.parametrize(
        ("path", "body", "pointer"),
        [
            ("/v1/rerank", {"documents": ["a", 1]}, "/documents/1"),
            ("/v1/rerank", {"documents": [{"title": "a"}]}, "/documents/0"),
            ("/v2/rerank", {"documents": ["a"] * 51}, "/documents"),
            ("/v2/rerank", {"documents": ["a"], "top_n": 0}, "/top_n"),
            ("/v2/rerank", {"documents": ["a"], "top_k": -1}, "/top_k"),
            ("/v2/rerank", {}, "/documents"),
            ("/rerank", {"texts": ["a"] * 51}, "/texts"),
            ("/rerank", {"texts": ["a", None]}, "/texts/1"),
            ("/rerank", {"texts": "a"}, "/texts"),
        ],
    )
    def test_it_names_the_field_as_the_client_knows_it(
        self, client: TestClient, path: str, body: dict[str, Any], pointer: str
    ) -> None:
        said = self.complaint(client.post(path, json={"query": QUERY, **body}), path, 422)
        assert f"'{pointer}: " in str(said)

    @pytest.mark.parametrize("path", ROUTES)
    def test_what_is_refused_before_the_body_is_read(self, client: TestClient, keyed: TestClient, path: str) -> None:
        self.complaint(client.get(path), path, 405)
        self.complaint(client.post(path, content=b"{"), path, 400)
        self.complaint(client.post(path, content=b"a=b", headers={"content-type": "text/csv"}), path, 415)
        self.complaint(client.post(path, content=b" " * 70_000), path, 413)
        self.complaint(keyed.post(path, json={}), path, 401)
        self.complaint(keyed.post(path, json={}, headers={"authorization": "Bearer writer"}), path, 403)
        self.complaint(keyed.post(path, json={}, headers={"authorization": "Bearer reader"}), path, 422)

    @pytest.mark.parametrize("path", [*ROUTES, "/rerank"])
    def test_an_unexpected_error(self, client: TestClient, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
        async def broken(*_: object) -> None:
            raise RuntimeError("internal matter")

        monkeypatch.setattr(client.app.state.resources.lookups, "lookup", broken)  # type: ignore[attr-defined]
        said = self.complaint(client.post(path, json={"query": QUERY, **self.BODIES[path[:3]]}), path, 500)
        assert "internal matter" not in str(said)
        assert said.get("error_type", "Backend") == "Backend"
