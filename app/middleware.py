"""What happens around every request: its id, its time, its headers, and the last resort when it breaks."""

import logging
import re
import secrets
from http import HTTPStatus
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.draining import Draining
from app.errors import OverloadedError, problem_of, problem_response
from app.logs import request_id
from app.metrics import Metrics

_log = logging.getLogger(__name__)

REQUEST_ID = b"x-request-id"
_ACCEPTABLE_ID = re.compile(rb"[\x21-\x7e]{1,128}")
_POLICY = b"content-security-policy"
_SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)
_FOR_DATA = ((_POLICY, b"default-src 'none'; frame-ancestors 'none'"), (b"cache-control", b"no-store"))
"""What an answer gets that is no page; the explorer page brings a policy of its own."""
_FOR_DOCS = (  # the page starts Swagger UI by a script in itself
    (
        _POLICY,
        b"default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
        b"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
)


class AroundRequests:
    """ASGI middleware; the outermost of ours.

    Parameters
    ----------
    log_requests : write one line for each request.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, draining: Draining, log_requests: bool = False) -> None:
        self._app = app
        self._metrics = metrics
        self._draining = draining
        self._log_requests = log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = perf_counter()
        own_id = _id_of(scope)
        request_id.set(own_id.decode())
        kind = _FOR_DOCS if scope["path"] == "/docs" else _FOR_DATA
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = message.get("headers", ())
                more = () if any(name == _POLICY for name, _ in given) else kind
                if self._draining.begun:
                    more = (*more, (b"connection", b"close"))  # the next goes to who is still there then
                message = {**message, "headers": [*given, (REQUEST_ID, own_id), *_SECURITY, *more]}
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception:
            _log.exception("unexpected error")
            if status:
                raise  # part of the answer is out already; the connection must break
            response = problem_response(
                scope,
                HTTPStatus.INTERNAL_SERVER_ERROR,
                "internal",
                "an unexpected error; it was logged with the request id",
            )
            await response(scope, receive, send_with_headers)
        finally:
            seconds = perf_counter() - begin
            self._metrics.observe_request(scope["path"], "route" in scope, status, seconds)
            if self._log_requests:
                fields = {"method": scope["method"], "path": scope["path"], "status": status}
                _log.info("request", extra={"fields": {**fields, "ms": round(seconds * 1000, 3)}})


class Refusal:
    """ASGI application in place of a route of ours: says that there is no room, and reads no body."""

    def __init__(self, path: str, metrics: Metrics) -> None:
        self.path = path
        self._metrics = metrics
        # All are told the same: made once, a refusal costs a sixth less.
        self._response = problem_of({"path": path}, OverloadedError("too many requests are waiting already"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self
        self._metrics.shed.inc()
        await self._response(scope, receive, send)


def _id_of(scope: Scope) -> bytes:
    """The caller's, when it brought an acceptable one, else a new one."""
    for name, value in scope["headers"]:
        if name == REQUEST_ID and _ACCEPTABLE_ID.fullmatch(value):
            return bytes(value)
    return secrets.token_hex(8).encode()
