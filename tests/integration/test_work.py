"""Requests that are refused, late or left alone."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from app.main import create_app
from app.routes import work
from app.settings import Settings

Ask = Callable[..., Awaitable[tuple[int, dict[str, str], Any]]]

LONG = json.dumps(
    {
        "entity": "tea",
        "variant": "lexrank",
        "candidates": [
            {"id": f"c{i}", "score": 1.0, "embedding": [i, 1.0], "opinions": [{"entity": "tea", "si": 30}]}
            for i in range(2000)
        ],
    }
).encode()
"""Compares two thousand candidates with each other."""
SHORT = json.dumps({"entity": "tea", "candidates": [{"id": "a", "score": 1.0}]}).encode()


@asynccontextmanager
async def serving(directory: Path, **settings: int) -> AsyncIterator[Ask]:
    """The application on this event loop."""
    app = create_app(Settings(data_dir=directory, **settings))
    async with app.api.router.lifespan_context(app.api):

        async def ask(path: str, body: bytes = b"", leaves: bool = False) -> tuple[int, dict[str, str], Any]:
            return await asked(app, path, body, leaves)

        ask.admission = app.state.resources.admission
        yield ask


async def asked(app: FastAPI, path: str, body: bytes, leaves: bool) -> tuple[int, dict[str, str], Any]:
    """Status, headers and body; the client may leave as soon as it has sent its request."""
    parts = [{"type": "http.request", "body": body}]
    sent: list[Any] = []

    async def receive() -> Any:
        if parts:
            return parts.pop()
        if not leaves:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(part: Any) -> None:
        sent.append(part)

    scope = {
        "type": "http",
        "method": "POST" if body else "GET",
        "path": path,
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }
    await app(scope, receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(part.get("body", b"") for part in sent[1:]).decode()


async def metric(ask: Ask, name: str) -> float:
    _, _, text = await ask("/metrics")
    (line,) = (line for line in text.splitlines() if line.startswith(f"{name} "))
    return float(line.split()[1])


async def test_beyond_the_queue_requests_are_refused_with_when_to_come_again(tmp_path: Path) -> None:
    async with serving(tmp_path, max_inflight=1, max_queued=1, max_queue_ms=60_000) as ask:
        answers = await asyncio.gather(*(ask("/rerank", LONG) for _ in range(5)))
        assert sorted(status for status, _, _ in answers) == [200, 200, 429, 429, 429]
        refused = [
            (headers["retry-after"], json.loads(body)["type"]) for status, headers, body in answers if status == 429
        ]
        assert refused == [("1", "urn:warp:problem:overloaded")] * 3
        assert await metric(ask, "warp_shed_total") == 3
        assert (await ask("/rerank", SHORT))[0] == 200


async def test_probes_and_metrics_are_never_refused(tmp_path: Path) -> None:
    async with serving(tmp_path, max_inflight=1, max_queued=0) as ask:
        async with ask.admission:  # somebody has the only turn
            assert (await ask("/rerank", SHORT))[0] == 429
            assert [(await ask(path))[0] for path in ("/livez", "/readyz", "/metrics")] == [200] * 3
        assert (await ask("/rerank", SHORT))[0] == 200


async def test_short_requests_overtake_none_and_are_answered_while_a_long_one_runs(tmp_path: Path) -> None:
    async with serving(tmp_path, max_inflight=2) as ask:
        ended: list[str] = []

        async def noted(name: str, body: bytes) -> int:
            status, _, _ = await ask("/rerank", body)
            ended.append(name)
            return status

        assert await asyncio.gather(noted("long", LONG), noted("short", SHORT)) == [200, 200]
        assert ended == ["short", "long"]


async def test_what_takes_too_long_ends_with_504_and_makes_room(tmp_path: Path) -> None:
    async with serving(tmp_path, max_inflight=1, max_queued=0, request_timeout_ms=30) as ask:
        status, _, body = await ask("/rerank", LONG)
        assert (status, json.loads(body)["type"]) == (504, "urn:warp:problem:deadline")
        assert (await ask("/rerank", SHORT))[0] != 429


async def test_what_waits_for_its_turn_is_dropped_when_nobody_waits_for_it(tmp_path: Path) -> None:
    async with serving(tmp_path, max_inflight=1, max_queue_ms=60_000) as ask:
        async with ask.admission:  # somebody has the only turn
            await asyncio.gather(*(ask("/rerank", SHORT, leaves=True) for _ in range(2)))
        assert await metric(ask, "warp_abandoned_total") == 2
        assert (await ask("/rerank", SHORT))[0] == 200


async def test_work_that_nobody_waits_for_is_dropped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "PATIENCE_S", 0.001)
    async with serving(tmp_path, max_inflight=1) as ask:
        await ask("/rerank", LONG, leaves=True)
        assert await metric(ask, "warp_abandoned_total") == 1
        assert (await ask("/rerank", SHORT))[0] == 200


async def test_a_client_that_leaves_in_the_middle_of_its_body_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(Settings(data_dir=tmp_path))
    async with app.api.router.lifespan_context(app.api):
        parts = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"{", "more_body": True}]
        sent: list[Any] = []

        async def receive() -> Any:
            return parts.pop()

        async def send(part: Any) -> None:
            sent.append(part)

        for path in ("/rerank", "/ingest"):
            parts = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"{", "more_body": True}]
            scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": []}
            await app(scope, receive, send)
    assert [part["status"] for part in sent if "status" in part] == [400, 400]
    assert not caplog.records


async def test_bodies_that_together_hold_too_much_are_refused(tmp_path: Path) -> None:
    limit = len(LONG) + 1000
    async with serving(tmp_path, max_inflight=2, max_inflight_bytes=limit) as ask:
        answers = await asyncio.gather(ask("/rerank", LONG), ask("/rerank", LONG))
        assert sorted(status for status, _, _ in answers) == [200, 429]
        assert (await ask("/rerank", LONG))[0] == 200


async def test_a_large_body_with_a_mistake_is_refused_as_a_small_one_is(tmp_path: Path) -> None:
    padding = [{"id": f"c{i}", "text": "x" * 1000} for i in range(400)]
    body = json.dumps({"entity": "tea", "candidates": [*padding, {"id": 7}]}).encode()
    async with serving(tmp_path) as ask:
        status, _, answer = await ask("/rerank", body)
    assert (status, json.loads(answer)["errors"][0]["pointer"]) == (422, "/candidates/400/id")
