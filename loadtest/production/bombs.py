"""R14: bodies that are meant to hurt."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from functools import cache

from loadtest import bodies
from loadtest.open_loop import Answers, load_on, message
from loadtest.production.processes import rss_mb
from loadtest.reliability.result import Result
from loadtest.servers import Server, service

SIZE = 200_000_000
PART = b" " * 1_000_000
_HEADERS = {"gzip": "content-encoding: gzip\r\n"}
NEIGHBOURS_PER_S = 100


async def run(seconds: float) -> Result:
    """200 MB with a length and in chunks, 100,000 levels, 5,000 digits, 10,000 candidates, gzip; beside normal load."""
    with service() as server:
        before = await _beside(server, seconds, None)
        rss = rss_mb(server)
        statuses: dict[str, int] = {}
        during = await _beside(server, seconds, statuses)
        grown = rss_mb(server) - rss
    wrong = {name: status for name, status in statuses.items() if not 400 <= status < 500}
    figure = (
        f"{len(statuses)} bombs, statuses {sorted(set(statuses.values()))}, not 4xx: {wrong or 'none'}; "
        f"RSS {grown:+.0f} MB; neighbours p99 {before.ms(0.99):.1f} -> {during.ms(0.99):.1f} ms, "
        f"{len(during.of(200))} of {len(during)} ok"
    )
    passed = not wrong and grown <= 20 and len(during.of(200)) == len(during) and during.ms(0.99) < 50
    return Result(figure, passed)


async def _beside(server: Server, seconds: float, statuses: dict[str, int] | None) -> Answers:
    """Normal requests, while bombs are thrown over and over when there is a place to note what came back."""
    done = asyncio.Event()
    _bodies()
    async with load_on(server.port) as load:
        throwing = asyncio.create_task(_throw(server.port, done, statuses)) if statuses is not None else None
        answers = await load.run([message("/rerank", bodies.inline(200))], NEIGHBOURS_PER_S, seconds)
        done.set()
        if throwing:
            await throwing
    return answers


async def _throw(port: int, done: asyncio.Event, statuses: dict[str, int]) -> None:
    while not done.is_set():
        for name, (headers, parts) in _bombs().items():
            statuses[name] = await _status(port, headers, parts)


@cache
def _bodies() -> dict[str, bytes]:
    """Made once: it takes longer than an answer, and the neighbours are asked for from the same thread."""
    return {
        "gzip": gzip.compress(bodies.inline(200)),
        "deep": b'{"entity":"x","candidates":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "digits": b'{"entity":"x","candidates":[{"score":' + b"9" * 5_000 + b"}]}",
        "candidates": bodies.inline(10_000),
    }


def _bombs() -> dict[str, tuple[str, AsyncIterator[bytes]]]:
    chunk = b"%x\r\n%s\r\n" % (len(PART), PART)
    return {
        "fixed": (f"content-length: {SIZE}\r\n", _repeated(PART, SIZE // len(PART))),
        "chunked": ("transfer-encoding: chunked\r\n", _repeated(chunk, SIZE // len(PART))),
        **{
            name: (_HEADERS.get(name, "") + f"content-length: {len(body)}\r\n", _repeated(body, 1))
            for name, body in _bodies().items()
        },
    }


async def _repeated(part: bytes, times: int) -> AsyncIterator[bytes]:
    for _ in range(times):
        yield part


async def _status(port: int, headers: str, parts: AsyncIterator[bytes]) -> int:
    """The status of a request whose body is sent until an answer comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"POST /rerank HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{headers}\r\n".encode())
    answered = asyncio.create_task(reader.read(12))
    try:
        async for part in parts:
            if answered.done():
                break
            writer.write(part)
            await writer.drain()
    except ConnectionError:
        pass
    head = await answered
    writer.close()
    return int(head[9:12] or 0)
