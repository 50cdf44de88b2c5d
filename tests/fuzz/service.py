"""The service without sockets: bytes in, status, headers and bytes out, in half a millisecond."""

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec

from app.main import create_app
from app.settings import Settings

JSON = "application/json"
DOCUMENTS = [
    {"id": f"d{i}", "text": f"review {i} of the tea", "opinions": [{"entity": "tea", "si": si}], "si": si}
    for i, si in enumerate((-30, -20, -10, 0, 10, 20, 30, 30))
]
LIMITS = {"max_candidates": 40, "max_k": 30, "max_body_bytes": 65_536}


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        """Without parameters."""
        return self.headers.get("content-type", "").partition(";")[0]


class Service:
    """An application with its resources open, on an event loop of its own."""

    def __init__(self, app: Any, runner: asyncio.Runner) -> None:
        self.app = app
        self._runner = runner
        self.document: dict[str, Any] = app.api.openapi()

    def send(
        self,
        method: str,
        target: str,
        body: bytes | Iterable[bytes] = b"",
        headers: Sequence[tuple[str, str]] = (("content-type", JSON),),
    ) -> Answer:
        """Send one request; `target` is the path and query as they stand in the request line."""
        return self._runner.run(self._send(method, target, body, headers))

    async def _send(
        self, method: str, target: str, body: bytes | Iterable[bytes], headers: Sequence[tuple[str, str]]
    ) -> Answer:
        chunks = iter([body] if isinstance(body, bytes) else body)
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path, errors="replace"),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(b"host", b"warp"), *((n.lower().encode(), v.encode("latin-1")) for n, v in headers)],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "state": {},
        }
        sent: list[Any] = []

        whole = False

        async def receive() -> dict[str, Any]:
            nonlocal whole
            if whole:
                await asyncio.Event().wait()  # the client stays
            chunk = next(chunks, None)
            whole = chunk is None
            return {"type": "http.request", "body": chunk or b"", "more_body": not whole}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start, *rest = sent
        got = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
        return Answer(start["status"], got, b"".join(message.get("body", b"") for message in rest))


@contextlib.contextmanager
def open_service(directory: Path, **settings: Any) -> Iterator[Service]:
    """A service with small limits, the static encoder, and a few documents in the collection `default`."""
    app = create_app(Settings(data_dir=directory, encoder="wordllama", **{**LIMITS, **settings}))
    with asyncio.Runner() as runner:
        lifespan = app.api.router.lifespan_context(app.api)
        runner.run(lifespan.__aenter__())
        try:
            service = Service(app, runner)
            answer = service.send("POST", "/ingest", msgspec.json.encode({"documents": DOCUMENTS}))
            assert answer.status == 200, answer
            yield service
        finally:
            runner.run(lifespan.__aexit__(None, None, None))
