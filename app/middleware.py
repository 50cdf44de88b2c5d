"""What happens around every request: its id, its time, its headers, and the last resort when it breaks."""

import logging
import re
import secrets
from http import HTTPStatus
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.draining import Draining
from app.errors import OverloadedError, problem_response
from app.metrics import Metrics

_log = logging.getLogger(__name__)

REQUEST_ID = "x-request-id"
_ACCEPTABLE_ID = re.compile(r"[\x21-\x7e]{1,128}")


class AroundRequests:
    """ASGI middleware; the outermost of ours."""

    def __init__(self, app: ASGIApp, metrics: Metrics, draining: Draining) -> None:
        self._app = app
        self._metrics = metrics
        self._draining = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _ACCEPTABLE_ID.fullmatch(given) else secrets.token_hex(8)
        begin = perf_counter()
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = request_id
                headers["x-content-type-options"] = "nosniff"
                if self._draining.begun:
                    headers["connection"] = "close"  # the next request opens another, to who is still there then
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except Exception:
            _log.exception("unexpected error in request %s", request_id)
            if status:
                raise  # part of the answer is out already; the connection must break
            response = problem_response(
                HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "an unexpected error; it was logged with the request id"
            )
            await response(scope, receive, send_with_id)
        finally:
            route = getattr(scope.get("route"), "path", "unmatched")
            self._metrics.request_seconds.labels(route, status).observe(perf_counter() - begin)


class Refusal:
    """ASGI application in place of a route of ours: says that there is no room, and reads no body."""

    def __init__(self, path: str, metrics: Metrics) -> None:
        self.path = path
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self
        self._metrics.shed.inc()
        error = OverloadedError("too many requests are waiting already")
        response = problem_response(error.status, error.kind, error.detail, (), error.headers)
        await response(scope, receive, send)
