import asyncio
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.errors import StoreUnavailableError
from app.follower import Follower
from app.index.collection import SEAL_ROWS
from app.index.local import LocalIndex
from app.index.snapshots import Snapshots
from app.keeper import Keeper, Keeping
from app.store.base import Change, Cursor, Page, Store, Vector, VectorSpace
from tests.conftest import Unreliable, put
from tests.indexes import EVERYTHING, members, search

EAST, NORTH = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
SPACE = VectorSpace(2, None)
NEVER, NEVER_S, OFTEN_S = 10**9, 10**9, 0.01


def many(n: int, vector: Vector, b: int) -> list[Change]:
    return [put(f"d{i}", {"room": b}, vector=vector) for i in range(n)]


def files(directory: Path, pattern: str = "*") -> set[Path]:
    return set(directory.glob(pattern))


class Asked:
    """A store that notes from where its changes were asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.cursors: list[Cursor | None] = []

    async def changes(self, cursor: Cursor | None) -> Page:
        self.cursors.append(cursor)
        return await self._store.changes(cursor)


class Process:
    """What one process has: an index, and who writes and saves it."""

    def __init__(self, store: Any, directory: Path, *, changes: int = NEVER, interval_s: float = NEVER_S) -> None:
        self.index = LocalIndex()
        self.follower = Follower(store, self.index, NEVER_S)
        snapshots = Snapshots(directory, "the store", True, EVERYTHING)
        self.keeper = Keeper(
            self.index, self.follower, snapshots, EVERYTHING, Keeping(changes, interval_s, look_s=OFTEN_S)
        )

    async def start(self) -> "Process":
        await self.keeper.restore()
        await self.follower.start()
        return self

    async def stop(self) -> None:
        await self.keeper.stop()
        await self.follower.stop()

    async def __aenter__(self) -> "Process":
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


async def test_after_the_first_walk_the_index_is_sealed_and_another_start_goes_on_from_there(
    store: Store, tmp_path: Path
):
    await store.apply("c", many(SEAL_ROWS, EAST, 1), SPACE)
    async with Process(store, tmp_path) as first:
        assert len(first.index["c"].segment) == 0
        await first.keeper.keep()
        assert (len(first.index["c"].segment), first.index["c"].changed) == (SEAL_ROWS, 0)
        await store.apply("c", [put("d0", {"room": 5}, vector=NORTH), Change("d1")], SPACE)
        await first.follower.catch_up()
        before = members(first.index["c"])
    asked = Asked(store)
    async with Process(asked, tmp_path) as second:
        assert None not in asked.cursors
        assert members(second.index["c"]) == before
        assert (before["d0"], before["d2"], "d1" in before, len(before)) == (5, 1, False, SEAL_ROWS - 1)
        assert search(second.index["c"], NORTH, 1) == [("d0", 1.0)]
        assert len(second.index["c"].segment) == SEAL_ROWS


async def test_sealing_again_drops_the_dead_rows(store: Store, tmp_path: Path):
    await store.apply("c", many(SEAL_ROWS, EAST, 1), SPACE)
    async with Process(store, tmp_path) as process:
        await process.keeper.keep()
        await store.apply("c", many(SEAL_ROWS, NORTH, 6), SPACE)
        await process.follower.catch_up()
        process.keeper._seal_from_s = 0.0  # the rest between two sealings is not this test's matter
        await process.keeper.keep()
        assert (len(process.index["c"].segment), process.index["c"].changed) == (SEAL_ROWS, 0)
        assert set(members(process.index["c"]).values()) == {6}


async def test_sealing_rests_for_ten_times_as_long_as_it_took(store: Store, tmp_path: Path):
    await store.apply("c", many(SEAL_ROWS, EAST, 1), SPACE)
    async with Process(store, tmp_path) as process:
        begun_s = time.monotonic()
        await process.keeper.keep()
        took_s = time.monotonic() - begun_s
        assert 0 < process.keeper._seal_from_s - time.monotonic() <= 10 * took_s
        segment = process.index["c"].segment
        await store.apply("c", many(SEAL_ROWS, NORTH, 6), SPACE)
        await process.follower.catch_up()
        process.keeper._seal_from_s = time.monotonic() + NEVER_S
        await process.keeper.keep()
        assert process.index["c"].segment is segment


async def test_what_comes_while_the_index_is_sealed_is_not_lost_and_nobody_waits_for_it(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save, go_on, began = Snapshots.save, threading.Event(), threading.Event()

    def save_slowly(*arguments: Any) -> Any:
        began.set()
        assert go_on.wait(10)
        return save(*arguments)

    monkeypatch.setattr(Snapshots, "save", save_slowly)
    await store.apply("c", many(SEAL_ROWS, EAST, 1), SPACE)
    await store.apply("small", [put("a", {"room": 1})])
    async with Process(store, tmp_path) as process:
        keeping = asyncio.create_task(process.keeper.keep())
        assert await asyncio.to_thread(began.wait, 10)
        await store.apply("c", [put("new", {"room": 3}, vector=NORTH), put("d0", {"room": 4}), Change("d1")], SPACE)
        await store.apply("small", [put("a", {"room": 2})])
        await process.follower.catch_up()
        assert members(process.index["c"])["new"] == 3
        go_on.set()
        await keeping
        after = members(process.index["c"])
        assert (after["new"], after["d0"], "d1" in after, len(after)) == (3, 4, False, SEAL_ROWS)
        assert len(process.index["c"].segment) == SEAL_ROWS
        assert members(process.index["small"]) == {"a": 2}


async def test_a_second_process_takes_over_what_the_first_has_sealed(
    store: Store, another_store: Callable[[], Store], tmp_path: Path
):
    await store.apply("c", many(SEAL_ROWS, EAST, 1), SPACE)
    async with Process(store, tmp_path) as first, Process(another_store(), tmp_path) as second:
        await first.keeper.keep()
        written = files(tmp_path)
        await store.apply("c", [put("late", {"room": 2}, vector=NORTH)], SPACE)
        await second.keeper.keep()
        assert files(tmp_path) == written  # it wrote nothing itself
        assert (len(second.index["c"].segment), second.index["c"].changed) == (SEAL_ROWS, 1)
        await first.follower.catch_up()
        assert members(second.index["c"]) == members(first.index["c"])


async def test_while_another_process_saves_nothing_is_done(store: Store, tmp_path: Path):
    await store.apply("c", many(SEAL_ROWS, EAST, 1), SPACE)
    async with Process(store, tmp_path) as process:
        with Snapshots(tmp_path, "the store", True, EVERYTHING).locked():
            await process.keeper.keep()
            assert len(process.index["c"].segment) == 0
        await process.keeper.keep()
        assert len(process.index["c"].segment) == SEAL_ROWS


@pytest.mark.parametrize(("changes", "interval_s"), [(3, NEVER_S), (NEVER, 0.0)])
async def test_changes_are_saved_when_there_are_so_many_or_after_some_time(
    store: Store, tmp_path: Path, changes: int, interval_s: float
):
    async with Process(store, tmp_path, changes=changes, interval_s=interval_s) as process:
        await process.keeper.keep()
        assert files(tmp_path, "current") == set()
        await store.apply("c", [put(f"d{i}", {"room": 1}) for i in range(3)])
        await process.follower.catch_up()
        await process.keeper.keep()
        assert (tmp_path / "current").exists()
        saved = (tmp_path / "current").read_bytes()
        await process.keeper.keep()  # there is nothing new
        assert (tmp_path / "current").read_bytes() == saved


async def test_a_clean_stop_saves_what_changed(store: Store, tmp_path: Path):
    await store.apply("c", [put("a", {"room": 1})])
    process = await Process(store, tmp_path).start()
    process.keeper.start()
    await process.stop()
    asked = Asked(store)
    async with Process(asked, tmp_path) as again:
        assert members(again.index["c"]) == {"a": 1}
    assert None not in asked.cursors


async def test_a_stop_does_not_wait_for_a_new_segment(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    began = threading.Event()

    def save_for_ever(
        _: Snapshots, views: object, cursor: object, to_seal: object, checkpoint: Callable[[], None]
    ) -> None:
        began.set()
        while True:
            checkpoint()
            time.sleep(0.001)

    monkeypatch.setattr(Snapshots, "save", save_for_ever)
    await store.apply("c", many(SEAL_ROWS, EAST, 1), SPACE)
    process = await Process(store, tmp_path).start()
    process.keeper.start()
    assert await asyncio.to_thread(began.wait, 10)
    async with asyncio.timeout(10):
        await process.stop()


async def test_where_nothing_can_be_written_the_index_is_sealed_in_memory(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "index").write_text("a file stands where the directory would")
    await store.apply("c", many(SEAL_ROWS, EAST, 1), SPACE)
    async with Process(store, tmp_path / "index") as process:
        await process.keeper.keep()
        assert (len(process.index["c"].segment), process.index["c"].changed) == (SEAL_ROWS, 0)
        assert set(members(process.index["c"]).values()) == {1}
    assert f"the index cannot be saved in {tmp_path / 'index'}" in caplog.text


async def test_a_damaged_snapshot_is_named_and_the_index_is_read_from_the_store(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    await store.apply("c", many(SEAL_ROWS, EAST, 1), SPACE)
    async with Process(store, tmp_path) as process:
        await process.keeper.keep()
    del process
    (segment,) = files(tmp_path, "*.segment")
    content = segment.read_bytes()
    segment.unlink()
    segment.write_bytes(content[:-100])
    async with Process(store, tmp_path) as again:
        assert f"the snapshot in {tmp_path} cannot be used" in caplog.text
        assert segment.name in caplog.text
        assert set(members(again.index["c"]).values()) == {1}
        await again.keeper.keep()
    assert not segment.exists()
    caplog.clear()
    async with Process(store, tmp_path) as last:
        assert len(last.index["c"].segment) == SEAL_ROWS
    assert not caplog.records


async def test_a_snapshot_of_another_past_is_given_up(store: Store, backend: Any, tmp_path: Path):
    await store.apply("c", many(5, EAST, 1), SPACE)
    process = await Process(store, tmp_path / "index").start()
    await process.stop()
    (tmp_path / "elsewhere").mkdir()
    other = type(backend)(tmp_path / "elsewhere").open()
    await other.apply("c", many(7, EAST, 2), SPACE)
    async with Process(other, tmp_path / "index") as again:
        assert members(again.index["c"]) == {f"d{i}": 2 for i in range(7)}
    await other.close()


async def test_with_the_store_down_at_the_start_the_snapshot_is_served_as_behind(store: Store, tmp_path: Path):
    await store.apply("c", [put("a", {"room": 1})])
    async with Process(store, tmp_path):
        pass
    unreliable = Unreliable(store)
    unreliable.down = True
    async with Process(unreliable, tmp_path) as process:
        assert (members(process.index["c"]), process.follower.caught_up) == ({"a": 1}, False)
        with pytest.raises(StoreUnavailableError):
            await process.follower.catch_up()
        await store.apply("c", [put("b", {"room": 2})])
        unreliable.down = False
        await process.follower.catch_up()
        assert members(process.index["c"]) == {"a": 1, "b": 2}


async def test_an_error_that_nobody_foresaw_is_logged_and_keeping_goes_on(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    save, failures = Snapshots.save, iter([True])

    def fail_once(*arguments: Any) -> Any:
        if next(failures, False):
            raise RuntimeError("unforeseen")
        return save(*arguments)

    monkeypatch.setattr(Snapshots, "save", fail_once)
    await store.apply("c", [put("a", {"room": 1})])
    process = await Process(store, tmp_path, changes=1).start()
    process.keeper.start()
    async with asyncio.timeout(10):
        while not (tmp_path / "current").exists():  # noqa: ASYNC110 - the file has no event to wait for
            await asyncio.sleep(OFTEN_S)
    await process.stop()
    assert [record.levelno for record in caplog.records if record.name == "app.keeper"] == [logging.ERROR]
