"""The service while the engine that holds the vectors is away."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service whose vectors are in a Qdrant that nobody can reach, with two labelled reviews in its store."""
    settings = Settings(
        data_dir=Path(tmp_path_factory.mktemp("data")), encoder="wordllama", index="qdrant://127.0.0.1:1/x-"
    )
    with TestClient(create_app(settings), raise_server_exceptions=False) as opened:
        documents = [
            {"id": f"r{si}", "text": "the pool", "opinions": [{"entity": "Pool", "si": si}]} for si in (-30, 30)
        ]
        assert opened.post("/ingest", json={"documents": documents}).json()["created"] == 2
        yield opened


def test_a_search_is_refused_as_something_that_may_pass(away: TestClient) -> None:
    answer = away.post("/search", json={"query": "pool"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["type"].endswith("index-unavailable")
    assert "127.0.0.1" not in answer.text


def test_a_rerank_goes_on_with_the_pool_alone_and_says_so(away: TestClient) -> None:
    answer = away.post("/rerank", json={"entity": "pool", "candidates": [{"id": "r30", "score": 1.0}], "k": 2})
    body = answer.json()
    assert (answer.status_code, [result["id"] for result in body["results"]]) == (200, ["r30"])
    assert body["degraded"]
    assert "nothing could be looked for beside the pool: Qdrant cannot be reached" in body["warnings"]
    metrics = away.get("/metrics").text
    assert 'warp_degraded_total{reason="index"} 1.0' in metrics
    assert 'warp_degraded_total{reason="store"} 0.0' in metrics


def test_a_rerank_that_needs_no_expansion_or_brings_its_tail_does_not_ask(away: TestClient) -> None:
    pool, tail = [{"id": "r30", "score": 1.0}], [{"id": "r-30", "score": 0.5}]
    for more in ({"expansion": "none"}, {"tail": tail}):
        answer = away.post("/rerank", json={"entity": "pool", "candidates": pool, "k": 2, **more})
        assert (answer.status_code, answer.json()["degraded"]) == (200, False)


def test_entities_and_readiness_do_not_depend_on_it(away: TestClient) -> None:
    assert away.get("/entities").json()["entities"] == [{"entity": "pool", "n": 2}]
    assert away.get("/readyz").status_code == 200
