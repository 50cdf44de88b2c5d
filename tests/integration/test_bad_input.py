"""What a caller gets wrong is a 4xx that points at the field."""

import json

import pytest
from starlette.testclient import TestClient

CANDIDATE = {"id": "a", "score": 1.0}
DEEP = b"[" * 100_000 + b"]" * 100_000


def body(**changes: object) -> dict[str, object]:
    return {"entity": "breakfast", "candidates": [CANDIDATE]} | changes


@pytest.mark.parametrize(
    ("request_body", "pointer"),
    [
        ({"candidates": []}, "/query"),
        ({"entity": "x"}, "/candidates"),
        (body(entity=""), "/entity"),
        (body(entity=" \t"), "/entity"),
        (body(entity="e" * 513), "/entity"),
        (body(collection=""), "/collection"),
        (body(k=0), "/k"),
        (body(k=-1), "/k"),
        (body(k=2.5), "/k"),
        (body(k="3"), "/k"),
        (body(k=True), "/k"),
        (body(k=31), "/k"),
        (body(variant="w1_minimiser"), "/variant"),
        (body(expansion="some"), "/expansion"),
        (body(scope="all"), "/scope"),
        (body(relevance_weight=1.1), "/relevance_weight"),
        (body(relevance_weight=-0.1), "/relevance_weight"),
        (body(rel_norm="z"), "/rel_norm"),
        (body(topn=3), "/topn"),
        (body(candidates=[CANDIDATE | {"scores": 1}]), "/candidates/0/scores"),
        (body(candidates=[CANDIDATE | {"id": ""}]), "/candidates/0/id"),
        (body(candidates=[CANDIDATE | {"id": 7}]), "/candidates/0/id"),
        (body(candidates=[CANDIDATE | {"score": "1"}]), "/candidates/0/score"),
        (body(candidates=[CANDIDATE | {"score": True}]), "/candidates/0/score"),
        (body(candidates=[CANDIDATE, {"id": "b"}]), "/candidates/1/score"),
        (body(candidates=[CANDIDATE] * 51), "/candidates"),
        (body(candidates=[None]), "/candidates/0"),
        (body(candidates=[{"id": "b", "embedding": [1.0]}], query="q"), "/candidates/0/embedding"),
        (body(candidates=[{"id": "b", "embedding": [1.0, "x"]}]), "/candidates/0/embedding/1"),
        (body(candidates=[{"id": "b", "embedding": []}]), "/candidates/0/embedding"),
        (body(candidates=[{"embedding": [1.0, 2.0]}, {}, {"embedding": [1.0]}]), "/candidates/2/embedding"),
        (body(candidates=[CANDIDATE | {"si": 15}]), "/candidates/0/si"),
        (body(candidates=[CANDIDATE | {"opinions": [{"entity": "x"}]}]), "/candidates/0/opinions/0"),
        (body(candidates=[CANDIDATE | {"opinions": [{"entity": "x", "si": 7}]}]), "/candidates/0/opinions/0/si"),
        (body(candidates=[CANDIDATE | {"opinions": [{"entity": "", "si": 0}]}]), "/candidates/0/opinions/0/entity"),
        (body(candidates=[CANDIDATE | {"opinions": [{"entity": "x", "stars": 6}]}]), "/candidates/0/opinions/0/stars"),
        (body(target={"distribution": {"-30": -1}}), "/target/distribution/-30"),
        (body(target={"distribution": {"-30": 0}}), "/target/distribution"),
        (body(target={"distribution": {}}), "/target/distribution"),
        (body(target={"distribution": {"5": 1}}), "/target/distribution/5"),
        (body(target={"distribution": {"a/b": 1}}), "/target/distribution/a~1b"),
        (body(target={"source": "elsewhere"}), "/target/source"),
    ],
)
def test_a_broken_field_is_named(client: TestClient, request_body: dict[str, object], pointer: str) -> None:
    answer = client.post("/rerank", json=request_body)
    problem = answer.json()
    assert answer.status_code == 422, problem
    assert answer.headers["content-type"] == "application/problem+json"
    assert [error["pointer"] for error in problem["errors"]] == [pointer]
    assert problem["errors"][0]["detail"]


@pytest.mark.parametrize(
    ("raw", "status", "pointer"),
    [
        (b"", 400, ""),
        (b"{", 400, ""),
        (b"[1]", 422, ""),
        (b'\xef\xbb\xbf{"entity":"x","candidates":[]}', 400, ""),
        (b'{"entity":"\xff","candidates":[]}', 400, ""),
        (b'{"entity":"x","candidates":[{"id":"a","score":NaN}]}', 422, "/candidates/0/score"),
        (b'{"entity":"x","candidates":[{"id":"a","score":-Infinity}]}', 422, "/candidates/0/score"),
        (b'{"entity":"x","candidates":[{"id":"a","score":1e999}]}', 422, "/candidates/0/score"),
        (b'{"entity":"x","candidates":[{"id":"a","metadata":{"n":1e999}}]}', 422, "/candidates/0/metadata/n"),
        (b'{"entity":"x","candidates":[{"id":"a","embedding":[1,NaN]}]}', 422, "/candidates/0/embedding/1"),
        (b'{"query":"bad \\ud83d","candidates":[]}', 422, "/query"),
        (b'{"entity":"x","candidates":[{"id":"\\ud83d"}]}', 422, "/candidates/0/id"),
        (b'{"entity":"x","candidates":[{"id":"a","metadata":{"\\udc00":1}}]}', 422, "/candidates/0/metadata/?"),
        (b'{"entity":"x","candidates":' + DEEP[:60_000] + b"}", 422, "/candidates/0"),
        (b'{"entity":"x","candidates":[{"id":"a","metadata":{"m":' + b"[" * 9000 + b"]" * 9000 + b"}}]}", 422, ""),
        (b'{"entity":"x","candidates":[],"k":' + b"9" * 5000 + b"}", 422, "/k"),
    ],
)
def test_a_body_that_is_no_good_json_is_told_where(client: TestClient, raw: bytes, status: int, pointer: str) -> None:
    answer = client.post("/rerank", content=raw, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (status, pointer), answer.text


def test_an_oversized_body_is_refused_with_the_limit(client: TestClient) -> None:
    declared = client.post("/rerank", content=b" " * 65_537)
    streamed = client.post("/rerank", content=(b" " * 1024 for _ in range(65)))
    assert (declared.status_code, streamed.status_code) == (413, 413)
    assert "65536" in declared.json()["detail"]
    assert "65536" in streamed.json()["detail"]


def test_another_media_type_is_refused(client: TestClient) -> None:
    answer = client.post("/rerank", content=b"{}", headers={"content-type": "text/plain"})
    assert answer.status_code == 415
    assert "application/json" in answer.json()["detail"]


def test_an_unknown_field_is_answered_with_the_nearest_known_name(client: TestClient) -> None:
    answer = client.post("/rerank", json=body(relevance_wieght=1))
    assert "relevance_weight" in answer.json()["errors"][0]["detail"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/rerank", 405),
        ("GET", "/nowhere", 404),
        ("GET", "/documents/none?collection=hotels", 404),
        ("GET", "/entities/none?collection=hotels", 404),
        ("GET", "/entities?limit=0", 422),
        ("GET", "/entities?limit=many", 422),
        ("GET", "/collections/none", 404),
        ("GET", "/explorer/none.js", 404),
        ("DELETE", f"/documents/{'d' * 513}", 422),
    ],
)
def test_a_bad_address_is_a_problem_too(client: TestClient, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status


def test_search_limits_its_pool(client: TestClient) -> None:
    answer = client.post("/search", json={"query": "breakfast", "collection": "hotels", "pool_size": 51})
    assert answer.json()["errors"][0]["pointer"] == "/pool_size"


def test_a_bad_document_does_not_fail_the_others(client: TestClient) -> None:
    documents = [
        {"id": "good-1", "text": "fine"},
        {"id": ""},
        {"id": "b", "opinions": [{"entity": "pool", "si": 11}]},
        {"id": "c", "embedding": [1.0, 2.0]},
        {"id": "d", "stars": 3},
        {"id": "good-2", "text": "fine too"},
    ]
    answer = client.post("/ingest", json={"collection": "mixed", "documents": documents}).json()
    assert answer["created"] == 2
    assert [(one["index"], one["id"], one["pointer"]) for one in answer["failed"]] == [
        (1, "", "/id"),
        (2, "b", "/opinions/0/si"),
        (3, "c", "/embedding"),
        (4, "d", "/stars"),
    ]
    assert client.get("/documents/good-2?collection=mixed").status_code == 200
    assert client.get("/documents/c?collection=mixed").status_code == 404


def test_a_bad_line_does_not_fail_the_others(client: TestClient) -> None:
    lines = [b'{"id": "l1"}', b'{"id": "l2", "score"', b'{"id": "l3", "si": NaN}', b"", b'{"id": "l4"}']
    answer = client.post(
        "/ingest?collection=lines", content=b"\n".join(lines), headers={"content-type": "application/x-ndjson"}
    ).json()
    assert answer["created"] == 2
    assert [(one["index"], one["pointer"]) for one in answer["failed"]] == [(1, ""), (2, "/si")]


@pytest.mark.parametrize(
    ("settings", "pointer"),
    [
        ({"positions": [1]}, "/positions"),
        ({"positions": [1, 1]}, "/positions"),
        ({"positions": [2, 1]}, "/positions"),
        ({"stars": [1, 2]}, "/stars"),
        ({"pole_queries": {"positive": 1}}, "/pole_queries/positive"),
        ({"scale": []}, "/scale"),
    ],
)
def test_bad_collection_settings_are_refused(client: TestClient, settings: dict[str, object], pointer: str) -> None:
    answer = client.put("/collections/new", json=settings)
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert client.get("/collections/new").status_code == 404


def test_the_scale_of_a_collection_with_documents_stays(client: TestClient) -> None:
    answer = client.put("/collections/hotels", json={"positions": [1, 2, 3, 4, 5]})
    assert answer.json()["errors"][0]["pointer"] == "/positions"


def test_every_error_carries_a_request_id_and_never_the_input(client: TestClient) -> None:
    answer = client.post("/rerank", content=json.dumps(body(k="secret-value")), headers={"x-request-id": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
    assert "secret-value" not in answer.text


@pytest.mark.parametrize("given", ["", "a b", "é", "x" * 129])
def test_a_strange_request_id_is_replaced(client: TestClient, given: str) -> None:
    answer = client.get("/livez", headers={"x-request-id": given.encode()})
    assert answer.headers["x-request-id"] not in ("", given)
