"""A small balancer: new connections go, in turn, to those replicas that say that they are ready."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

LOOK_S = 0.05


class Balancer:
    """Passes connections on as they are; knows by /readyz who may get new ones."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self._ready: list[int] = []
        self._next = 0

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a connection, and pass it on."""
        if not self._ready:
            writer.close()
            return
        self._next += 1
        port = self._ready[self._next % len(self._ready)]
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pump(reader, up_writer), _pump(up_reader, writer))

    async def look(self) -> None:
        """See who is ready, over and over."""
        while True:
            answers = await asyncio.gather(*(_is_ready(port) for port in self._ports))
            self._ready = [port for port, ready in zip(self._ports, answers, strict=True) if ready]
            await asyncio.sleep(LOOK_S)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while part := await reader.read(65536):
            writer.write(part)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def _is_ready(port: int) -> bool:
    try:
        async with asyncio.timeout(1):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            head = await reader.read(12)
            writer.close()
    except (OSError, TimeoutError):
        return False
    return head.endswith(b" 200")


@asynccontextmanager
async def balancer(ports: Sequence[int]) -> AsyncIterator[int]:
    """A balancer before these replicas; its port."""
    balancing = Balancer(ports)
    looking = asyncio.create_task(balancing.look())
    server = await asyncio.start_server(balancing.connection, "127.0.0.1", 0)
    await asyncio.sleep(5 * LOOK_S)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        looking.cancel()
        server.close()
