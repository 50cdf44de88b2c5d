"""Which requests run a model, counted by a model that takes the service's place."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.encoder import Encoder
from app.entities import NearestNames
from app.expansion import PoleVectors
from app.main import create_app
from app.settings import Settings
from app.store.base import Vector
from tests.fakes import bag_of_words

WORDING = {"positive": "praise of {entity}", "neutral": "facts on {entity}", "negative": "complaints about {entity}"}


class Counting:
    def __init__(self) -> None:
        self.texts: Counter[str] = Counter()

    def __call__(self, texts: list[str]) -> Vector:
        self.texts.update(texts)
        return bag_of_words(texts)


@pytest.fixture
def model() -> Counting:
    return Counting()


@pytest.fixture
def client(model: Counting, tmp_path: Path) -> Iterator[TestClient]:
    """A service with the counting model and twenty reviews of each of two entities."""
    with TestClient(create_app(Settings(data_dir=tmp_path))) as opened:
        encoder = Encoder("counting", model)
        opened.app.state.resources = replace(
            opened.app.state.resources, encoder=encoder, poles=PoleVectors(encoder), names=NearestNames(encoder)
        )
        opened.put("/collections/c", json={"pole_queries": WORDING})
        documents = [
            {"id": f"{entity} {i}", "text": f"{entity} {i}", "opinions": [{"entity": entity, "si": si}]}
            for entity in ("pool", "bar")
            for i, si in enumerate([-30, -20, 0, 20, 30] * 4)
        ]
        assert opened.post("/ingest", json={"collection": "c", "documents": documents}).json()["created"] == 40
        model.texts.clear()
        yield opened
        encoder.close()


def rerank(client: TestClient, entity: str, **fields: object) -> dict[str, object]:
    """A pool of one positive review: everything else has to be recovered."""
    body = {"collection": "c", "entity": entity, "candidates": [{"id": f"{entity} 4", "score": 0.5}], "k": 10, **fields}
    answer = client.post("/rerank", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["decision"]["added"] > 0
    return answer.json()


@pytest.mark.parametrize("expansion", ["entity_gated", "adaptive", "auto"])
def test_the_pole_queries_of_an_entity_run_the_model_once_and_a_hot_rerank_never(
    client: TestClient, model: Counting, expansion: str
) -> None:
    rerank(client, "pool", query="How is the pool?", expansion=expansion)
    assert model.texts == {"praise of pool": 1, "facts on pool": 1, "complaints about pool": 1}
    for i in range(20):
        rerank(client, "pool", query=f"How is the pool {i}?", expansion=expansion)
    assert model.texts.total() == 3
    rerank(client, "bar", expansion=expansion)
    assert model.texts.total() == 6


def test_a_new_wording_is_encoded_anew(client: TestClient, model: Counting) -> None:
    rerank(client, "pool")
    client.put("/collections/c", json={"pole_queries": {**WORDING, "neutral": "anything on {entity}"}})
    rerank(client, "pool")
    assert model.texts["anything on pool"] == 1
    assert model.texts["praise of pool"] == 1


def test_a_question_that_is_searched_again_runs_no_model(client: TestClient, model: Counting) -> None:
    for _ in range(5):
        answer = client.post(
            "/search", json={"collection": "c", "query": "the pool?", "k": 10, "expansion": "adaptive"}
        )
        assert answer.json()["decision"]["entity"] == "pool"
    assert set(model.texts.values()) == {1}


def test_self_bypass_runs_no_model(client: TestClient, model: Counting) -> None:
    candidates = [{"id": f"pool {i}", "score": 1.0} for i in range(20)]
    answer = client.post("/rerank", json={"collection": "c", "entity": "pool", "candidates": candidates, "k": 10})
    assert answer.json()["decision"]["added"] == 0
    assert not model.texts


def test_callers_who_bring_embeddings_need_no_model(tmp_path: Path) -> None:
    """Without an encoder: ingest, expansion and a selector that compares embeddings."""
    with TestClient(create_app(Settings(data_dir=tmp_path))) as bare:
        documents = [
            {"id": f"d{i}", "text": "x", "embedding": [1.0, i], "opinions": [{"entity": "pool", "si": si}]}
            for i, si in enumerate([-30, 0, 30] * 10)
        ]
        assert bare.post("/ingest", json={"documents": documents}).json()["created"] == 30
        body = {"entity": "pool", "candidates": [{"id": "d2", "score": 1.0}], "k": 6}
        auto = bare.post("/rerank", json=body).json()
        assert (auto["quality"]["em"], auto["quality"]["selected"], auto["warnings"]) == (1, 6, [])
        diverse = bare.post("/rerank", json={**body, "variant": "mmr", "expansion": "entity_gated"})
        assert (diverse.status_code, diverse.json()["quality"]["selected"]) == (200, 6)
