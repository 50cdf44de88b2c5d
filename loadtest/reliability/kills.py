"""R3: `kill -9`, of servers under the store and of the service's workers amid POST /ingest; what was told is kept.

A file has no server: there the writers are killed.
"""

import asyncio
import os
import signal
from pathlib import Path

from loadtest.reliability.checking import Findings
from loadtest.reliability.places import Place, place
from loadtest.reliability.result import Result, told
from loadtest.reliability.torture import PREFIX, Torture
from tests.end_to_end.process import running_service
from tests.processes import workers_of

SYNCS = ("always", "everysec")
WORKERS = 2


async def run(store: str, directory: Path, short: bool) -> Result:
    """Servers (or writers) are killed under either way of syncing, then workers."""
    kills = 2 if short else 10
    below_it = {sync: f"servers killed, {sync}" for sync in SYNCS}
    if store == "sqlite":
        below_it = {"always": "writers killed"}
    results = []
    for sync, name in below_it.items():
        n = kills * len(SYNCS) // len(below_it)
        results.append(_named(f"{n} {name}", await below(store, _made(directory / sync), sync, n)))
    results.append(_named(f"{kills} workers killed", await workers(store, _made(directory / "workers"), kills)))
    return Result("; ".join(result.figure for result in results), all(result.passed for result in results))


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def _named(what: str, findings: Findings) -> Result:
    result = told(findings)
    return Result(f"{what}: {result.figure}", result.passed)


async def below(store: str, directory: Path, sync: str, kills: int) -> Findings:
    """Kill what the writers write to, or else the writers."""
    with place(store, directory, "--appendfsync", sync) as at, Torture(directory, at.url) as torture:
        return await torture.run(0, lambda torture: _kill_often(torture, at, kills))


async def _kill_often(torture: Torture, at: Place, kills: int) -> None:
    for _ in range(kills):
        await asyncio.sleep(torture.random.uniform(0.3, 1.0))
        if not at.nodes:
            torture.kill_writer()
            continue
        victim = torture.random.choice(at.nodes)
        await asyncio.to_thread(victim.stop)
        await asyncio.sleep(torture.random.uniform(0, 0.3))
        await asyncio.to_thread(victim.start)
        if at.cluster:
            await asyncio.to_thread(at.cluster.wait_until_ok, 30)
    await asyncio.sleep(1)


async def workers(store: str, directory: Path, kills: int) -> Findings:
    """Kill one of the service's workers at a time; the service starts another by itself."""
    with (
        place(store, directory) as at,
        running_service(
            *(directory, "--workers", str(WORKERS)), WARP_STORE=at.url, WARP_STORE_PREFIX=PREFIX, WARP_ENCODER=""
        ) as service,
        Torture(directory, at.url, service.url) as torture,
    ):

        async def disturb(torture: Torture) -> None:
            for _ in range(kills):
                await asyncio.sleep(torture.random.uniform(0.5, 1.5))
                serving = workers_of(service.process.pid)
                if len(serving) == WORKERS:
                    os.kill(torture.random.choice(serving), signal.SIGKILL)
                while len(workers_of(service.process.pid)) < WORKERS:  # noqa: ASYNC110 - the service starts them
                    await asyncio.sleep(0.1)
            await asyncio.sleep(2)

        return await torture.run(0, disturb)
