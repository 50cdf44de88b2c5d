"""What every store promises to an index that follows it by cursor; in which order documents come is not promised."""

from pathlib import Path

import numpy as np
import pytest

from app.store.base import Change, IndexEntry, Store, VectorSpace
from tests.conftest import Backend, bins_of, pages, put, walk

MANY = 2500
"""More documents than a store should tell in one page."""


def many(b: int, n: int = MANY) -> list[Change]:
    return [put(f"d{i}", {"room": b}) for i in range(n)]


def state(entry: IndexEntry) -> tuple[bool, bool, dict[str, int], int | None, bytes | None]:
    vector = None if entry.vector is None else entry.vector.tobytes()
    return entry.present, entry.excluded, dict(entry.bins), entry.document_bin, vector


async def test_all_documents_come_in_their_present_state(store: Store) -> None:
    vector, space = np.array([0.1, -0.0, 1e-45], np.float32), VectorSpace(3, None)
    await store.apply("c", [put("a", {"room": 1}, vector=vector), put("b", {"room": 2}), put("gone", {"x": 3})], space)
    await store.apply("c", [put("whole", bin=0), put("both", {"room": 2}, bin=6)])
    await store.apply("other", [put("a", {"food": 5}, excluded=True)])
    await store.apply("c", [put("a", {"room": 4, "food": 0}, vector=-vector), Change("gone")], space)
    assert {(e.collection, e.id): state(e) for e in (await walk(store)).entries if e.present} == {
        ("c", "a"): (True, False, {"room": 4, "food": 0}, None, (-vector).tobytes()),
        ("c", "b"): (True, False, {"room": 2}, None, None),
        ("c", "whole"): (True, False, {}, 0, None),
        ("c", "both"): (True, False, {"room": 2}, 6, None),
        ("other", "a"): (True, True, {"food": 5}, None, None),
    }


async def test_past_a_cursor_come_only_the_documents_that_changed_since(store: Store) -> None:
    vector, space = np.ones(2, np.float32), VectorSpace(2, None)
    names = ("same", "twice", "gone", "back", "hidden")
    await store.apply("c", [put(name, {"room": 1}, vector=vector) for name in names], space)
    await store.apply("other", [put("same", {"room": 1})])
    cursor = (await walk(store)).cursor
    await store.apply("c", [put("twice", {"room": 2}), Change("gone"), Change("back")])
    await store.apply("c", [put("twice", {"room": 3}), put("back", bin=4), put("hidden", {"room": 1}, excluded=True)])
    await store.apply("other", [put("new", {"food": 6})])
    assert {(e.collection, e.id): state(e) for e in (await walk(store, cursor)).entries} == {
        ("c", "twice"): (True, False, {"room": 3}, None, None),
        ("c", "gone"): (False, False, {}, None, None),
        ("c", "back"): (True, False, {}, 4, None),
        ("c", "hidden"): (True, True, {"room": 1}, None, None),
        ("other", "new"): (True, False, {"food": 6}, None, None),
    }


async def test_a_cursor_may_be_used_again(store: Store) -> None:
    empty = (await walk(store)).cursor
    await store.apply("c", [put("a", {"room": 1})])
    assert bins_of((await walk(store, empty)).entries) == {("c", "a"): {"room": 1}}
    await store.apply("c", [put("b", {"room": 2})])
    assert bins_of((await walk(store, empty)).entries) == {("c", "a"): {"room": 1}, ("c", "b"): {"room": 2}}


@pytest.mark.parametrize("known", [False, True], ids=["from nothing", "from an older state"])
async def test_many_documents_come_over_all_pages(store: Store, known: bool) -> None:
    await store.apply("c", many(0, 10))
    cursor = (await walk(store)).cursor if known else None
    await store.apply("c", many(5))
    await store.apply("other", many(6, 10))
    expected = {("c", f"d{i}"): {"room": 5} for i in range(MANY)}
    expected |= {("other", f"d{i}"): {"room": 6} for i in range(10)}
    assert bins_of((await walk(store, cursor)).entries) == expected


async def test_what_changes_between_two_pages_is_told_by_the_last(store: Store) -> None:
    await store.apply("c", many(0))
    entries: list[IndexEntry] = []
    async for page in pages(store):
        if not entries:  # of the first and of the last document one is told already, and perhaps one is not
            await store.apply("c", [put("d0", {"room": 6}), put(f"d{MANY - 1}", {"room": 6}), put("new", {"room": 6})])
            await store.apply("c", [Change("d1"), Change(f"d{MANY - 2}")])
        entries += page.entries
    entries += (await walk(store, page.cursor)).entries
    unchanged = {("c", f"d{i}"): {"room": 0} for i in range(2, MANY - 2)}
    assert bins_of(entries) == unchanged | {("c", name): {"room": 6} for name in ("d0", f"d{MANY - 1}", "new")}


@pytest.mark.parametrize(
    "again", [put("d", version=5), put("d", version=4), put("d", text="other", version=5), Change("never was")]
)
async def test_a_change_that_changes_nothing_is_no_news(store: Store, again: Change) -> None:
    await store.apply("c", [put("d", version=5)])
    cursor = (await walk(store)).cursor
    await store.apply("c", [again])
    assert (await walk(store, cursor)).entries == []


@pytest.mark.parametrize("n", [0, 3, 5, 8], ids=["empty", "of less", "of as much", "of more"])
async def test_a_cursor_of_another_store_begins_anew(store: Store, backend: Backend, tmp_path: Path, n: int) -> None:
    await store.apply("c", [put(f"here {i}") for i in range(n)])
    elsewhere = type(backend)(tmp_path / "elsewhere").open()
    await elsewhere.apply("c", [put(f"there {i}") for i in range(5)])
    cursor = (await walk(elsewhere)).cursor
    await elsewhere.close()
    page = await walk(store, cursor)
    assert (page.reset, sorted(entry.id for entry in page.entries)) == (True, [f"here {i}" for i in range(n)])
