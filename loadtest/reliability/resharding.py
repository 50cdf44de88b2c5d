"""R6: a cluster's slots move from one server to another and back, under load; no writer notices."""

import asyncio
from contextlib import closing
from pathlib import Path

import redis

from loadtest.reliability.places import place
from loadtest.reliability.result import Result, told
from loadtest.reliability.torture import Torture
from tests.redis_cluster import RedisCluster
from tests.redis_server import RedisServer

_TIMEOUT_MS = 5000


async def run(store: str, directory: Path, short: bool) -> Result:
    """All slots of one server go to the next, and come back."""
    with place(store, directory, "--appendfsync", "everysec") as at, Torture(directory, at.url) as torture:
        cluster = at.cluster
        assert cluster
        first, second, _ = cluster.nodes
        moved, keys = [], []

        async def reshard(_: Torture) -> None:
            await asyncio.sleep(1)
            slots = cluster.slots_of(first)[: 1200 if short else None]
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
    """Move slots with their keys, as `redis-cli --cluster reshard` does; how many keys there were."""
    from_id, to_id = cluster.id_of(source), cluster.id_of(target)
    keys = 0
    with closing(redis.Redis(port=source.port)) as giving, closing(redis.Redis(port=target.port)) as taking:
        for slot in slots:
            taking.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", from_id)
            giving.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", to_id)
            while found := giving.execute_command("CLUSTER GETKEYSINSLOT", slot, 10):
                giving.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, _TIMEOUT_MS, "KEYS", *found)
                keys += len(found)
            for link in (taking, giving):
                link.execute_command("CLUSTER SETSLOT", slot, "NODE", to_id)
    return keys
