"""Who may call, and what an answer tells beside its body."""

import logging
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.draining import Draining
from app.main import create_app
from app.middleware import AroundRequests
from app.security import OPEN_PATHS, needed_right
from app.settings import Settings

RERANK = {"entity": "tea", "candidates": []}
PAGE = "https://shop.example.org"


def service(data_dir: Path, **settings: Any) -> TestClient:
    app = create_app(Settings(data_dir=data_dir, **settings))
    return TestClient(app, raise_server_exceptions=False, headers={"host": "warp.example.org"})


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service with a key for everything, one for each right, and one for two."""
    digest = sha256(b"hashed").hexdigest()
    keys = ("all", "read:reader", "ingest:writer", "read+ingest:both", f"admin:sha256:{digest}")
    with service(tmp_path_factory.mktemp("keyed"), api_keys=keys) as client:
        yield client


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        ("all", "read ingest admin"),
        ("reader", "read"),
        ("writer", "ingest"),
        ("both", "read ingest"),
        ("hashed", "admin"),
    ],
)
def test_a_key_may_do_what_its_rights_say_and_nothing_else(keyed: TestClient, key: str, allowed: str) -> None:
    calls = {
        "read": [("POST", "/rerank"), ("GET", "/entities"), ("GET", "/documents/d"), ("GET", "/collections/c")],
        "ingest": [("POST", "/ingest"), ("DELETE", "/documents/d")],
        "admin": [("PUT", "/collections/c"), ("POST", "/nowhere"), ("PATCH", "/rerank"), ("POST", "/ingest%0A")],
    }
    for right, some in calls.items():
        for method, path in some:
            answer = keyed.request(method, path, headers={"authorization": f"Bearer {key}"}, json={})
            assert (answer.status_code != 403) == (right in allowed.split()), (method, path, answer.text)
            if answer.status_code == 403:
                assert answer.headers["content-type"] == "application/problem+json"
                assert right in answer.json()["detail"]


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (None, 401),
        ("", 401),
        ("Bearer", 401),
        ("Bearer ", 401),
        ("Basic all", 401),
        ("all", 401),
        ("Bearer wrong", 401),
        ("Bearer all all", 401),
        ("Bearer reader:", 401),
        ("Bearer read:reader", 401),
        (f"Bearer sha256:{sha256(b'all').hexdigest()}", 401),
        (f"Bearer {sha256(b'all').hexdigest()}", 401),
        ("Bearer \xff", 401),
        ("Bearer all", 200),
        ("bearer all", 200),
        ("BEARER  all ", 200),
    ],
)
def test_only_a_known_key_after_bearer_in_any_case_is_accepted(
    keyed: TestClient, authorization: str | None, status: int
) -> None:
    headers = {} if authorization is None else {"authorization": authorization.encode("latin-1")}
    answer = keyed.post("/rerank", json=RERANK, headers=headers)
    assert answer.status_code == status
    if status == 401:
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == 401


def test_two_headers_do_not_make_one_key(keyed: TestClient) -> None:
    answer = keyed.get("/entities", headers=[("authorization", "Bearer all"), ("authorization", "Bearer all")])
    assert answer.status_code == 401


def test_probes_metrics_documentation_and_the_page_are_open(keyed: TestClient) -> None:
    for path in (*OPEN_PATHS, "/explorer/explorer.js", "/static-offline-docs/swagger-ui.css"):
        assert keyed.get(path).status_code == 200, path


def test_nothing_is_open_by_a_detour(keyed: TestClient) -> None:
    for path in (
        "/explorer/../entities",
        "/explorer/..%2fentities",
        "//entities",
        "/entities?/docs",
        "/docs/../entities",
    ):
        assert keyed.request("GET", f"http://warp.example.org{path}").status_code in (401, 404), path


@pytest.mark.parametrize(
    ("method", "path", "right"),
    [
        ("POST", "/v1/rerank", "read"),
        ("POST", "/v2/rerank/", "read"),
        ("POST", "/search", "read"),
        ("POST", "/ingest/", "admin"),
        ("POST", "/documents/rerank/x", "admin"),
        ("DELETE", "/entities/tea/target", "admin"),
    ],
)
def test_what_is_not_known_to_need_less_needs_admin(method: str, path: str, right: str) -> None:
    assert needed_right(method, path) == right


def test_by_default_no_other_site_may_call(tmp_path: Path) -> None:
    with service(tmp_path) as client:
        preflight = client.options("/rerank", headers={"origin": PAGE, "access-control-request-method": "POST"})
        assert preflight.status_code in (403, 405)
        for origin in (PAGE, "null", "http://warp.example.org.evil.test", "http://evil.test/warp.example.org"):
            answer = client.post("/ingest", content=b'{"documents": []}', headers={"origin": origin})
            assert answer.status_code == 403, origin
            assert "access-control-allow-origin" not in answer.headers
        own = client.post("/rerank", json=RERANK, headers={"origin": "http://warp.example.org"})
        assert own.status_code == 200
        assert client.get("/metrics", headers={"origin": PAGE}).status_code == 200


def test_with_keys_a_page_is_as_good_as_its_key(keyed: TestClient) -> None:
    headers = {"origin": PAGE, "authorization": "Bearer all"}
    answer = keyed.post("/rerank", json=RERANK, headers=headers)
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("keys", [(), ("all",)])
def test_a_listed_site_may_ask_before_it_has_a_key(tmp_path: Path, keys: tuple[str, ...]) -> None:
    with service(tmp_path, api_keys=keys, cors_origins=(PAGE,)) as client:
        asked = {
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization, content-type",
        }
        preflight = client.options("/rerank", headers={"origin": PAGE, **asked})
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-origin"] == PAGE
        assert "authorization" in preflight.headers["access-control-allow-headers"]
        assert "access-control-allow-credentials" not in preflight.headers
        other = client.options("/rerank", headers={"origin": "https://else.example.org", **asked})
        assert "access-control-allow-origin" not in other.headers
        answer = client.post("/rerank", json=RERANK, headers={"origin": PAGE, "authorization": "Bearer all"})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, PAGE)
        refused = client.post("/rerank", json=RERANK, headers={"origin": PAGE})
        assert refused.status_code == (401 if keys else 200)
        assert refused.headers["access-control-allow-origin"] == PAGE  # so that the page can read why


def test_every_answer_has_the_headers_that_keep_browsers_careful(keyed: TestClient) -> None:
    def headers(path: str, **more: str) -> Any:
        found = keyed.get(path, headers=more).headers
        for name in ("x-content-type-options", "x-frame-options", "referrer-policy", "content-security-policy"):
            assert len(found.get_list(name)) == 1, (path, name)
        assert (found["x-content-type-options"], found["x-frame-options"]) == ("nosniff", "DENY")
        assert "frame-ancestors 'none'" in found["content-security-policy"]
        assert "unsafe-eval" not in found["content-security-policy"]
        return found

    for path in ("/livez", "/metrics", "/nowhere", "/entities", "/openapi.json"):
        found = headers(path)
        assert found["content-security-policy"].startswith("default-src 'none'; frame-ancestors")
        assert found["cache-control"] == "no-store"
    assert headers("/entities", authorization="Bearer all")["cache-control"] == "no-store"
    for path in ("/", "/explorer/explorer.js"):
        assert "script-src 'self';" in headers(path)["content-security-policy"]
    assert "script-src 'self' 'unsafe-inline'" in headers("/docs")["content-security-policy"]


def test_an_unexpected_error_tells_the_caller_nothing_but_the_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("internal matter")

    with service(tmp_path) as client:
        monkeypatch.setattr(client.app.state.resources.lookups, "lookup", broken)
        answer = client.post("/rerank", json=RERANK, headers={"x-request-id": "r-7"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (500, "r-7")
    assert answer.headers["content-type"] == "application/problem+json"
    assert "internal matter" not in answer.text
    assert "Traceback" not in answer.text
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == ["unexpected error"]


async def test_a_break_in_the_middle_of_an_answer_breaks_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def half(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("in the middle")

    counted: list[tuple[Any, ...]] = []

    class Counting:
        def observe_request(self, *told: Any) -> None:
            counted.append(told[:3])

    async def send(_message: Any) -> None: ...

    scope = {"type": "http", "method": "GET", "path": "/rerank", "headers": []}
    with pytest.raises(RuntimeError):
        await AroundRequests(half, Counting(), Draining(0))(scope, None, send)
    assert counted == [("/rerank", False, 200)]


def test_a_line_for_each_request_is_written_only_when_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "app")
    with service(tmp_path) as quiet:
        quiet.get("/livez")
    assert [record for record in caplog.records if record.message == "request"] == []
    with service(tmp_path, access_log=True, api_keys=("secret-key",)) as talking:
        talking.get("/entities?after=private", headers={"authorization": "Bearer secret-key"})
        talking.get("/entities", headers={"authorization": "Bearer other-key"})
    told = [record.fields for record in caplog.records if record.message == "request"]
    assert [(one["method"], one["path"], one["status"]) for one in told] == [
        ("GET", "/entities", 200),
        ("GET", "/entities", 401),
    ]
    assert "secret-key" not in str(told)
    assert "other-key" not in str(told)
    assert "private" not in str(told)
