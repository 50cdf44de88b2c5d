"""The service over a Redis server that is full, read only, damaged, or restarted again and again."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings
from app.store.redis.layout import PARTITIONS, Keys
from tests.integration.command_line import CommandLine
from tests.redis_server import NoServerError, RedisServer, running_redis

PASSAGE = "x" * 2000
DOCUMENTS = [
    {"id": f"d{i}", "opinions": [{"entity": name, "si": si}]}
    for i, (name, si) in enumerate((("tea", -30), ("tea", 10), ("tea", 30), ("cake", 20)))
]
QUESTION = {"entity": "tea", "candidates": [{"id": "d0"}, {"id": "d2"}], "k": 3}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    try:
        with running_redis(tmp_path / "redis", "--repl-diskless-sync-delay", "0") as running:
            yield running
    except NoServerError as error:
        pytest.skip(str(error))


@pytest.fixture
def link(server: RedisServer) -> Iterator[Any]:
    with closing(redis.Redis(port=server.port, socket_timeout=5)) as opened:
        yield opened


@contextmanager
def service(url: str, **settings: Any) -> Iterator[TestClient]:
    app = create_app(Settings(store=url, poll_interval_ms=20, **settings))
    with TestClient(app, raise_server_exceptions=False) as opened:
        yield opened


@pytest.fixture
def client(server: RedisServer) -> Iterator[TestClient]:
    with service(server.url) as opened:
        assert opened.post("/ingest", json={"documents": DOCUMENTS}).json()["created"] == 4
        yield opened


def eventually(holds: Callable[[], bool], within_s: float = 10) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False


def ready(client: TestClient) -> bool:
    return client.get("/readyz").status_code == 200


def asked(client: TestClient) -> tuple[int, bool, list[str]]:
    """How a question is answered."""
    answer = client.post("/rerank", json=QUESTION)
    told = answer.json()
    return answer.status_code, told["degraded"], [result["id"] for result in told["results"]]


# Full


def test_a_full_server_takes_no_document_in_part_and_is_read_all_the_same(
    client: TestClient, server: RedisServer, link: Any, warp_rerank: CommandLine
) -> None:
    before = asked(client)
    assert before[:2] == (200, False)
    link.config_set("maxmemory", link.info("memory")["used_memory"] + 2_000_000)
    stored, refused = [], None
    for batch in range(200):
        documents = [
            {"id": f"{batch}/{i}", "text": PASSAGE, "opinions": [{"entity": "jam", "si": 10}]} for i in range(20)
        ]
        answer = client.post("/ingest", json={"documents": documents})
        if answer.status_code != 200:
            refused = answer
            break
        stored += [document["id"] for document in documents]
    assert refused is not None
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "maxmemory" in refused.json()["detail"]
    assert stored
    link.config_set("maxmemory", link.info("memory")["used_memory"] - 100_000)  # what was in flight is free again

    assert asked(client) == before
    assert ready(client)
    assert client.delete("/documents/d0").status_code == 503
    assert client.put("/entities/tea/target", json={"distribution": {"0": 1}}).status_code == 503
    assert warp_rerank("verify", store=server.url).status == 0
    jam = client.get("/entities/jam").json()["n"]
    assert jam >= len(stored)
    with service(server.url) as another:  # a new process can read what is there
        assert asked(another) == before
        assert another.get("/entities/jam").json()["n"] == jam
        assert another.post("/ingest", json={"documents": documents}).status_code == 503

    link.config_set("maxmemory", 0)
    report = client.post("/ingest", json={"documents": documents}).json()
    assert report["created"] + report["unchanged"] == 20
    assert client.get("/entities/jam").json()["n"] == len(stored) + 20
    assert all(client.get(f"/documents/{name}").status_code == 200 for name in stored[:: len(stored) // 10])
    assert warp_rerank("verify", store=server.url).status == 0


# Read only


def test_a_replica_as_the_store_answers_questions_and_takes_no_documents(
    client: TestClient, server: RedisServer, link: Any, tmp_path: Path
) -> None:
    before = asked(client)
    with running_redis(tmp_path / "replica", "--replicaof", "127.0.0.1", str(server.port)) as replica:
        link.set("behind", "it")  # WAIT speaks of what its own connection wrote
        assert link.wait(1, 10_000) == 1
        with service(replica.url) as reading:
            assert asked(reading) == before
            assert ready(reading)
            for refused in (
                reading.post("/ingest", json={"documents": [{"id": "new"}]}),
                reading.delete("/documents/d0"),
                reading.put("/collections/default", json={}),
                reading.put("/entities/tea/target", json={"distribution": {"0": 1}}),
            ):
                assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            client.post("/ingest", json={"documents": [{"id": "new", "opinions": [{"entity": "tea", "si": 0}]}]})
            assert eventually(lambda: "new" in asked(reading)[2])


# A second server that has to confirm


def test_what_no_replica_confirms_is_not_answered_for(server: RedisServer, link: Any, tmp_path: Path) -> None:
    with service(server.url, ack="replica") as client:
        begin = time.monotonic()
        refused = client.post("/ingest", json={"documents": DOCUMENTS})
        assert time.monotonic() - begin < 10
        assert (refused.status_code, "created" in refused.json()) == (503, False)
        with running_redis(tmp_path / "replica", "--replicaof", "127.0.0.1", str(server.port)) as replica:
            link.set("behind", "it")  # WAIT speaks of what its own connection wrote
            assert link.wait(1, 10_000) == 1
            report = client.post("/ingest", json={"documents": DOCUMENTS}).json()
            assert (report["created"] + report["unchanged"], report["ack"]) == (4, "replica")
            replica.process.send_signal(signal.SIGSTOP)
            assert client.delete("/documents/d0").status_code == 503
            replica.process.send_signal(signal.SIGCONT)


# Connections


def test_connections_do_not_leak_over_requests_and_restarts(client: TestClient, server: RedisServer, link: Any) -> None:
    def connections() -> int:
        with closing(redis.Redis(port=server.port, socket_timeout=5)) as opened:
            return int(opened.info("clients")["connected_clients"])

    def use(n: int) -> None:
        for i in range(n):
            client.post("/rerank", json=QUESTION)
            client.post("/ingest", json={"documents": [{"id": f"n{i}", "opinions": [{"entity": "tea", "si": 0}]}]})
            client.get("/entities/tea")
            client.get("/readyz")

    use(5)
    first = connections()
    use(50)
    assert connections() <= first + 1
    for _ in range(2):
        server.stop()
        assert client.post("/ingest", json={"documents": DOCUMENTS}).status_code == 503
        assert asked(client)[:2] == (200, True)
        server.start()
        assert eventually(lambda: ready(client))
        use(10)
        assert connections() <= first + 1
    assert asked(client)[:2] == (200, False)


# Values that cannot be read


def damage(link: Any, collection: str, document: str, field: str, value: str) -> None:
    keys = Keys("warp", PARTITIONS)
    link.hset(keys.partition(collection, keys.partition_of(document)), field, value)


def test_an_unreadable_count_is_named_other_entities_answer_and_a_repair_makes_it_anew(
    client: TestClient, server: RedisServer, link: Any, warp_rerank: CommandLine
) -> None:
    before = client.get("/entities/tea").json()
    damage(link, "default", "d0", "p:tea", "garbage")
    named = client.get("/entities/tea")
    assert named.status_code == 503
    assert "'p:tea' in collection 'default' cannot be read" in named.json()["detail"]
    assert client.get("/entities/cake").status_code == 200
    assert client.post("/rerank", json={**QUESTION, "entity": "cake"}).json()["degraded"] is False
    status, degraded, chosen = asked(client)
    assert (status, degraded, sorted(chosen)) == (200, True, ["d0", "d1", "d2"])
    assert "'p:tea'" in " ".join(client.post("/rerank", json=QUESTION).json()["warnings"])

    found = warp_rerank("verify", store=server.url)
    assert found.status == 1
    assert "tea" in found.out
    assert warp_rerank("verify", "--repair", store=server.url).status == 0
    assert warp_rerank("verify", store=server.url).status == 0
    assert client.get("/entities/tea").json() == before
    assert asked(client)[1] is False


def test_an_unreadable_document_is_named_the_others_answer_and_after_a_repair_it_may_come_again(
    client: TestClient, server: RedisServer, link: Any, warp_rerank: CommandLine
) -> None:
    damage(link, "default", "d0", "d:d0", "garbage")
    refused = client.post("/ingest", json={"documents": [{**DOCUMENTS[0], "text": "again"}]})
    assert refused.status_code == 503
    assert "d0" in refused.json()["detail"]
    assert client.get("/documents/d0").status_code == 503
    assert client.get("/documents/d1").status_code == 200
    others = {"entity": "tea", "candidates": [{"id": "d1"}, {"id": "d2"}], "k": 2, "expansion": "none"}
    assert client.post("/rerank", json=others).json()["degraded"] is False
    with service(server.url) as another:  # one bad value keeps no new process from all others
        assert ready(another)
        assert another.post("/rerank", json=others).json()["degraded"] is False

    assert warp_rerank("verify", store=server.url).status == 1
    assert warp_rerank("verify", "--repair", store=server.url).status == 0
    assert client.post("/ingest", json={"documents": DOCUMENTS}).json()["created"] == 1
    assert client.get("/entities/tea").json()["n"] == 3
    assert asked(client)[:2] == (200, False)


def test_an_unreadable_collection_is_named_and_others_answer(client: TestClient, link: Any) -> None:
    client.post("/ingest", json={"collection": "other", "documents": DOCUMENTS})
    link.hset("warp:catalog", "c:default", json.dumps({"settings": 5}))
    named = client.get("/collections/default")
    assert (named.status_code, "settings cannot be read" in named.json()["detail"]) == (503, True)
    assert client.post("/ingest", json={"documents": DOCUMENTS}).status_code == 503
    assert asked(client)[:2] == (200, True)
    assert client.post("/rerank", json={**QUESTION, "collection": "other"}).json()["degraded"] is False
    assert client.get("/collections").json()["collections"] == ["default", "other"]


def test_an_unfit_server_is_told_where_readiness_is_asked_for(server: RedisServer, link: Any) -> None:
    link.config_set("maxmemory-policy", "allkeys-lru")
    with service(server.url) as client:
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["checks"]["store"]) == (503, "unreachable")
        link.config_set("maxmemory-policy", "noeviction")
        assert eventually(lambda: ready(client))
        assert client.post("/ingest", json={"documents": DOCUMENTS}).json()["created"] == 4


def test_other_partitions_than_the_store_was_made_with_are_the_operators_fault(
    client: TestClient, server: RedisServer
) -> None:
    with service(server.url, store_partitions=8) as other:
        refused = other.post("/ingest", json={"documents": DOCUMENTS})
        assert refused.status_code == 503
        assert "WARP_STORE_PARTITIONS is 8, and this store was made with 16" in refused.json()["detail"]
        assert not ready(other)
    assert ready(client)
