"""uvicorn's protocol, with a limit to how long a request may take to arrive: of itself it would wait for ever.

For a uvicorn that is started otherwise than by `warp-rerank serve`: `--http app.server:TimedProtocol`.
"""

from asyncio import Transport
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

RECEIVE_TIMEOUT = "receive_timeout_s"
"""Under this name the application's lifespan state tells the limit."""

LEAST_BYTES_PER_S = 16 * 1024
"""A body gets another second for each this many bytes that have come: who sends, however long, is not slow."""

LEFT_UNREAD = 2**20
"""Bytes of a body that may still come once its request is answered; so many, a client has sent before it hears that it
need not go on. uvicorn would read on for ever, at the speed of the line.
"""


class TimedProtocol(HttpToolsProtocol):
    """Closes a connection whose request (head and body) does not arrive in time, or goes on and on when answered.

    The clock runs while something is awaited from the client: not while it is answered, nor while the service itself
    reads no further.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limit_s: float = self.app_state[RECEIVE_TIMEOUT]
        self._awaited = True  # the rest of a request, or a first one
        self._begin = 0.0
        self._bytes = 0
        self._unread = 0
        self._timer: Any = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override] # as uvicorn's own
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        if not self._awaited:
            self._awaited = True
            self._bytes = 0
        self._bytes += len(data)
        super().data_received(data)
        if self._awaited and self.cycle is not None and self.cycle.response_complete:
            self._unread += len(data)
            if self._unread > LEFT_UNREAD:
                self.transport.abort()
                return
        else:
            self._unread = 0
        if self._awaited and self._timer is None:  # a request that comes at once needs no timer
            self._start()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._awaited = False
        self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._awaited = False
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        self._begin = self.loop.time()
        self._timer = self.loop.call_later(self._limit_s, self._look)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Close the connection, unless enough has come to wait for more."""
        self._timer = None
        if self.transport.is_closing():
            return
        if self.flow.read_paused:
            self._start()
            return
        allowed_s = self._limit_s + self._bytes / LEAST_BYTES_PER_S
        left_s = self._begin + allowed_s - self.loop.time()
        if left_s > 0:
            self._timer = self.loop.call_later(left_s, self._look)
        else:
            self.transport.abort()
