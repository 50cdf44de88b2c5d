"""The service over a real Redis server that goes away and comes back."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings
from tests.redis_server import NoServerError, RedisServer, running_redis

DOCUMENTS = [
    {"id": f"d{i}", "text": f"tea {i}", "opinions": [{"entity": "tea", "si": si}]}
    for i, si in enumerate((-30, -10, 10, 20, 30))
]
QUESTION = {"entity": "tea", "candidates": [{"id": "d0"}, {"id": "d4"}], "k": 5}


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    try:
        with running_redis(tmp_path) as server:
            yield server
    except NoServerError as error:
        pytest.skip(str(error))


def settings_for(redis: RedisServer) -> Settings:
    """On a busy machine a server that is there may need longer than a lookup waits by default."""
    return Settings(store=redis.url, encoder="wordllama", poll_interval_ms=20, lookup_timeout_ms=1000)


@pytest.fixture
def client(redis: RedisServer) -> Iterator[TestClient]:
    with TestClient(create_app(settings_for(redis)), raise_server_exceptions=False) as opened:
        assert opened.post("/ingest", json={"documents": DOCUMENTS}).json()["created"] == 5
        yield opened


def eventually(holds: Callable[[], bool], within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False


def eventually_ready(client: TestClient) -> bool:
    """How long it takes is measured by R9 (`python -m loadtest.production r9`), on a machine that does nothing else."""
    return eventually(lambda: client.get("/readyz").status_code == 200, 10)


def test_while_the_server_is_away_reranking_goes_on_and_says_so(client: TestClient, redis: RedisServer) -> None:
    before = client.post("/rerank", json=QUESTION).json()
    redis.process.kill()
    redis.process.wait()
    after = client.post("/rerank", json=QUESTION)
    assert after.status_code == 200
    assert (before["degraded"], after.json()["degraded"]) == (False, True)
    assert [r["id"] for r in after.json()["results"]] == [r["id"] for r in before["results"]]
    assert after.json()["target"] == before["target"]
    assert "cannot be reached" in " ".join(after.json()["warnings"])
    assert 'warp_degraded_total{reason="store"} 1.0' in client.get("/metrics").text


def test_while_the_server_is_away_nothing_is_acknowledged(client: TestClient, redis: RedisServer) -> None:
    redis.process.kill()
    redis.process.wait()
    refused = client.post("/ingest", json={"documents": [{"id": "new"}]})
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert client.delete("/documents/d0").status_code == 503
    assert (client.get("/livez").status_code, client.get("/readyz").status_code) == (200, 503)
    redis.start()
    assert eventually_ready(client)
    assert client.get("/documents/new").status_code == 404
    assert client.post("/ingest", json={"documents": [{"id": "new"}]}).json()["created"] == 1
    assert client.post("/rerank", json=QUESTION).json()["degraded"] is False


def test_a_server_that_hangs_is_not_waited_for_for_ever(client: TestClient, redis: RedisServer) -> None:
    redis.process.send_signal(signal.SIGSTOP)
    try:
        begin = time.monotonic()
        answer = client.post("/rerank", json=QUESTION)
        assert (answer.status_code, answer.json()["degraded"]) == (200, True)
        assert client.post("/ingest", json={"documents": [{"id": "new"}]}).status_code == 503
        assert time.monotonic() - begin < 15
        # Once the follower has noticed, nobody waits any more.
        assert eventually(lambda: client.get("/readyz").json()["checks"]["index"] != "ok", 5)
        begin = time.monotonic()
        assert client.post("/rerank", json=QUESTION).json()["degraded"] is True
        assert time.monotonic() - begin < 1
    finally:
        redis.process.send_signal(signal.SIGCONT)
    assert eventually_ready(client)


def test_what_was_acknowledged_is_there_after_a_kill(client: TestClient, redis: RedisServer) -> None:
    """The server runs with `appendfsync always`."""
    redis.process.kill()
    redis.process.wait()
    redis.start()
    assert eventually_ready(client)
    entity = client.get("/entities/tea").json()
    assert (entity["n"], entity["counts"]["-30"]) == (5, 1)


def test_the_service_starts_without_the_server_and_finds_it_later(redis: RedisServer) -> None:
    redis.process.kill()
    redis.process.wait()
    with TestClient(create_app(settings_for(redis)), raise_server_exceptions=False) as client:
        assert (client.get("/livez").status_code, client.get("/readyz").status_code) == (200, 503)
        inline = [{"id": "a", "score": 1.0, "opinions": [{"entity": "tea", "si": 30}]}]
        answer = client.post("/rerank", json={"entity": "tea", "candidates": inline, "k": 1}).json()
        assert ([r["id"] for r in answer["results"]], answer["degraded"]) == (["a"], True)
        redis.start()
        assert eventually_ready(client)


def test_a_store_that_was_emptied_leaves_nothing_in_the_index(client: TestClient, redis: RedisServer) -> None:
    """Another store under the same address: the follower notices and reads it anew."""
    redis.process.kill()
    redis.process.wait()
    redis.forget()
    redis.start()
    assert eventually_ready(client)
    assert eventually(lambda: client.get("/entities").json()["entities"] == [], 2)
    assert client.post("/rerank", json=QUESTION).json()["decision"]["added"] == 0


def test_a_server_that_may_evict_counts_is_refused(tmp_path: Path) -> None:
    try:
        with running_redis(tmp_path, "--maxmemory-policy", "allkeys-lru") as server:
            settings = Settings(store=server.url, poll_interval_ms=20)
            with TestClient(create_app(settings), raise_server_exceptions=False) as client:
                refused = client.post("/ingest", json={"documents": [{"id": "d"}]})
    except NoServerError as error:
        pytest.skip(str(error))
    assert refused.status_code == 503
    assert "allkeys-lru" in refused.json()["detail"]


def test_another_password_is_told(tmp_path: Path) -> None:
    try:
        with running_redis(tmp_path, "--requirepass", "secret") as server:
            settings = Settings(store=server.url, poll_interval_ms=20)
            with TestClient(create_app(settings), raise_server_exceptions=False) as client:
                refused = client.post("/ingest", json={"documents": [{"id": "d"}]})
                ready = client.get("/readyz")
    except NoServerError as error:
        pytest.skip(str(error))
    assert (refused.status_code, ready.status_code) == (503, 503)
    assert "secret" not in refused.text
