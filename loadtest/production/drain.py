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
WORKERS = 2
REPLACED_S = 90
REQUEST = message("/rerank", bodies.inline(200))
PER_S = 60


async def run(seconds: float) -> Result:
    """Three replicas behind a balancer are replaced one after the other; two workers of one service likewise."""
    rolled, exits, slowest = await _replicas(seconds / 10)
    restarted = await _workers(seconds / 10)
    lost, lost_by_workers = len(rolled) - len(rolled.of(200)), len(restarted) - len(restarted.of(200))
    figure = (
        f"rolling restart of {REPLICAS} replicas: {lost} of {len(rolled)} lost, exit statuses {exits}, each within "
        f"{slowest:.1f} s; restart of {WORKERS} workers: {lost_by_workers} of {len(restarted)} lost"
    )
    return Result(figure, lost + lost_by_workers == 0 and set(exits) == {0} and slowest <= 10)


async def _replicas(pause_s: float) -> tuple[Answers, list[int], float]:
    with ExitStack() as opened:
        replicas = [opened.enter_context(service()) for _ in range(REPLICAS)]
        exits: list[int] = []
        times: list[float] = []

        async def replace_all() -> None:
            for replica in replicas:
                await asyncio.sleep(pause_s)
                begin = perf_counter()
                replica.process.send_signal(signal.SIGTERM)
                exits.append(await asyncio.to_thread(replica.process.wait))
                times.append(perf_counter() - begin)
                await asyncio.to_thread(replica.start, "/readyz")
            await asyncio.sleep(pause_s)

        async with balancer([replica.port for replica in replicas]) as port, load_on(port) as load:
            answers = await load.run_during([REQUEST], PER_S, asyncio.create_task(replace_all()))
        return answers, exits, max(times)


async def _workers(pause_s: float) -> Answers:
    with service("--workers", str(WORKERS)) as server:
        before = set(children(server.process.pid))

        async def replace_all() -> None:
            await asyncio.sleep(pause_s)
            server.process.send_signal(signal.SIGHUP)
            async with asyncio.timeout(REPLACED_S):
                while len(before - set(children(server.process.pid))) < WORKERS:  # noqa: ASYNC110 - processes
                    await asyncio.sleep(0.1)

        async with load_on(server.port) as load:
            return await load.run_during([REQUEST], PER_S, asyncio.create_task(replace_all()))
