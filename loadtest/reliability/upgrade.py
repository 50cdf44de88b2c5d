"""R23: while a new version of the service is rolled out, writers of two versions are at work, each with its own scripts."""

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, closing
from hashlib import sha1
from pathlib import Path

import redis

from loadtest.reliability.places import Place, place
from loadtest.reliability.result import Result, told
from loadtest.reliability.torture import ROOT, WRITERS, Nursery, Torture

SCRIPT = Path("app/store/redis/apply.lua")
FLUSH_S = 0.5


async def run(store: str, directory: Path, short: bool) -> Result:
    """Half of the writers have the scripts with another comment, so another hash; servers now and then forget all."""
    other = _other_version(directory / "other")
    both = 0
    with place(store, directory) as at, ExitStack() as stack:
        torture = stack.enter_context(Torture(directory, at.url))
        nursery = stack.enter_context(Nursery(other))
        hashes = [sha1((tree / SCRIPT).read_bytes()).hexdigest() for tree in (ROOT, other)]

        async def forget(_: Torture) -> None:
            nonlocal both
            for _ in range(int((3 if short else 30) / FLUSH_S)):
                await asyncio.sleep(FLUSH_S)
                both += await asyncio.to_thread(_forget, at, hashes)

        findings = await torture.run(0, forget, [nursery] * (WRITERS // 2))
    refused = sum(findings.refused.values())
    result = told(findings, f"{both} times a server had both versions", f"refused {refused}")
    return Result(result.figure, result.passed and both > 0 and not refused)


def _other_version(tree: Path) -> Path:
    for package in ("app", "warp_core"):
        shutil.copytree(ROOT / package, tree / package)
    for script in (tree / SCRIPT).parent.glob("*.lua"):
        script.write_text(f"{script.read_text()}\n-- the next version\n")
    return tree


def _forget(at: Place, hashes: Sequence[str]) -> int:
    """Let the servers forget their scripts; how many had all of these."""
    had = 0
    for node in at.nodes:
        with closing(redis.Redis(port=node.port)) as link:
            had += all(link.script_exists(*hashes))
            link.script_flush()
    return had
