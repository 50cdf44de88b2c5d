"""Replicas of one store answer alike, whatever each of them went through."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.follower import Follower
from app.index.collection import SEAL_ROWS
from app.index.local import LocalIndex
from app.index.snapshots import Snapshots
from app.keeper import Keeper, Keeping
from app.store.base import Change, Store, VectorSpace
from app.store.redis import layout
from tests.conftest import put
from tests.indexes import EVERYTHING, members, search, wanted

SPACE = VectorSpace(8, None)
POLL_S, NEVER_S, NEVER = 0.02, 10**9, 10**9
LIMIT_S = 60


class Replica:
    """What a process has of the index; it polls, and saves only when it stops or is told to."""

    def __init__(self, store: Store, directory: Path) -> None:
        self.index = LocalIndex()
        self.follower = Follower(store, self.index, POLL_S)
        snapshots = Snapshots(directory, "the store", True, EVERYTHING)
        self.keeper = Keeper(self.index, self.follower, snapshots, EVERYTHING, Keeping(NEVER, NEVER_S, NEVER_S))

    async def start(self) -> None:
        await self.keeper.restore()
        await self.follower.start()

    async def stop(self) -> None:
        await self.keeper.stop()
        await self.follower.stop()

    async def answers(self) -> tuple[object, ...]:
        """What it would say, to the last bit."""
        index = self.index["c"]
        query = (np.arange(8) / 14.0).astype(np.float32)
        held = await index.held("room", wanted(dict.fromkeys(range(7), query)), 20, {"d3"})
        return search(index, query, 50), held, members(index, "room"), index.entities("", 99), index.counts(None, 7)


async def alike(replicas: list[Replica], expected: int) -> None:
    """Wait until all hold so many documents and answer alike."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            answers = [await replica.answers() for replica in replicas]
            if all(len(one.index) == expected for one in replicas) and all(one == answers[0] for one in answers):
                return
            await asyncio.sleep(POLL_S)


def documents(names: range, seed: int) -> list[Change]:
    rng = np.random.default_rng(seed)
    changes = []
    for i in names:
        vector = rng.integers(-2, 3, 8).astype(np.float32)  # coarse, so that many are equally near
        changes.append(put(f"d{i}", {"room": int(rng.integers(0, 7)), f"e{i % 5}": 3}, vector=vector))
    return changes


async def test_replicas_answer_alike_after_every_change_though_only_one_has_sealed(
    store: Store, another_store: Callable[[], Store], tmp_path: Path
):
    replicas = [Replica(store, tmp_path / "a"), Replica(another_store(), tmp_path / "b")]
    for one in replicas:
        await one.start()
    await store.apply("c", documents(range(SEAL_ROWS + 100), 1), SPACE)
    await alike(replicas, SEAL_ROWS + 100)
    await replicas[0].keeper.keep()
    assert [len(one.index["c"].segment) > 0 for one in replicas] == [True, False]
    await alike(replicas, SEAL_ROWS + 100)
    await store.apply("c", documents(range(0, 500, 3), 2), SPACE)
    await store.apply("c", [Change(f"d{i}") for i in range(100)])
    await store.apply("c", documents(range(50), 3), SPACE)
    await alike(replicas, SEAL_ROWS + 50)
    for one in replicas:
        await one.stop()


async def test_a_replica_that_was_down_starts_from_its_snapshot_and_catches_up(
    store: Store, another_store: Callable[[], Store], tmp_path: Path
):
    steady, other = Replica(store, tmp_path / "a"), Replica(another_store(), tmp_path / "b")
    await steady.start()
    await store.apply("c", documents(range(300), 1), SPACE)
    await other.start()
    await other.stop()
    assert (tmp_path / "b" / "current").exists()
    await store.apply("c", [*documents(range(100, 400), 2), Change("d0")], SPACE)
    again = Replica(another_store(), tmp_path / "b")
    await again.start()
    assert 0 < again.follower.followed <= 301 + 50  # what changed, not all of it again
    await alike([steady, again], 399)
    await steady.stop()
    await again.stop()


async def test_a_replica_that_the_log_has_left_behind_reads_anew(
    store: Store,
    another_store: Callable[[], Store],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    monkeypatch.setattr(layout, "LOG_LENGTH", 4)
    await store.apply("c", documents(range(50), 1), SPACE)
    other = Replica(another_store(), tmp_path / "b")
    await other.start()
    await other.stop()
    for seed in range(6):
        await store.apply("c", documents(range(0, 50, 2), seed + 2), SPACE)
    await store.apply("c", [Change(f"d{i}") for i in range(10)])
    steady, again = Replica(store, tmp_path / "a"), Replica(another_store(), tmp_path / "b")
    await steady.start()
    await again.start()
    await alike([steady, again], 40)
    if "Redis" in type(store).__name__:  # the embedded store forgets nothing
        assert "the index is read anew" in caplog.text
    await steady.stop()
    await again.stop()
