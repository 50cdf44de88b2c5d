"""uvloop, which takes as many new connections as come.

libuv accepts one connection in each round of the event loop since 1.45. A busy round lasts ten milliseconds, so of a
crowd that comes at once the last would wait for seconds, unseen by any limit, and would not even be refused meanwhile.
"""

import asyncio
from typing import Any

import uvloop

ACCEPTS = 32
"""New connections taken in one round: listeners on one and the same socket, each of which takes one."""


class ServiceLoop(uvloop.Loop):
    """For a uvicorn that is started otherwise than by `warp-rerank serve`: `--loop app.event_loop:ServiceLoop`."""

    async def create_server(self, *args: Any, **kwargs: Any) -> Any:
        """As asyncio's, with more than one listener on each socket."""
        first: Any = await super().create_server(*args, **kwargs)
        more: list[Any] = [
            await super(ServiceLoop, self).create_server(
                args[0], sock=socket.dup(), **{k: v for k, v in kwargs.items() if k in ("ssl", "backlog")}
            )
            for socket in first.sockets
            for _ in range(ACCEPTS - 1)
        ]
        return _Listeners(first, more)


class _Listeners:
    """What uvicorn asks of a server, for all of them together."""

    def __init__(self, first: asyncio.Server, more: list[asyncio.Server]) -> None:
        self._all = [first, *more]
        self.sockets = first.sockets

    def close(self) -> None:
        """Take no more connections."""
        for server in self._all:
            server.close()

    async def wait_closed(self) -> None:
        """Wait until none is left."""
        for server in self._all:
            await server.wait_closed()
