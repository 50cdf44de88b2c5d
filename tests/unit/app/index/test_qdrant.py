"""What is Qdrant's own: points that others write, their payload, a server that is away or another than expected."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient, models

from app.errors import IndexUnavailableError
from app.index import open_index
from app.index.local import LocalIndex
from app.index.qdrant import QdrantCollection, QdrantIndex, open_qdrant
from tests.indexes import entry, wanted
from warp_core import InvalidInputError

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Api key is used with an insecure connection:UserWarning"
)

EAST, NORTH = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"


class Engine:
    """The client's own engine with the collection `c`, beside documents that the store knows."""

    def __init__(self, known: dict[str, dict[str, int]]) -> None:
        self.client = AsyncQdrantClient(":memory:")
        self.documents = LocalIndex(keeps_vectors=False)
        for name, bins in known.items():
            self.documents.put(entry(name, bins=bins))

    async def collection(self, points: list[models.PointStruct], **params: Any) -> QdrantCollection:
        fixed = {"size": 2, "distance": models.Distance.COSINE, **params}
        await self.client.create_collection("c", models.VectorParams(**fixed))
        if points:
            await self.client.upsert("c", points)
        return QdrantIndex(self.client, "", self.documents)["c"]


def point(number: int | str, si: float | None = None, **payload: Any) -> models.PointStruct:
    opinions = [] if si is None else [{"entity": "room", "si": si}]
    return models.PointStruct(id=number, vector=[1.0, 0.0], payload={"opinions": opinions, **payload})


async def test_points_that_the_store_does_not_know_are_passed_over_and_others_take_their_place():
    engine = Engine({"known": {"room": 6}})
    strangers = [point(i, 30, id=f"stranger {i}") for i in range(50)]
    index = await engine.collection([*strangers, models.PointStruct(id=99, vector=[0.0, 1.0], payload={"id": "known"})])
    assert await index.search(EAST, 1) == [("known", 0.0)]


async def test_a_payload_that_is_late_adds_nothing_that_the_store_does_not_say():
    engine = Engine({"moved": {"room": 0}, "now": {"room": 6}, "gone": {"food": 6}})
    index = await engine.collection([point(1, 30, id="moved"), point(2, 30, id="now"), point(3, 30, id="gone")])
    found = await index.held("room", wanted({6: EAST, 0: EAST}), 9, ())
    assert (found.ids, found.bins) == (["now"], [6])


async def test_an_entity_and_an_opinion_on_another_one_are_no_match():
    engine = Engine({"a": {"room": 0, "food": 6}})
    opinions = [{"entity": "room", "si": -30}, {"entity": "food", "si": 30.0}]
    index = await engine.collection([point(1, id="a", opinions=opinions)])
    assert (await index.held("room", wanted({6: EAST}), 9, ())).ids == []
    assert (await index.held("room", wanted({0: EAST}), 9, ())).ids == ["a"]
    assert (await index.held("food", wanted({6: EAST}), 9, ())).ids == ["a"]


async def test_a_point_without_an_id_in_its_payload_is_the_document_of_its_own_id():
    engine = Engine({"7": {"room": 6}, UUID: {"room": 6}})
    index = await engine.collection([point(7, 30), point(UUID, 30)])
    assert set((await index.held("room", wanted({6: EAST}), 9, ())).ids) == {"7", UUID}
    assert {name for name, _ in await index.search(EAST, 9)} == {"7", UUID}
    assert {name: vector.tolist() for name, vector in (await index.vectors(["7", UUID, "x"])).items()} == {
        "7": [1, 0],
        UUID: [1, 0],
    }


@pytest.mark.parametrize("distance", [models.Distance.EUCLID, models.Distance.MANHATTAN])
async def test_a_collection_that_compares_by_length_is_refused_by_name(distance: models.Distance):
    index = await Engine({}).collection([], distance=distance)
    with pytest.raises(IndexUnavailableError, match=f"c compares by {distance.value}; Cosine or Dot is needed"):
        await index.search(EAST, 9)


async def test_several_vectors_a_point_are_refused():
    engine = Engine({})
    await engine.client.create_collection("c", {"text": models.VectorParams(size=2, distance=models.Distance.COSINE)})
    with pytest.raises(IndexUnavailableError, match="named vectors"):
        await QdrantIndex(engine.client, "", engine.documents)["c"].search(EAST, 9)


async def test_a_collection_that_was_made_anew_is_looked_at_anew_after_the_first_error():
    engine = Engine({"a": {"room": 6}})
    index = await engine.collection([point(1, 30, id="a")])
    assert await index.search(EAST, 9) == [("a", 1.0)]
    await engine.client.delete_collection("c")
    with pytest.raises(IndexUnavailableError):
        await index.search(EAST, 9)
    assert await index.search(EAST, 9) == []


@pytest.mark.parametrize("name", ["../admin", "c/points", "c?x=1", "", "ö"])
async def test_a_name_that_could_be_another_path_is_no_collection(name: str):
    def never(*_: object) -> None:
        raise AssertionError("asked")

    engine = Engine({})
    engine.client.collection_exists = never  # type: ignore[assignment]
    index = QdrantIndex(engine.client, "", engine.documents)[name]
    assert await index.search(EAST, 9) == []


@contextmanager
def served(answers: Callable[[str, str, dict[str, str]], tuple[int, object]]) -> Iterator[int]:
    """An HTTP server on a free port that answers with status and JSON for method, path and headers."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            status, body = answers(self.command, self.path, {k.lower(): v for k, v in self.headers.items()})
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815 - the name that the base class looks for

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def test_a_server_is_asked_over_http_with_the_key_and_the_prefix_of_the_url():
    asked: list[tuple[str, str, str | None]] = []
    params = {"vectors": {"size": 2, "distance": "Cosine"}}
    info = {
        "status": "green",
        "optimizer_status": "ok",
        "segments_count": 1,
        "payload_schema": {},
        "config": {
            "params": params,
            "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
            "optimizer_config": {
                "deleted_threshold": 0.2,
                "vacuum_min_vector_number": 1000,
                "default_segment_number": 0,
                "flush_interval_sec": 5,
            },
        },
    }

    def answers(method: str, path: str, headers: dict[str, str]) -> tuple[int, object]:
        asked.append((method, path.partition("?")[0], headers.get("api-key")))
        result: object = {"exists": True} if path.endswith("/exists") else info
        if path.partition("?")[0].endswith("/query/batch"):
            result = [{"points": [{"id": 1, "version": 0, "score": 0.5, "payload": {"id": "a"}}]}]
        return 200, {"result": result, "status": "ok", "time": 0.0}

    documents = LocalIndex(keeps_vectors=False)
    documents.put(entry("a", bins={"room": 6}, collection="hotels"))
    with served(answers) as port:
        index = open_qdrant(f"qdrant://:s%2Fecret@127.0.0.1:{port}/warp-", documents)
        assert await index["hotels"].search(EAST, 9) == [("a", 0.5)]
        assert (await index["hotels"].held("room", wanted({6: NORTH}), 9, ())).scores == [0.5]
        await index.close()
    exists, got, first, second = asked
    assert {key for _, _, key in asked} == {"s/ecret"}
    assert exists[:2] == ("GET", "/collections/warp-hotels/exists")
    assert got[:2] == ("GET", "/collections/warp-hotels")
    assert first[:2] == second[:2] == ("POST", "/collections/warp-hotels/points/query/batch")


async def test_a_server_that_refuses_or_is_away_is_an_error_of_the_index_without_its_address_or_key():
    with served(lambda *_: (403, {"status": {"error": "forbidden"}})) as port:
        index = open_qdrant(f"qdrant://:key@127.0.0.1:{port}/", LocalIndex(keeps_vectors=False))
        with pytest.raises(IndexUnavailableError) as refused:
            await index["c"].search(EAST, 9)
        await index.close()
    assert refused.value.detail == "Qdrant answers 403"
    index = open_qdrant(f"qdrant://:key@127.0.0.1:{port}/", LocalIndex(keeps_vectors=False))
    with pytest.raises(IndexUnavailableError) as away:
        await asyncio.wait_for(index["c"].search(EAST, 9), 10)
    assert away.value.detail == "Qdrant cannot be reached"
    await index.close()


@pytest.mark.parametrize("url", ["redis://host", "qdrant:///prefix", "qdrant://host/a/b", "qdrant://host/a b", ""])
def test_a_url_of_no_engine_is_refused_with_what_is_allowed(url: str):
    with pytest.raises(InvalidInputError, match=r"must be .*qdrant://"):
        open_index(url, LocalIndex())
