"""The event loop is never held up: liveness while 64 large requests are there."""

import asyncio

from loadtest import bodies
from loadtest.open_loop import load_on, message
from loadtest.production.processes import rss_mb
from loadtest.reliability.result import Result
from loadtest.servers import service

LARGE = 64


async def run(seconds: float) -> Result:
    """64 requests with 2,000 candidates and 384-dimensional embeddings, compared by `mmr`, over and over."""
    request = message("/rerank", bodies.inline(2000, "mmr", dimension=384))
    with service(environment={"WARP_MAX_QUEUE_MS": "60000", "WARP_REQUEST_TIMEOUT_MS": "60000"}) as server:
        rss = rss_mb(server)
        done = asyncio.Event()
        async with load_on(server.port) as load:
            probing = asyncio.create_task(load.watch(message("/livez"), done))
            answers = await asyncio.gather(*(load.ask(request) for _ in range(LARGE)))
            done.set()
            probes = await probing
        grown = rss_mb(server) - rss
    statuses = {status: sum(one.status == status for one in answers) for status in {one.status for one in answers}}
    figure = (
        f"liveness p50 {probes.ms(0.5):.1f}, p99 {probes.ms(0.99):.1f}, max {probes.ms(1):.1f} ms while {LARGE} "
        f"requests of {len(request) / 1e6:.0f} MB are answered {statuses}; memory {grown:+.0f} MB"
    )
    return Result(figure, probes.ms(0.99) < 50 and set(statuses) <= {200, 429})
