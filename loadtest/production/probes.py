"""R12: liveness never depends on the store; readiness tells it."""

import asyncio
import tempfile
import time
from pathlib import Path
from time import perf_counter

from loadtest.reliability.result import Result
from loadtest.servers import Server, load_population, started
from tests.redis_server import RedisServer


async def run(seconds: float) -> Result:
    """Start without Redis, let it come, go and come again."""
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        redis = RedisServer(Path(folder))
        with started({"WARP_STORE": redis.url}, ready="/livez") as server:
            seen = [_probes(server)]
            redis.start()
            first = await asyncio.to_thread(_until_ready, server)
            load_population(server)
            seen.append(_probes(server))
            redis.stop()
            await asyncio.sleep(1)
            seen.append(_probes(server))
            redis.start()
            again = await asyncio.to_thread(_until_ready, server)
            seen.append(_probes(server))
            redis.stop()
    figure = f"(live, ready) without, with, without, with Redis: {seen}; ready after {first:.1f} and {again:.1f} s"
    return Result(figure, seen == [(200, 503), (200, 200), (200, 503), (200, 200)] and max(first, again) <= 5)


def _probes(server: Server) -> tuple[int, int]:
    return server.ask("GET", "/livez")[0], server.ask("GET", "/readyz")[0]


def _until_ready(server: Server) -> float:
    begin = perf_counter()
    while server.ask("GET", "/readyz")[0] != 200 and perf_counter() < begin + 30:
        time.sleep(0.05)
    return perf_counter() - begin
