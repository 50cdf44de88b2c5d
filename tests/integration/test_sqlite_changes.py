"""Following a SQLite file page by page, also when it is put back to an earlier copy."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.follower import Follower
from app.index import Index
from app.store.base import Change, Cursor, Page
from app.store.sqlite import SqliteStore, reads
from tests.conftest import pages, put, walk
from tests.indexes import members

PAGE = 3
NEVER_S = 3600
OLD = {f"d{i}": i % 7 for i in range(10)}


class Watched(SqliteStore):
    """A store that notes what readers find in the index whenever it is asked for changes."""

    def __init__(self, path: Path, index: Index) -> None:
        super().__init__(path)
        self._index = index
        self.seen: list[dict[str, int]] = []

    async def changes(self, cursor: Cursor | None) -> Page:
        self.seen.append(members(self._index["c"]))
        return await super().changes(cursor)


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "PAGE", PAGE)


def copy(source: Path, target: Path) -> None:
    """What SQLite's `.backup` and `.restore` do, also under those who have the file open."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


@pytest.mark.parametrize("n", [0, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE])
def test_a_walk_ends_at_the_end_wherever_the_last_page_ends(tmp_path: Path, n: int) -> None:
    async def sizes() -> list[int]:
        store = SqliteStore(tmp_path / "warp.db")
        await store.apply("c", [put(f"d{i}") for i in range(n)])
        walked = [len(page.entries) async for page in pages(store)]
        await store.close()
        return walked

    walked = asyncio.run(sizes())
    assert (sum(walked), max(walked)) == (n, min(n, PAGE))


@pytest.mark.parametrize("written_since", [0, 1, 20], ids=["nothing", "less since", "more since"])
async def test_a_follower_of_a_file_that_was_put_back_ends_with_its_documents_and_readers_never_miss_them(
    tmp_path: Path, written_since: int
) -> None:
    file, index = tmp_path / "warp.db", Index()
    store = Watched(file, index)
    follower = Follower(store, index, NEVER_S)
    await store.apply("c", [put(name, {"room": b}) for name, b in OLD.items()])
    copy(file, tmp_path / "copy.db")
    await store.apply("c", [put("d0", {"room": 6}), Change("d1"), *(put(f"new{i}", {"room": 3}) for i in range(5))])
    await follower.catch_up()
    newer, store.seen = members(index["c"]), []

    copy(tmp_path / "copy.db", file)
    since = {f"since{i}": 2 for i in range(written_since)}
    await store.apply("c", [put(name, {"room": b}) for name, b in since.items()])
    await follower.catch_up()
    await store.close()
    assert members(index["c"]) == OLD | since
    assert len(store.seen) > 1
    assert all(seen == newer for seen in store.seen)


async def test_a_file_that_is_put_back_between_two_pages_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "warp.db"
    store = SqliteStore(file)
    await store.apply("c", [put(f"kept {i}") for i in range(PAGE)])
    page = await store.changes(None)
    copy(file, tmp_path / "copy.db")
    await store.apply("c", [put(f"lost {i}") for i in range(2 * PAGE)])
    page = await store.changes(page.cursor)
    assert [entry.id for entry in page.entries] == [f"lost {i}" for i in range(PAGE)]
    copy(tmp_path / "copy.db", file)
    page = await walk(store, page.cursor)
    await store.close()
    assert (page.reset, [entry.id for entry in page.entries]) == (True, [f"kept {i}" for i in range(PAGE)])


async def test_a_deletion_that_is_forgotten_between_two_pages_is_noticed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "warp.db")
    await store.apply("c", [put("kept"), put("gone")])
    cursor = (await walk(store)).cursor
    await store.apply("c", [put(f"new {i}") for i in range(PAGE)])
    await store.apply("c", [Change("gone")])
    await store.apply("c", [put("late")])
    page = await store.changes(cursor)
    assert page.more
    assert [entry.id for entry in page.entries] == [f"new {i}" for i in range(PAGE)]
    await store.purge(0)
    page = await walk(store, page.cursor)
    await store.close()
    assert page.reset
    assert sorted(entry.id for entry in page.entries) == ["kept", "late", *(f"new {i}" for i in range(PAGE))]
