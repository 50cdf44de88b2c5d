"""R19: mixed load for long, and whether memory, descriptors, threads and files stay what they are."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from loadtest.open_loop import load_on
from loadtest.production.mixed import Mixed
from loadtest.production.processes import descriptors, rss_mb, threads
from loadtest.reliability.result import Result
from loadtest.servers import Server, service

WARM_UP = 0.25
"""The part of the time in which caches and pools fill."""
SAMPLES = 240
LINES = 20
WARM_AT = 20_000
"""Requests after which the caches are full."""
FILLING_MB, MOST_MB = 40.0, 8.0
"""By which resident memory may grow after the warm-up, while caches fill and then."""
MOST_SHARE = 0.01
"""The same, of all, in 100,000 requests; fewer do not tell."""
REST_S = 3.0
MOST_FILES = 2
"""By which the index's files may be more: one is written before the one before it is removed."""
ENVIRONMENT = {
    "WARP_ENCODER": "wordllama",
    "WARP_SNAPSHOT_CHANGES": "500",  # so that a minute sees what an hour would
    "WARP_SNAPSHOT_INTERVAL_S": "5",
}


@dataclass(frozen=True)
class Held:
    """What the service holds while nobody asks. Index files that are open count among the index files alone, for the
    index has now one, now two.
    """

    descriptors: int
    threads: int
    index_files: int
    store_mb: float


@dataclass(frozen=True)
class Soaked:
    """A run: memory over time after the warm-up, what was held before and after that part, and wrong answers."""

    seconds: Sequence[float]
    rss_mb: Sequence[float]
    before: Held
    after: Held
    warm_up: int
    requests: int
    """Before that part, and in it."""
    wrong: Counter[str]

    @property
    def grown_mb(self) -> float:
        """Growth of resident memory by the straight line through all samples."""
        slope, _ = np.polyfit(self.seconds, self.rss_mb, 1)
        return float(slope * (self.seconds[-1] - self.seconds[0]))

    @property
    def share_in_100k(self) -> float:
        """The same, as a part of all, for 100,000 requests."""
        return self.grown_mb / self.rss_mb[0] * 100_000 / self.requests

    def leaks(self) -> list[str]:
        """What did not stay what it was."""
        found = []
        most_mb = MOST_MB if self.warm_up >= WARM_AT else FILLING_MB
        if self.grown_mb > most_mb or (self.requests >= 100_000 and self.share_in_100k > MOST_SHARE):
            found.append("memory")
        if self.after.descriptors > self.before.descriptors:
            found.append("descriptors")
        if self.after.threads > self.before.threads:
            found.append("threads")
        if self.after.index_files > self.before.index_files + MOST_FILES:
            found.append("index files")
        return found


async def run(seconds: float) -> Result:
    """Mixed load for so long; a line is printed now and then."""
    soaked = await soak(seconds)
    before, after, leaks = soaked.before, soaked.after, soaked.leaks()
    figure = (
        f"{soaked.requests:,} requests after {soaked.warm_up:,} to warm up, "
        f"not as they should be: {dict(soaked.wrong) or 'none'}; "
        f"RSS {soaked.rss_mb[0]:.0f} -> {soaked.rss_mb[-1]:.0f} MB, {soaked.grown_mb:+.1f} by its slope "
        f"({100 * soaked.share_in_100k:+.2f}% in 100,000); descriptors {before.descriptors} -> {after.descriptors}, "
        f"threads {before.threads} -> {after.threads}, index files {before.index_files} -> {after.index_files}, "
        f"store {before.store_mb:.1f} -> {after.store_mb:.1f} MB; leaks: {', '.join(leaks) or 'none'}"
    )
    return Result(figure, not leaks and not soaked.wrong)


async def soak(seconds: float) -> Soaked:
    """Warm up, look at what is held, go on, look again."""
    with service(environment=ENVIRONMENT) as server:
        return await _soak(server, seconds)


async def _soak(server: Server, seconds: float) -> Soaked:
    rng = random.Random(1)
    print("| s | requests | RSS MB | descriptors | threads |\n| ---: | ---: | ---: | ---: | ---: |")
    begin = time.monotonic()
    async with load_on(server.port) as load:
        warm_up = Mixed(load, rng)
        await _during(warm_up, server, WARM_UP * seconds, seconds / LINES, begin)
    before = await _at_rest(server)
    async with load_on(server.port) as load:
        mixed = Mixed(load, rng)
        times, rss = await _during(mixed, server, (1 - WARM_UP) * seconds, seconds / LINES, begin)
    after = await _at_rest(server)
    return Soaked(times, rss, before, after, warm_up.asked, mixed.asked, warm_up.wrong + mixed.wrong)


async def _during(
    mixed: Mixed, server: Server, seconds: float, line_s: float, begin: float
) -> tuple[list[float], list[float]]:
    """Times and resident memory while it is asked; a line is printed now and then."""
    asking = asyncio.create_task(mixed.run(seconds))
    times, rss, next_line = [], [], time.monotonic() + line_s
    while not asking.done():
        await asyncio.wait([asking], timeout=min(1.0, seconds / SAMPLES))
        now = time.monotonic()
        times.append(now - begin)
        rss.append(rss_mb(server))
        if now >= next_line:
            next_line += line_s
            held = f"{descriptors(server)} | {threads(server)}"
            print(f"| {now - begin:.0f} | {mixed.asked} | {rss[-1]:.0f} | {held} |", flush=True)
    await asking
    return times, rss


async def _at_rest(server: Server) -> Held:
    """What is held once nothing has been let go of for a while."""
    data_dir = Path(server.environment["WARP_DATA_DIR"])
    index = data_dir / "index"
    least, since = (descriptors(server, index), threads(server)), time.monotonic()
    while time.monotonic() < since + REST_S:
        await asyncio.sleep(REST_S / 10)
        now = (min(descriptors(server, index), least[0]), min(threads(server), least[1]))
        if now != least:
            least, since = now, time.monotonic()
    return Held(*least, *_files(data_dir))


def _files(data_dir: Path) -> tuple[int, float]:
    """Files of the index, and the store's size in MB."""
    files = sum(1 for file in (data_dir / "index").rglob("*") if file.is_file())
    return files, sum(file.stat().st_size for file in data_dir.glob("warp.db*")) / 1e6
