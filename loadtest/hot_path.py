"""What /rerank costs above the bare HTTP server, in one run: (a) bare ASGI that reads the same bytes, (b) our /rerank,
(c) plain FastAPI and pydantic that check the same body and answer with a constant.

    python -m loadtest.hot_path                      # the table of the README
    python -m loadtest.hot_path --redis              # labels and counts from a Redis server
    python -m loadtest.hot_path --variants mmr dpp   # other selectors; those that compare embeddings get them
    python -m loadtest.hot_path --growth             # over the number of candidates
    python -m loadtest.hot_path --latency            # open loop at 70% of what the server can do

Servers run on one core and the load on another (Debian: `apt-get install wrk`). All servers run at once and take turns,
round after round; each figure is the median of the rounds, each ratio the median of the ratios in one round. `CPU` is
the server's processor time for one answer, which stays what it is when others use the machine too.
"""

import argparse
import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop

from loadtest import bodies
from loadtest.closed_loop import Rate, measure
from loadtest.open_loop import load_on, message
from loadtest.servers import LOAD_CORE, Server, baseline, service
from tests.redis_server import running_redis
from warp_core import SELECTORS

N = 200
DIMENSION = 384
VARIANTS = ("auto", "w1_minimizer", "w1_mmr", "w1_exact", "wassrank_ot", "js_minimizer", "top_k")
CONNECTIONS = (1, 8, 64)
SIZES = (50, 200, 500, 1000, 2000)
ROUNDS = 3
SHARE = 0.7
"""Of capacity, for the latency."""


@dataclass(frozen=True)
class Case:
    """One line of a table: which server is sent what."""

    name: str
    server: Server
    body: bytes


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redis", action="store_true", help="the service's store is a Redis server")
    parser.add_argument("--variants", nargs="+", default=VARIANTS, choices=["auto", *SELECTORS], metavar="VARIANT")
    parser.add_argument("--growth", action="store_true", help="over the number of candidates")
    parser.add_argument("--latency", action="store_true", help="open loop at 70 %% of capacity")
    parser.add_argument("--seconds", type=float, default=2, help="of each measurement")
    asked = parser.parse_args()
    with _servers(asked.redis) as (echo, plain, ours):
        if asked.growth:
            _growth(echo, plain, ours, asked.seconds)
        elif asked.latency:
            os.sched_setaffinity(0, {LOAD_CORE} & os.sched_getaffinity(0) or os.sched_getaffinity(0))
            uvloop.run(_latency(ours, asked.seconds))
        else:
            _comparison(echo, plain, ours, asked.variants, asked.seconds)


@contextmanager
def _servers(redis: bool) -> Iterator[tuple[Server, Server, Server]]:
    with ExitStack() as opened:
        # What a busy machine holds up, or the measurement before has left behind, is no overload.
        environment = {"WARP_MAX_QUEUE_MS": "10000", "WARP_MAX_QUEUED": "1000"}
        if redis:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="load-")))
            environment["WARP_STORE"] = opened.enter_context(running_redis(folder)).url
        echo, plain = opened.enter_context(baseline("echo")), opened.enter_context(baseline("plain"))
        yield echo, plain, opened.enter_context(service(environment=environment))


def _body(n: int, variant: str) -> bytes:
    compares = variant != "auto" and "embeddings" in SELECTORS[variant].needs
    return bodies.inline(n, variant, dimension=DIMENSION if compares else 0)


def _comparison(echo: Server, plain: Server, ours: Server, variants: Sequence[str], seconds: float) -> None:
    inline, short = bodies.inline(N), bodies.ids_and_scores(N)
    print(f"{N} candidates inline: {len(inline):,} bytes; ids and scores only: {len(short):,} bytes\n")
    _head("connections | server")
    for connections in CONNECTIONS:
        cases = [Case("(a) bare ASGI", echo, inline), Case("(c) plain FastAPI", plain, inline)]
        cases += [Case(f"(b) {variant}, inline", ours, _body(N, variant)) for variant in variants]
        cases.append(Case("(b) auto, ids and scores", ours, short))
        _lines(cases, connections, seconds)


def _growth(echo: Server, plain: Server, ours: Server, seconds: float) -> None:
    _head("candidates | server")
    for n in SIZES:
        inline = bodies.inline(n)
        cases = [
            Case("(a) bare ASGI", echo, inline),
            Case("(c) plain FastAPI", plain, inline),
            Case("(b) inline", ours, inline),
            Case("(b) ids and scores", ours, bodies.ids_and_scores(n)),
        ]
        _lines(cases, 8, seconds, first=str(n))


def _head(first: str) -> None:
    print(f"| {first} | requests/s | p50 ms | p99 ms | CPU us | of (a) | of (c) |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")


def _lines(cases: Sequence[Case], connections: int, seconds: float, first: str | None = None) -> None:
    """Measure all cases in turn, some rounds long, and print a line for each."""
    rounds = [[measure(case.server, case.body, connections, seconds) for case in cases] for _ in range(ROUNDS)]
    for i, case in enumerate(cases):
        rates = [one[i] for one in rounds]
        if any(rate.not_ok for rate in rates):
            raise RuntimeError(f"{case.name}: {sum(rate.not_ok for rate in rates)} answers were no success")
        cells = [
            f"{_median(rates, 'per_s'):,.0f}",
            f"{_median(rates, 'p50_ms'):.2f}",
            f"{_median(rates, 'p99_ms'):.2f}",
            f"{_median(rates, 'cpu_us'):.0f}",
            f"{statistics.median(one[i].per_s / one[0].per_s for one in rounds):.3f}",
            f"{statistics.median(one[i].per_s / one[1].per_s for one in rounds):.2f}",
        ]
        print(f"| {first or connections} | {case.name} | {' | '.join(cells)} |", flush=True)


def _median(rates: Sequence[Rate], figure: str) -> float:
    return statistics.median(getattr(rate, figure) for rate in rates)


async def _latency(ours: Server, seconds: float) -> None:
    """Times of answers at 70% of capacity, and the share of the re-ranking in them.

    How busy that keeps the server's core says more, where the machine changes its speed between the two measurements.
    """
    print("| body | capacity/s | asked/s | core busy | p50 ms | p90 ms | p99 ms | max ms | re-rank p99 below ms |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, body in (("inline", bodies.inline(N)), ("ids and scores", bodies.ids_and_scores(N))):
        capacity = measure(ours, body, 8, seconds).per_s
        before, used_s = _rerank_buckets(ours), ours.cpu_s()
        async with load_on(ours.port) as load:
            answers = await load.run([message("/rerank", body)], SHARE * capacity, 5 * seconds)
        busy = (ours.cpu_s() - used_s) / answers.seconds
        good = answers.of(200)
        if len(good) < len(answers):
            raise RuntimeError(f"not all were answered: {answers.counts()}")
        bound_ms = _bound(before, _rerank_buckets(ours), 0.99) * 1000
        times = " | ".join(f"{good.ms(share):.2f}" for share in (0.5, 0.9, 0.99, 1))
        print(
            f"| {name} | {capacity:,.0f} | {SHARE * capacity:,.0f} | {busy:.0%} | {times} | {bound_ms:g} |", flush=True
        )


def _rerank_buckets(server: Server) -> dict[float, float]:
    """Re-rankings by the bound, in seconds, that they did not exceed."""
    buckets: dict[float, float] = {}
    for line in server.ask("GET", "/metrics")[1].decode().splitlines():
        if line.startswith("warp_rerank_seconds_bucket{"):
            bound = float(line.split('le="')[1].split('"')[0])
            buckets[bound] = buckets.get(bound, 0) + float(line.rsplit(" ", 1)[1])
    return buckets


def _bound(before: dict[float, float], after: dict[float, float], share: float) -> float:
    """The smallest bound that this share of what came between did not exceed."""
    counted = {bound: after[bound] - before.get(bound, 0) for bound in sorted(after)}
    return next(bound for bound, n in counted.items() if n >= share * counted[float("inf")])


if __name__ == "__main__":
    main()
