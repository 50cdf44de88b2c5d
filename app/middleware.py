"""What happens around every request: its id, its time, its headers, and the last resort when it breaks."""

import logging
import re
import secrets
from http import HTTPStatus
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import problem_response
from app.metrics import Metrics

_log = logging.getLogger(__name__)

REQUEST_ID = "x-request-id"
_ACCEPTABLE_ID = re.compile(r"[\x21-\x7e]{1,128}")


class AroundRequests:
    """ASGI middleware; the outermost of ours."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

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
            self._metrics.observe_request(scope["path"], "route" in scope, status, perf_counter() - begin)
