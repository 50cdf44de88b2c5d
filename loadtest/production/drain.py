"""R11: the service ends, or is replaced, under load."""

import asyncio
import signal
from contextlib import ExitStack
from time import perf_counter

from loadtest import bodies
from loadtest.open_loop import Answers, load_on, message
from loadtest.production.balancer import balancer
from loadtest.reliability.result import Result
from loadtest.servers import children, service

REPLICAS = 3
PER_S = 60


async def run(seconds: float) -> Result:
    """Three replicas behind a balancer are replaced one after the other; two workers of one service likewise."""
    rolled, exits, slowest = await _replicas(seconds)
    restarted = await _workers(seconds)
    lost, lost_by_workers = len(rolled) - len(rolled.of(200)), len(restarted) - len(restarted.of(200))
    figure = (
        f"rolling restart of {REPLICAS} replicas: {lost} of {len(rolled)} lost, exit statuses {exits}, each within "
        f"{slowest:.1f} s; restart of 2 workers: {lost_by_workers} of {len(restarted)} lost"
    )
    return Result(figure, lost + lost_by_workers == 0 and set(exits) == {0} and slowest <= 10)


async def _replicas(seconds: float) -> tuple[Answers, list[int], float]:
    with ExitStack() as opened:
        replicas = [opened.enter_context(service()) for _ in range(REPLICAS)]
        async with balancer([replica.port for replica in replicas]) as port, load_on(port) as load:
            loading = asyncio.create_task(load.run([message("/rerank", bodies.inline(200))], PER_S, seconds))
            exits, times = [], []
            while not loading.done() and len(exits) < REPLICAS:
                await asyncio.sleep(seconds / (2 * REPLICAS))
                replica = replicas[len(exits)]
                begin = perf_counter()
                replica.process.send_signal(signal.SIGTERM)
                exits.append(await asyncio.to_thread(replica.process.wait))
                times.append(perf_counter() - begin)
                await asyncio.to_thread(replica.start, "/readyz")
            return await loading, exits, max(times)


async def _workers(seconds: float) -> Answers:
    with service("--workers", "2") as server:
        async with load_on(server.port) as load:
            loading = asyncio.create_task(load.run([message("/rerank", bodies.inline(200))], PER_S, max(seconds, 20)))
            await asyncio.sleep(1)
            before = set(children(server.process.pid))
            server.process.send_signal(signal.SIGHUP)
            answers = await loading
            if before & set(children(server.process.pid)):
                raise RuntimeError("the workers were not replaced in time")
    return answers
