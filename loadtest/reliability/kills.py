"""R3: `kill -9`, of servers under the store and of the service's workers amid POST /ingest; nothing acknowledged is lost.

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

SYNCS = ("always", "everysec")
WORKERS = 2


async def run(store: str, directory: Path, short: bool) -> Result:
    """Servers (or writers) are killed under either way of syncing, then workers."""
    kills, worker_kills = (2, 2) if short else (10, 10)
    results = []
    for sync in SYNCS[:1] if store == "sqlite" else SYNCS:
        name = "writers killed" if store == "sqlite" else f"servers killed, {sync}"
        n = len(SYNCS) * kills if store == "sqlite" else kills
        results.append(_named(f"{n} {name}", await _below(store, directory / sync, sync, n)))
    n = worker_kills
    results.append(_named(f"{n} workers killed", await _workers(store, directory / "workers", n)))
    return Result("; ".join(result.figure for result in results), all(result.passed for result in results))


def _named(what: str, findings: Findings) -> Result:
    result = told(findings)
    return Result(f"{what}: {result.figure}", result.passed)


async def _below(store: str, directory: Path, sync: str, kills: int) -> Findings:
    """Kill what the writers write to, or else the writers."""
    directory.mkdir()
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


async def _workers(store: str, directory: Path, kills: int) -> Findings:
    """Kill one of the service's workers at a time; the service starts another by itself."""
    directory.mkdir()
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
                workers = _workers_of(service.process.pid)
                if len(workers) == WORKERS:
                    os.kill(torture.random.choice(workers), signal.SIGKILL)
                while len(_workers_of(service.process.pid)) < WORKERS:
                    await asyncio.sleep(0.1)
            await asyncio.sleep(2)

        return await torture.run(0, disturb)


def _workers_of(supervisor: int) -> list[int]:
    """Processes that serve; the supervisor has others beside them."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    return [int(child) for child in children if b"spawn_main" in _command_of(child)]


def _command_of(process: str) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return b""
