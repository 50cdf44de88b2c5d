"""Known hostile bodies, one by one."""

import pytest

from tests.fuzz.bodies import OPERATIONS, Operation
from tests.fuzz.corpus import CORPUS, DEEP, Hostile
from tests.fuzz.invariants import complaint
from tests.fuzz.service import LIMITS, Service, open_service


def test_there_are_enough_of_them_and_none_is_there_twice() -> None:
    assert len({hostile.body for hostile in CORPUS}) == len({hostile.name for hostile in CORPUS}) == len(CORPUS) >= 60
    assert all(len(hostile.body) < LIMITS["max_body_bytes"] for hostile in CORPUS)  # so that it is looked at


@pytest.mark.parametrize("hostile", CORPUS, ids=lambda one: one.name)
def test_a_hostile_body_is_answered_as_it_deserves(service: Service, hostile: Hostile) -> None:
    answer = service.send("POST", "/rerank", hostile.body)
    assert (answer.status, complaint(service, ("POST", "/rerank"), answer)) == (hostile.status, None), answer


@pytest.mark.parametrize("operation", OPERATIONS[1:], ids=lambda one: f"{one.method} {one.template}")
def test_no_other_route_breaks_on_any_of_them(service: Service, operation: Operation) -> None:
    for hostile in CORPUS:
        answer = service.send(operation.method, operation.target, hostile.body)
        assert complaint(service, operation.name, answer) is None, (hostile.name, answer)
        if hostile.status == 400:
            assert answer.status in (400, 422), (hostile.name, answer)


def test_as_lines_they_fail_one_by_one(service: Service) -> None:
    bodies = [hostile.body for hostile in CORPUS if b"\n" not in hostile.body and hostile.body.strip()]
    lines = b"\n".join([*bodies, b'{"id":"last"}'])
    headers = [("content-type", "application/x-ndjson")]
    answer = service.send("POST", "/ingest?collection=lines", lines, headers)
    assert answer.status == 200, answer
    assert b'"created":1' in answer.body
    assert answer.body.count(b'"pointer"') == len(bodies)


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"candidates":['])
def test_a_nesting_of_100_000_is_refused(tmp_path, opening: bytes) -> None:
    with open_service(tmp_path, max_body_bytes=2**24) as service:
        for body in (opening * DEEP, b'{"entity":"tea","candidates":' + opening * DEEP):
            for operation in OPERATIONS:
                answer = service.send(operation.method, operation.target, body)
                assert complaint(service, operation.name, answer) is None, answer
                assert answer.status in (400, 422), answer


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("content-type", "application/json; charset=utf-8")], 200),
        ([("content-type", "APPLICATION/JSON")], 200),
        ([], 200),
        ([("content-type", "")], 415),
        ([("content-type", "text/plain")], 415),
        ([("content-type", "multipart/form-data; boundary=x")], 415),
        ([("content-type", "application/json\xff")], 415),
        ([("content-type", "application/x-ndjson")], 415),
        ([("content-type", "application/json"), ("content-length", "99999999999999999999")], 413),
        ([("content-type", "application/json"), ("content-length", "-1")], 200),
        ([("content-type", "application/json"), ("content-length", "\xb2")], 200),
        ([("content-type", "application/json"), ("content-length", "9" * 5000)], 413),
        ([("content-type", "application/json"), ("x-request-id", "\x00\r\n")], 200),
        ([("content-type", "application/json"), ("authorization", "Bearer " + "x" * 60_000)], 200),
        ([("content-type", "application/json"), *((f"x-{i}", "y") for i in range(1000))], 200),
    ],
)
def test_no_header_breaks_the_service(service: Service, headers: list[tuple[str, str]], status: int) -> None:
    answer = service.send("POST", "/rerank", b'{"entity":"tea","candidates":[]}', headers)
    assert (answer.status, complaint(service, ("POST", "/rerank"), answer)) == (status, None), answer


@pytest.mark.parametrize(
    "query",
    [
        "collection=",
        "collection=%00",
        "collection=%ff",
        "collection=" + "x" * 600,
        "collection=a&collection=b",
        "limit=%d9%a1",
        "limit=-1",
        "limit=1e3",
        "limit=" + "9" * 5000,
        "after=%ed%a0%80",
        "after=" + "x" * 60_000,
        "&&&",
        "=",
        "%",
        "%zz",
        "a[b]=c",
    ],
)
def test_no_query_breaks_the_service(service: Service, query: str) -> None:
    for method, template, path in (
        ("GET", "/entities", "/entities"),
        ("GET", "/entities/{entity}", "/entities/tea"),
        ("GET", "/documents/{document_id}", "/documents/d1"),
        ("DELETE", "/documents/{document_id}", "/documents/none"),
        ("POST", "/ingest", "/ingest"),
    ):
        answer = service.send(method, f"{path}?{query}", b'{"documents":[]}')
        assert complaint(service, (method, template), answer) is None, answer


@pytest.mark.parametrize(
    "name", ["%00", "%ff", "%ed%a0%80", "x" * 600, "%2e%2e", "%0a", "%25", "%", "%zz", "+", "%20", "."]
)
def test_no_path_breaks_the_service(service: Service, name: str) -> None:
    for method, template in (
        ("GET", "/entities/{entity}"),
        ("DELETE", "/entities/{entity}/target"),
        ("GET", "/documents/{document_id}"),
        ("DELETE", "/documents/{document_id}"),
        ("GET", "/collections/{collection}"),
        ("PUT", "/collections/{collection}"),
    ):
        path = template.replace(template[template.index("{") : template.index("}") + 1], name)
        answer = service.send(method, path, b"{}")
        assert complaint(service, (method, template), answer) is None, (method, path, answer)


def test_a_stream_is_left_where_it_is_over_the_limit(service: Service) -> None:
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield b" " * 1024

    answer = service.send("POST", "/rerank", endless())
    assert (answer.status, taken) == (413, 65)
    taken = 0
    answer = service.send("POST", "/ingest", endless(), [("content-type", "application/x-ndjson")])
    assert (answer.status, taken) == (413, 65)
