"""R5: a cluster of three masters and three replicas loses servers, masters with a replica that lags behind among them.

A change that a second server has (`ack=replica`) is not lost by that. Without, Redis loses what the replica did not get;
how much is told beside it, so that one can see that the fault is a fault. Counts are exact in either case.
"""

import asyncio
import time
from pathlib import Path

from app.errors import StoreUnavailableError
from app.store import open_store
from app.store.base import Change, Document
from loadtest.reliability.checking import Findings
from loadtest.reliability.places import Place, place_behind_proxies
from loadtest.reliability.proxy import Faults, Proxy
from loadtest.reliability.result import Result, told
from loadtest.reliability.torture import Torture

LAG_S = 0.7
BACK_S = 10
"""Within which writes have to be possible again."""
FORMED_S = 60
_PROBES = [Change(f"probe {i}", Document()) for i in range(100)]


async def run(store: str, directory: Path, short: bool) -> Result:
    """Kills of any server, then of masters whose replica was cut off, with `ack=replica` and without."""
    rounds = 1 if short else 10
    parts, passed = [], True
    for name, ack, lagging in (
        ("servers killed", "replica", False),
        ("masters killed whose replica lagged", "replica", True),
        ("the same without ack=replica", None, True),
    ):
        n = rounds if ack else (rounds + 2) // 3
        home = directory / name.replace(" ", "-")
        home.mkdir()
        findings, back_s = await _rounds(store, home, n, ack, lagging)
        result = told(findings, f"writes back after at most {max(back_s):.1f} s", may_lose=ack is None)
        parts.append(f"{n} {name}: {result.figure}")
        passed = passed and result.passed and max(back_s) <= BACK_S
    return Result("; ".join(parts), passed)


async def _rounds(
    store: str, directory: Path, rounds: int, ack: str | None, lagging: bool
) -> tuple[Findings, list[float]]:
    back_s: list[float] = []
    with (
        place_behind_proxies(store, directory, "--appendfsync", "everysec", replicas=1) as (at, _, proxies),
        Torture(directory, at.url, ack=ack) as torture,
    ):

        async def disturb(torture: Torture) -> None:
            for _ in range(rounds):
                await asyncio.sleep(1)
                back_s.append(await _one_round(torture, at, proxies, lagging))

        return await torture.run(0, disturb), back_s


async def _one_round(torture: Torture, at: Place, proxies: list[Proxy], lagging: bool) -> float:
    """One server dies and comes back; how long it took until all of the cluster could be written to."""
    cluster = at.cluster
    assert cluster
    await asyncio.to_thread(cluster.wait_until_ok, FORMED_S)
    masters = await asyncio.to_thread(cluster.current_masters)
    victim = torture.random.choice(masters if lagging else cluster.nodes)
    proxy = proxies[cluster.nodes.index(victim)]
    if lagging:
        proxy.set(Faults(cut_replication=True))
        await asyncio.sleep(LAG_S)
    await asyncio.to_thread(victim.stop)
    proxy.set(Faults())
    begin = time.monotonic()
    await _until_written(at.url)
    back_s = time.monotonic() - begin
    await asyncio.to_thread(victim.start)
    return back_s


async def _until_written(url: str) -> None:
    """Write documents that lie on all servers, until all of them are."""
    store = open_store(url, "probe")
    try:
        while True:
            try:
                await store.apply("probe", _PROBES)
            except StoreUnavailableError:
                await asyncio.sleep(0.05)
            else:
                return
    finally:
        await store.close()
