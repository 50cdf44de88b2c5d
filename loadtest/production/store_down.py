"""R9: Redis stops, hangs and falls silent under a load of re-rankings."""

import asyncio
import json
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import msgspec

from loadtest import bodies
from loadtest.open_loop import Answer, Answers, Load, load_on, message
from loadtest.reliability.proxy import Faults, Proxy
from loadtest.reliability.result import Result
from loadtest.servers import load_population, started
from tests.redis_server import RedisServer, free_ports

PER_S = 100
FAULTS = ("stopped", "hung", "black hole")


async def run(seconds: float) -> Result:
    """Each fault for so long, at 100 requests a second, one ingest a second beside."""
    (port,) = free_ports(1)
    parts, passed = [], True
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        redis = RedisServer(Path(folder))
        redis.start()
        with Proxy(port, redis.port) as proxy, started({"WARP_STORE": f"redis://127.0.0.1:{port}/0"}) as server:
            load_population(server)
            begin_end: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
                "stopped": (redis.stop, redis.start),
                "hung": (lambda: _signal(redis, signal.SIGSTOP), lambda: _signal(redis, signal.SIGCONT)),
                "black hole": (lambda: proxy.set(Faults(black_hole=True)), lambda: proxy.set(Faults())),
            }
            async with load_on(server.port) as load:
                normal, _ = await _phase(load, seconds)
                parts.append(f"normal p99 {normal.ms(0.99):.1f} ms")
                for name in FAULTS:
                    begin, end = begin_end[name]
                    await asyncio.to_thread(begin)
                    answers, ingests = await _phase(load, seconds)
                    await asyncio.to_thread(end)
                    recovered_s = await _until_normal(load)
                    degraded = [one for one in answers.of(200).all if json.loads(one.body)["degraded"]]
                    false = sum(one.status == 200 for one in ingests)
                    slowest = max(one.took_s for one in ingests)
                    share = len(answers.of(200)) / len(answers)
                    parts.append(
                        f"{name}: {100 * share:.2f}% of {len(answers)} answered, {len(degraded)} degraded, p99 "
                        f"{answers.ms(0.99):.1f} ms; ingests {sorted({one.status for one in ingests})} within "
                        f"{slowest:.1f} s; normal after {recovered_s:.1f} s"
                    )
                    passed = passed and (
                        share >= 0.999
                        and answers.ms(0.99) <= 1.5 * normal.ms(0.99)
                        and len(degraded) > 0
                        and not false
                        and recovered_s <= 5
                    )
        redis.stop()
    return Result("; ".join(parts), passed)


def _signal(redis: RedisServer, number: signal.Signals) -> None:
    assert redis.process
    redis.process.send_signal(number)


async def _phase(load: Load, seconds: float) -> tuple[Answers, list[Answer]]:
    """Re-rankings of both forms, and ingests meanwhile."""
    requests = [message("/rerank", bodies.inline(200)), message("/rerank", bodies.ids_and_scores(200))]
    ingesting = asyncio.create_task(_ingests(load, seconds))
    return await load.run(requests, PER_S, seconds, steady=True), await ingesting


async def _ingests(load: Load, seconds: float) -> list[Answer]:
    answers, end = [], perf_counter() + seconds
    while perf_counter() < end:
        document = {"id": f"new-{len(answers)}", "opinions": [{"entity": bodies.ENTITY, "si": 0}]}
        body = msgspec.json.encode({"collection": bodies.COLLECTION, "documents": [document]})
        answers.append(await load.ask(message("/ingest", body)))
        await asyncio.sleep(1)
    return answers


async def _until_normal(load: Load) -> float:
    """Seconds until an answer is not degraded any more."""
    begin = perf_counter()
    request = message("/rerank", bodies.ids_and_scores(200))
    while perf_counter() < begin + 30:
        answer = await load.ask(request)
        if answer.status == 200 and not json.loads(answer.body)["degraded"]:
            break
        await asyncio.sleep(0.05)
    return perf_counter() - begin
