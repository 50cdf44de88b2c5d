"""R10: more requests than the service can answer, in an open loop."""

import asyncio

from loadtest import bodies
from loadtest.open_loop import Answers, load_on, message
from loadtest.production.processes import rss_mb
from loadtest.reliability.result import Result
from loadtest.servers import Server, service

FACTORS = (2, 4, 5)
CLIENTS = 8
PROBES = ("/livez", "/metrics")


async def run(seconds: float) -> Result:
    """200 texts compared with the question, at 2, 4 and 5 times what the service can answer."""
    body = bodies.inline(200, "bm25")
    with service() as server:
        peak = await _peak(server, body, min(seconds, 10))
        unloaded, _ = await _at(server, body, 0.5 * peak, seconds)
        await _at(server, body, 2 * peak, 1)  # memory that only overload needs is there from here on
        rss = rss_mb(server)
        parts, passed = [f"peak {peak:.0f}/s, p99 {unloaded.ms(0.99):.0f} ms at half of it"], True
        for factor in FACTORS:
            answers, probes = await _at(server, body, factor * peak, seconds)
            good, refused = answers.of(200), answers.of(429)
            others = len(answers) - len(good) - len(refused)
            parts.append(
                f"{factor}x: {100 * good.per_s / peak:.0f}% of peak, p99 {good.ms(0.99):.0f} ms, "
                f"{len(refused)} refused in {refused.ms(0.99):.0f} ms p99, {others} others, probes {probes:.0f} ms p99"
            )
            passed = passed and (
                good.ms(0.99) <= 3 * unloaded.ms(0.99)
                and good.per_s >= 0.85 * peak
                and refused.ms(0.99) <= 50
                and not others
                and probes <= 100
            )
        grown = rss_mb(server) / rss - 1
        parts.append(f"RSS {100 * grown:+.0f}%")
    return Result("; ".join(parts), passed and grown <= 0.1)


async def _peak(server: Server, body: bytes, seconds: float) -> float:
    """What eight clients that wait for their answers get a second, asked by the process that asks for more later."""
    done = asyncio.Event()
    async with load_on(server.port) as load:
        asking = [asyncio.create_task(load.watch(message("/rerank", body), done, 0)) for _ in range(CLIENTS)]
        await asyncio.sleep(seconds)
        done.set()
        answers = [await task for task in asking]
    return sum(one.of(200).per_s for one in answers)


async def _at(server: Server, body: bytes, per_s: float, seconds: float) -> tuple[Answers, float]:
    """Answers at a rate, and the p99 of probes meanwhile, in milliseconds."""
    done = asyncio.Event()
    async with load_on(server.port) as load:
        probing = [asyncio.create_task(load.watch(message(path), done, 0.05)) for path in PROBES]
        answers = await load.run([message("/rerank", body)], per_s, seconds)
        done.set()
        probes = [await task for task in probing]
    return answers, max(one.ms(0.99) if len(one.of(200)) == len(one) else float("inf") for one in probes)
