"""R4: the power fails; what was on its way to the disk is gone, in part, and may be torn.

With `appendfsync always`, and in a file, no acknowledged change is lost; with `everysec` those of the last seconds are.
Counts are exact in any case. Every server is tried that is installed.
"""

import asyncio
import shutil
import subprocess
import time
from pathlib import Path

from loadtest.reliability.checking import Findings
from loadtest.reliability.nursery import Nursery
from loadtest.reliability.powercut import Power
from loadtest.reliability.result import Result, told
from loadtest.reliability.torture import Torture
from tests.redis_server import RedisServer, packaged_valkey

MAX_AGE_S = 2.0
"""What `everysec` may lose."""


async def run(store: str, directory: Path, short: bool) -> Result:
    """Cuts under a file, or under each server with each way of syncing."""
    cuts = 3 if short else 20
    if store == "sqlite":
        findings, unsynced, _ = await file_cuts(directory, cuts)
        return told(findings, f"{cuts} cuts, {unsynced} unsynced writes")
    results = []
    for command in servers():
        for sync in ("always", "everysec"):
            home = directory / f"{len(results)}"
            home.mkdir()
            findings, unsynced, age_s = await server_cuts(home, command, sync, cuts)
            oldest = f"the oldest {age_s:.1f} s before its cut" if age_s else "none"
            result = told(
                findings, f"{cuts} cuts, {unsynced} unsynced writes, {oldest} lost", may_lose=sync != "always"
            )
            results.append(Result(f"{_version(command)} {sync}: {result.figure}", result.passed and age_s <= MAX_AGE_S))
    return Result("; ".join(result.figure for result in results), all(result.passed for result in results))


def servers() -> list[str]:
    """The servers that are here."""
    found = [shutil.which("redis-server"), shutil.which("valkey-server"), packaged_valkey()]
    return [command for command in found if command]


def _version(command: str) -> str:
    words = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.split()
    return f"{words[0]} {next(word for word in words if word.startswith('v=')).removeprefix('v=')}"


async def server_cuts(directory: Path, command: str, sync: str, cuts: int) -> tuple[Findings, int, float]:
    """What was found at the end, unsynced writes, and by how much the oldest lost change came before its cut."""
    home = directory / "redis"
    power = Power(home / "appendonlydir", directory / "notes", appends=True)
    server = RedisServer(home, ("--appendfsync", sync), power.environment, command)
    unsynced, age_s, found = 0, 0.0, Findings()

    async def disturb(torture: Torture) -> None:
        nonlocal unsynced, age_s
        for _ in range(cuts):
            await asyncio.sleep(torture.random.uniform(0.3, 1.5))
            torture.pause()
            await asyncio.to_thread(server.stop)
            cut_at = time.monotonic()
            await torture.quiet()
            unsynced += power.cut(torture.random)
            await asyncio.to_thread(server.start)
            between = await torture.check()
            age_s = max([age_s, *(cut_at - lost.told_at for lost in between.lost)])
            found.include(between)
            await torture.go_on()

    try:
        server.start()
        with Torture(directory, server.url) as torture:
            findings = await torture.run(0, disturb)
    finally:
        server.stop()
    findings.include(found)
    return findings, unsynced, age_s


async def file_cuts(directory: Path, cuts: int) -> tuple[Findings, int, float]:
    """The same for a file: all that use it die at once."""
    home = directory / "data"
    home.mkdir()
    power = Power(home, directory / "notes", appends=False)
    unsynced, found, findings = 0, Findings(), Findings()
    with (
        Torture(directory, f"sqlite:///{home / 'warp.db'}") as torture,
        Nursery(environment=power.environment) as nursery,
    ):
        for _ in range(cuts):
            for _ in range(torture.writers):
                torture.start_writer(nursery)
            await torture.go_on()
            await asyncio.sleep(torture.random.uniform(0.5, 2.0))
            torture.kill_writers()
            unsynced += power.cut(torture.random)
            findings = await torture.check()
            found.include(findings)
    found.acknowledged = findings.acknowledged
    return found, unsynced, 0.0
