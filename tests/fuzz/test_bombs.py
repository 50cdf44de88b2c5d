"""Bodies that are small on the wire and large in memory. Row R14 of the scoreboard, what can be told in process."""

import json
import tracemalloc
from pathlib import Path

import pytest

from app.ingestion import NAMED
from tests.fuzz.invariants import complaint
from tests.fuzz.service import Service, open_service

LIMIT = 4 * 2**20
MiB = 2**20


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Service:
    with open_service(tmp_path_factory.mktemp("bombs"), max_body_bytes=LIMIT) as service:
        yield service


def filled(begin: bytes, part: bytes, end: bytes) -> bytes:
    """As many parts as the limit lets through."""
    count = (LIMIT - len(begin) - len(end)) // (len(part) + 1)
    return begin + b",".join([part] * count) + end


BOMBS = {
    "candidates": filled(b'{"entity":"tea","candidates":[', b"{}", b"]}"),
    "texts": filled(b'{"entity":"tea","candidates":[', b'""', b"]}"),
    "opinions": filled(b'{"entity":"tea","candidates":[{"opinions":[', b'{"entity":"a","si":0}', b"]}]}"),
    "lists in metadata": filled(b'{"entity":"tea","candidates":[{"metadata":{"a":[', b"[]", b"]}}]}"),
    "objects in metadata": filled(b'{"entity":"tea","candidates":[{"metadata":{"a":[', b"{}", b"]}}]}"),
    "numbers": filled(b'{"entity":"tea","candidates":[{"embedding":[', b"1", b"]}]}"),
    "weights": filled(b'{"entity":"tea","candidates":[],"target":{"distribution":{"0":1,', b'"0":1', b"}}}"),
    "unknown fields": filled(b'{"entity":"tea","candidates":[],', b'"a":1', b"}"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_in_less_memory_than_twice_the_limit(large: Service, bomb: str) -> None:
    tracemalloc.start()
    try:
        answer = large.send("POST", "/rerank", BOMBS[bomb])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 400 <= answer.status < 500, answer
    assert complaint(large, ("POST", "/rerank"), answer) is None
    assert peak < 3 * LIMIT, peak / LIMIT  # the copy that the test itself sends is none of these


@pytest.mark.parametrize("document", [b"{}", b"0", b'""', b"[]", b"null"])
def test_a_million_tiny_documents_are_refused_before_they_are_looked_at(large: Service, document: bytes) -> None:
    answer = large.send("POST", "/ingest", filled(b'{"documents":[', document, b"]}"))
    assert answer.status == 413, answer
    assert "documents one a line" in json.loads(answer.body)["detail"]


def test_a_bomb_in_a_line_is_refused_too(large: Service) -> None:
    line = filled(b'{"id":"a","metadata":{"a":[', b"[]", b"]}}")
    answer = large.send("POST", "/ingest", line + b"\n", [("content-type", "application/x-ndjson")])
    assert answer.status == 413, answer


def test_of_many_failed_documents_a_thousand_are_named_and_the_rest_counted(large: Service) -> None:
    lines = [b'{"id":"%d"}' % i if i % 10 == 0 else b'{"id":7}' for i in range(3000)]
    answer = large.send(
        "POST", "/ingest?collection=many", b"\n".join(lines), [("content-type", "application/x-ndjson")]
    )
    report = json.loads(answer.body)
    assert (report["created"], len(report["failed"]), report["failed_more"]) == (300, NAMED, 2700 - NAMED)


def test_an_id_that_is_too_long_is_not_sent_back_whole(large: Service) -> None:
    body = {"documents": [{"id": "x" * MiB}]}
    report = json.loads(large.send("POST", "/ingest", json.dumps(body).encode()).body)
    assert report["failed"][0]["id"] == "x" * 512


def test_a_body_of_many_values_that_is_no_bomb_is_accepted(tmp_path: Path) -> None:
    """2000 candidates with embeddings of 384 numbers, as encoders make them."""
    with open_service(tmp_path, max_body_bytes=16 * MiB, max_candidates=2000) as service:
        numbers = ",".join(["-0.05123"] * 384)
        candidates = ",".join(f'{{"id":"c{i}","score":0.5,"embedding":[{numbers}]}}' for i in range(2000))
        body = f'{{"entity":"tea","k":3,"candidates":[{candidates}]}}'.encode()
        answer = service.send("POST", "/rerank", body)
    assert answer.status == 200, answer
