"""A real sentence-transformers model, loaded by path: MiniLM, as a package carries it."""

from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.encoder import Encoder, open_encoder
from app.main import create_app
from app.settings import Settings
from warp_core import InvalidInputError

pytestmark = [
    pytest.mark.model,
    # transformers' and torch's own notices
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def encoder(model_path: str) -> Encoder:
    opened = open_encoder(model_path, threads=1)
    assert opened is not None
    return opened


async def test_vectors_are_unit_and_close_for_close_meanings(encoder: Encoder) -> None:
    vectors = await encoder.encode(["a cold breakfast", "the morning meal was not warm", "parking is expensive"])
    assert vectors.shape == (3, encoder.dimension) == (3, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


async def test_a_query_gives_the_same_vector_alone_and_in_a_batch(encoder: Encoder) -> None:
    batch = await encoder.encode(["pool", "a much longer sentence about the swimming pool of the hotel"])
    alone = await encoder.encode(["pool"])
    assert batch[0] == pytest.approx(alone[0], abs=1e-5)


def test_a_model_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(InvalidInputError, match="no/such/model"):
        open_encoder("./no/such/model", threads=1)


def test_the_service_searches_with_it(model_path: str, tmp_path: Path) -> None:
    texts = {"cold": "The eggs were cold and stale.", "loud": "We could not sleep, the street is loud."}
    with TestClient(create_app(Settings(data_dir=tmp_path, encoder=model_path))) as client:
        documents = [
            {"id": name, "text": text, "opinions": [{"entity": "stay", "si": -20}]} for name, text in texts.items()
        ]
        assert client.post("/ingest", json={"documents": documents}).json()["created"] == 2
        answer = client.post("/search", json={"query": "noise at night", "k": 1, "variant": "top_k"}).json()
    assert answer["results"][0]["id"] == "loud"
