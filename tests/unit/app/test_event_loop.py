"""The event loop takes new connections together, however many there are."""

import asyncio
import socket
from contextlib import ExitStack, closing

import pytest
import uvloop

from app.event_loop import ACCEPTS, ServiceLoop


async def rounds_until_accepted(count: int) -> int:
    """Rounds of the event loop in which this many connections are taken that are there already."""
    accepted = 0

    class Accepted(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            nonlocal accepted
            accepted += 1

    server = await asyncio.get_running_loop().create_server(Accepted, "127.0.0.1", 0, backlog=count)
    address = server.sockets[0].getsockname()
    rounds = 0
    with ExitStack() as opened:
        for _ in range(count):
            opened.enter_context(closing(socket.create_connection(address)))
        while accepted < count:
            await asyncio.sleep(0)
            rounds += 1
    server.close()
    await server.wait_closed()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
    return rounds


def test_a_crowd_does_not_wait_for_a_round_each() -> None:
    with asyncio.Runner(loop_factory=ServiceLoop) as runner:
        assert runner.run(rounds_until_accepted(3 * ACCEPTS)) <= 10


def test_that_is_not_so_of_the_loop_below() -> None:
    """When it is, ours is needed no longer."""
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        assert runner.run(rounds_until_accepted(3 * ACCEPTS)) >= 3 * ACCEPTS
