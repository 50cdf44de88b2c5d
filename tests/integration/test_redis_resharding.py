"""A cluster's partitions that are on their way from one master to another: nobody who asks for them notices."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis.crc

from app.store import Ack, open_store
from app.store.redis.layout import Keys
from tests.conftest import counted, put
from tests.redis_cluster import Move, RedisCluster, running_cluster
from tests.redis_server import NoServerError

PARTITIONS = 12
IDS = [f"d{i}" for i in range(60)]
AT_ONCE = 8
"""Several connections to each master, for what announces a call that is sent on must not take another one."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    try:
        with running_cluster(tmp_path_factory.mktemp("cluster"), "--appendonly", "yes") as cluster:
            yield cluster
    except NoServerError as error:
        pytest.skip(str(error))


def slots_of(prefix: str) -> list[int]:
    keys = Keys(prefix, PARTITIONS)
    names = [keys.catalog, *(keys.partition("c", p) for p in range(PARTITIONS))]
    return [redis.crc.key_slot(name.encode()) for name in names]


@pytest.mark.parametrize("ack", ["memory", "local"])
async def test_partitions_on_their_way_are_read_and_written_as_ever(
    cluster: RedisCluster, tmp_path: Path, ack: Ack
) -> None:
    prefix = f"test:{tmp_path.name}"
    store = open_store(cluster.url, prefix, partitions=PARTITIONS, ack=ack)

    async def all_that_is_asked(n: int) -> None:
        await asyncio.gather(*(store.apply("c", [put(name, {"room": n % 7}) for name in IDS]) for _ in range(AT_ONCE)))
        await asyncio.gather(*(asks(n) for _ in range(AT_ONCE)))
        assert await store.drift() == []

    async def asks(n: int) -> None:
        assert await counted(store, "c", "room") == {n % 7: len(IDS)}
        assert len(await store.documents("c", IDS)) == len(IDS)
        assert len((await store.changes(None)).entries) == len(IDS)
        assert await store.collections() == ["c"]

    await all_that_is_asked(0)
    first, second, _ = cluster.nodes
    n = 1
    for source, target in ((first, second), (second, first)):
        with ExitStack() as stack:
            moving = stack.enter_context(Move(cluster, source, target))
            slots = sorted({*slots_of(prefix)} & {*cluster.slots_of(source)})
            assert sum(map(moving.begin, slots)) > 0
            await all_that_is_asked(n)
            for slot in slots:
                moving.end(slot)
            await all_that_is_asked(n + 1)
        n += 2
    await store.close()
