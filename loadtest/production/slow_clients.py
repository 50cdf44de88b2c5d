"""R15: clients that begin a request and never end it."""

import asyncio
from time import perf_counter

from loadtest.open_loop import load_on, message
from loadtest.reliability.result import Result
from loadtest.servers import service

CLIENTS = 400
HEAD = b"POST /rerank HTTP/1.1\r\nhost: x\r\n"
BODY = HEAD + b'content-length: 100000\r\n\r\n{"entity": '


async def run(seconds: float) -> Result:
    """400 half-sent heads and bodies; every half of them goes on to send a byte a second."""
    with service() as server:
        done = asyncio.Event()
        async with load_on(server.port) as load:
            probing = asyncio.create_task(load.watch(message("/livez"), done))
            begin = perf_counter()
            parts = [HEAD if i % 2 else BODY for i in range(CLIENTS)]
            ends = await asyncio.gather(*(_end(server.port, part, i % 4 < 2) for i, part in enumerate(parts)))
            done.set()
            probes = await probing
    closed = [end - begin for end in ends if end is not None]
    last = max(closed, default=float("inf"))
    figure = (
        f"{len(closed)} of {CLIENTS} closed, the last after {last:.1f} s; liveness p99 {probes.ms(0.99):.1f} ms, "
        f"{len(probes.of(200))} of {len(probes)} ok"
    )
    passed = len(closed) == CLIENTS and last <= 10 and probes.ms(0.99) <= 100 and len(probes.of(200)) == len(probes)
    return Result(figure, passed)


async def _end(port: int, part: bytes, trickles: bool) -> float | None:
    """When the other side closed the connection; None when it does not within half a minute."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(part)
    try:
        async with asyncio.timeout(30):
            while True:
                try:
                    async with asyncio.timeout(1):
                        await reader.read(1)
                    return perf_counter()
                except TimeoutError:
                    if trickles:
                        writer.write(b"x")
    except TimeoutError:
        return None
    except ConnectionError:
        return perf_counter()
    finally:
        writer.close()
