"""uvicorn's protocol, and what only a protocol can do well: it does not wait for ever for the rest of a request, and
what there is no room for costs next to nothing.

For a uvicorn that is started otherwise than by `warp-rerank serve`: `--http app.server:GuardedProtocol`.
"""

from asyncio import Transport
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.admission import Admission

GUARD = "guard"
"""Under this name the application's lifespan state has its `Guard`."""

LEAST_BYTES_PER_S = 16 * 1024
"""A body gets another second for each this many bytes that have come: who sends, however long, is not slow."""

LEFT_UNREAD = 2**20
"""Bytes of a body that may still come once its request is answered; so many, a client has sent before it hears that it
need not go on. uvicorn would read on for ever, at the speed of the line.
"""
LINGER_S = 1.0
"""How long a client that sends on may take to read its answer. Whoever closes while something comes resets the
connection, and an answer that the client has not read is lost.
"""


@dataclass(frozen=True)
class Guard:
    """What the protocol goes by.

    Parameters
    ----------
    receive_timeout_s : how long a request may take to arrive.
    admission : knows whether there is room.
    refusals : by path, what answers in place of the application when there is none.
    """

    receive_timeout_s: float
    admission: Admission
    refusals: Mapping[bytes, ASGIApp]


class GuardedProtocol(HttpToolsProtocol):
    """Closes a connection whose request (head and body) does not arrive in time, or goes on when answered; refuses what
    finds no room.

    The clock runs while something is awaited from the client: not while it is answered, nor while the service itself
    reads no further.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._guard: Guard = self.app_state[GUARD]
        self._app = self.app
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
                self._linger()
                return
        else:
            self._unread = 0
        if self._awaited and self._timer is None:  # a request that comes at once needs no timer
            self._start()

    def on_headers_complete(self) -> None:
        refusal = self._guard.refusals.get(self.url)
        self.app = refusal if refusal and not self._guard.admission.announce() else self._app
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._awaited = False
        self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._awaited = False
        self._stop()
        super().connection_lost(exc)

    def _linger(self) -> None:
        """Read no further, and close the connection in a while."""
        self.transport.pause_reading()
        self._stop()
        self._timer = self.loop.call_later(LINGER_S, self.transport.abort)

    def _start(self) -> None:
        self._begin = self.loop.time()
        self._timer = self.loop.call_later(self._guard.receive_timeout_s, self._look)

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
        allowed_s = self._guard.receive_timeout_s + self._bytes / LEAST_BYTES_PER_S
        left_s = self._begin + allowed_s - self.loop.time()
        if left_s > 0:
            self._timer = self.loop.call_later(left_s, self._look)
        else:
            self.transport.abort()
