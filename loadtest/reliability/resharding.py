"""R6: a cluster's slots move from one server to another and back, under load; no writer notices."""

import asyncio
from pathlib import Path

from loadtest.reliability.places import place
from loadtest.reliability.result import Result, told
from loadtest.reliability.torture import Torture
from tests.redis_cluster import Move, RedisCluster
from tests.redis_server import RedisServer


async def run(store: str, directory: Path, short: bool) -> Result:
    """The slots of one server go to the next, and come back."""
    with place(store, directory, "--appendfsync", "everysec") as at, Torture(directory, at.url) as torture:
        cluster = at.cluster
        assert cluster
        first, second, _ = cluster.nodes
        moved, keys = [], []

        async def reshard(_: Torture) -> None:
            await asyncio.sleep(1)
            # All but one, for a master without slots becomes another's replica.
            slots = cluster.slots_of(first)[: 1200 if short else -1]
            for source, target in ((first, second), (second, first)):
                keys.append(await asyncio.to_thread(move, cluster, slots, source, target))
                moved.append(len(slots))
                await asyncio.sleep(1)

        findings = await torture.run(0, reshard)
    refused = sum(findings.refused.values())
    result = told(
        findings, f"{' and '.join(map(str, moved))} slots moved with {sum(keys)} keys, client errors {refused}"
    )
    enough = short or min(moved) >= 5000
    return Result(result.figure, result.passed and not refused and enough and min(keys) > 0)


def move(cluster: RedisCluster, slots: list[int], source: RedisServer, target: RedisServer) -> int:
    """Move slots with their keys; how many keys there were."""
    keys = 0
    with Move(cluster, source, target) as moving:
        for slot in slots:
            keys += moving.begin(slot)
            moving.end(slot)
    return keys
