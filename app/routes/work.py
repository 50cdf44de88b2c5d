"""A request's place among the others: its body is read, it waits for its turn, and it is given up when that is over.

What is refused, late or left alone costs as little as possible, so that the rest is answered as ever.
"""

import asyncio
from types import TracebackType
from typing import TypeVar

from fastapi import Request

from app.decoding import BodyDecoder
from app.errors import ClientGoneError, DeadlineError, ServiceError
from app.resources import Resources
from app.routes.exchange import read_body

T = TypeVar("T")

PROBLEMS = (400, 401, 413, 415, 422, 429, 503, 504)
"""Statuses of the errors of a route that does such work."""
PATIENCE_S = 0.1
"""A request that takes longer is watched over, by a task and a timer; one that is left sooner is answered anyway."""
LARGE_BODY = 256 * 1024
"""Bytes from which a body is decoded in a thread, so that others are answered meanwhile."""


class Work:
    """`async with Work(request, resources) as body:` runs when the request's turn has come.

    Raises
    ------
    OverloadedError : too much is under way.
    DeadlineError : it took longer than `request_timeout_ms` from when the body was there.
    ClientGoneError : the client left.
    UnsupportedMediaError, BodyTooLargeError : the body will not do.
    """

    def __init__(self, request: Request, resources: Resources) -> None:
        self._request = request
        self._resources = resources
        self._admission = resources.admission
        self._held = 0
        self._end: ServiceError | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._watcher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> bytes:
        limit = self._resources.settings.max_body_bytes
        self._admission.arrive()
        try:
            body = await read_body(self._request, limit, self._hold)
            self._watch()
            await self._admission.enter()
        except BaseException as error:
            self._finish(error)
            raise
        return body

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._admission.leave()
        self._finish(error)

    def _hold(self, size: int) -> None:
        self._admission.hold(size)
        self._held += size

    def _watch(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this is a coroutine
        self._task = task
        loop = asyncio.get_running_loop()
        self._late = loop.time() + self._resources.settings.request_timeout_ms / 1000

        def watch() -> None:
            self._watcher = loop.create_task(self._wait_for_the_end())

        self._timer = loop.call_later(min(PATIENCE_S, self._resources.settings.request_timeout_ms / 1000), watch)

    async def _wait_for_the_end(self) -> None:
        """Cancel the work when its time is over, or nobody waits for it."""
        try:
            async with asyncio.timeout_at(self._late):
                while (await self._request.receive())["type"] != "http.disconnect":
                    pass
            self._end = ClientGoneError("the client left before it was answered")
        except TimeoutError:
            self._end = DeadlineError(f"this took longer than {self._resources.settings.request_timeout_ms} ms")
        self._task.cancel()

    def _finish(self, error: BaseException | None) -> None:
        """Give back all that the request held; raise what put an end to it."""
        self._admission.drop(self._held)
        self._admission.depart()
        if self._timer:
            self._timer.cancel()
        if self._watcher:
            self._watcher.cancel()
        if isinstance(error, ClientGoneError) or isinstance(self._end, ClientGoneError):
            self._resources.metrics.abandoned.inc()
        if self._end:
            self._task.uncancel()
            if isinstance(error, asyncio.CancelledError):
                raise self._end from None


async def decoded(body: bytes, decoder: BodyDecoder[T], resources: Resources) -> T:
    """The record in a body; errors as `BodyDecoder.decode`."""
    if len(body) < LARGE_BODY:
        return decoder.decode(body)
    return await asyncio.get_running_loop().run_in_executor(resources.threads, decoder.decode, body)
