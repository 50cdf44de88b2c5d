"""What every store promises to one who takes all of it elsewhere, and of the deletions that it remembers."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from app.store.base import MAX_VERSION, Change, CollectionSettings, Outcome, Record, Store, VectorSpace
from app.store.facets import ALL, of_day
from tests.conftest import BACKENDS, Backend, bins_of, counted, put, walk
from tests.redis_server import NoServerError

SPACE = VectorSpace(2, "model")
LOW, HIGH = {"room": 0}, {"room": 6}
IDS = ["z", "a", "B", "é", "e\u0301", "\U0001f600", "\uffff", "\x01", "10", "9", "a\0", "a\0b", "a b", "~" * 512]


def history() -> list[Change]:
    """Whatever can happen to a document, under versions of its own."""
    vector = np.array([0.1, -0.0], np.float32)
    changes = [put(name, {"room": i % 7}, version=i, vector=vector * i) for i, name in enumerate(IDS)]
    changes += [put("bare", version=3), put("hidden", HIGH, version=1, vector=vector, excluded=True)]
    changes += [put("late", LOW, version=4), Change("late", version=9), Change("never", version=MAX_VERSION)]
    changes += [put("back", LOW, version=1, vector=vector), Change("back", version=2), put("back", HIGH, version=3)]
    changes += [put("vague", LOW, version=7), Change("vague"), put("z", HIGH, version=2**53 + 1, text="z")]
    return [*changes, put("a", {"room": 1}, version=8), put("stale", HIGH, version=5), put("stale", LOW, version=4)]


async def records(store: Store, collection: str = "c") -> list[Record]:
    return [record async for record in store.records(collection)]


async def test_records_come_in_the_order_of_the_ids_deleted_ones_among_them(store: Store) -> None:
    await store.apply("c", history(), SPACE)
    await store.apply("other", [put("elsewhere", LOW)])
    found = await records(store)
    names = [*IDS, "bare", "hidden", "late", "never", "back", "vague", "stale"]
    assert [record.id for record in found] == sorted(names)
    by_id = {record.id: record for record in found}
    assert (by_id["late"], by_id["never"]) == (Record("late", 9), Record("never", MAX_VERSION))
    assert by_id["vague"] == Record("vague", 7)
    assert by_id["bare"] == Record("bare", 3, put("bare").content, put("bare").fingerprint)
    assert by_id["hidden"].vector == np.array([0.1, -0.0], np.float32).tobytes()
    assert (by_id["back"].version, by_id["back"].vector) == (3, b"")  # what was deleted kept no vector
    assert by_id["a"].vector == np.array([0.1, -0.0], np.float32).tobytes()
    assert (by_id["z"].version, by_id["z"].content.text) == (2**53 + 1, "z")
    assert await records(store, "unknown") == []


async def test_records_of_the_same_history_are_the_same_on_every_store(tmp_path: Path) -> None:
    told = []
    for kind in BACKENDS:
        try:
            store = kind(tmp_path / kind.__name__).open()
        except NoServerError as error:
            pytest.skip(str(error))
        await store.apply("c", history(), SPACE)
        told.append(await records(store))
        await store.close()
    assert all(one == told[0] for one in told)


async def test_the_change_of_a_record_makes_the_same_of_an_empty_store(
    store: Store, backend: Backend, tmp_path: Path
) -> None:
    await store.apply("c", history(), SPACE)
    (tmp_path / "copy").mkdir()
    copy = type(backend)(tmp_path / "copy").open()
    await copy.put_settings("c", CollectionSettings())
    told = await records(store)
    await copy.apply("c", [record.change for record in told], SPACE)
    assert await records(copy) == told
    assert await counted(copy, "c") == await counted(store, "c")
    assert bins_of((await walk(copy)).entries) == bins_of((await walk(store)).entries)
    assert set(await copy.apply("c", [record.change for record in told], SPACE)) == {"unchanged", "absent"}
    await copy.close()


async def test_more_records_than_a_store_reads_at_once_come_once_each(store: Store) -> None:
    names = sorted(f"d{i}" for i in range(2300))
    await store.apply("c", [put(name, LOW) for name in names])
    assert [record.id for record in await records(store)] == names


@pytest.mark.parametrize("known", [True, False], ids=["in a known collection", "in an unknown one"])
@pytest.mark.parametrize(
    "steps",
    [
        [(LOW, 5, "created"), (None, 4, "stale"), (None, 5, "conflict"), (None, 6, "deleted"), (HIGH, 6, "stale")],
        [(LOW, 5, "created"), (None, 6, "deleted"), (None, 6, "absent"), (None, 5, "stale"), (None, 7, "absent")],
        [(LOW, 5, "created"), (None, 6, "deleted"), (None, 8, "absent"), (HIGH, 7, "stale"), (HIGH, 9, "created")],
        [(None, 5, "absent"), (LOW, 4, "stale"), (LOW, 5, "stale"), (LOW, 6, "created")],
        [(None, 5, "absent"), (None, None, "absent"), (LOW, 5, "stale"), (LOW, None, "created"), (HIGH, 5, "stale")],
        [(None, 0, "absent"), (LOW, 0, "stale"), (LOW, 1, "created"), (None, 0, "stale"), (None, None, "deleted")],
        [(None, MAX_VERSION, "absent"), (LOW, MAX_VERSION - 1, "stale"), (LOW, None, "created")],
    ],
)
async def test_a_version_decides_what_a_deletion_deletes(
    store: Store, steps: list[tuple[dict[str, int] | None, int | None, Outcome]], known: bool
) -> None:
    if known:
        await store.put_settings("c", CollectionSettings())
    for bins, version, outcome in steps:
        change = (
            Change("d", version=version) if bins is None else put("d", bins, version=version, timestamp="2024-01-01")
        )
        assert await store.apply("c", [change]) == [outcome]
        stored = await store.document("c", "d")
        held = {} if stored is None else {stored.content.opinions[0].bin: 1}
        assert await counted(store, "c", "room") == await counted(store, "c") == held
    assert await store.drift() == []


async def test_a_higher_version_of_the_same_content_keeps_the_vector_and_other_content_does_not(store: Store) -> None:
    vector, other = np.eye(2, dtype=np.float32)

    async def has() -> tuple[int, bytes]:
        (record,) = await records(store)
        return record.version, record.vector

    await store.apply("c", [put("d", LOW, version=1, vector=vector)], SPACE)
    assert await store.apply("c", [put("d", LOW, version=2)]) == ["updated"]
    assert await has() == (2, vector.tobytes())
    assert await store.apply("c", [put("d", LOW, version=3, vector=other)], SPACE) == ["updated"]
    assert await has() == (3, other.tobytes())
    assert await store.apply("c", [put("d", HIGH, version=4)]) == ["updated"]
    assert await has() == (4, b"")


async def test_old_deletions_are_forgotten_younger_ones_and_documents_are_not(
    store: Store, another_store: Callable[[], Store]
) -> None:
    await store.apply("c", [put("live", LOW, version=1), put("gone", HIGH, version=5, timestamp="2024-01-01")])
    await store.apply("other", [put("gone", HIGH, version=5)])
    await store.apply("c", [Change("gone")])
    await store.purge(3600)
    assert await store.purge() == 0
    assert await store.apply("c", [put("gone", LOW, version=5)]) == ["stale"]
    assert await another_store().purge(0) >= 1
    assert await store.purge(0) == 0
    assert [record.id for record in await records(store)] == ["live"]
    assert (await counted(store, "c"), await counted(store, "other")) == ({0: 1}, {6: 1})
    assert await store.apply("c", [put("gone", LOW, version=5)]) == ["created"]
    assert await counted(store, "c") == {0: 2}
    assert await store.drift() == []


async def test_a_count_of_zero_leaves_nothing_behind_and_others_stay(store: Store) -> None:
    await store.apply("c", [put("a", {f"e{i}": 0}, timestamp="2024-01-01") for i in range(30)])
    await store.apply("c", [put("b", {"e1": 3}, timestamp="2024-01-02")])
    await store.apply("c", [Change("a")])
    await store.purge(0)
    assert await counted(store, "c", "e1") == {3: 1}
    assert await counted(store, "c", None, of_day(date(2024, 1, 2))) == {3: 1}
    assert [await store.purge(0), await store.drift()] == [0, []]


async def test_one_who_had_not_seen_a_deletion_before_it_was_forgotten_still_learns_of_it(store: Store) -> None:
    await store.apply("c", [put("a", LOW), put("b", LOW)])
    cursor = (await walk(store)).cursor
    await store.apply("c", [Change("a")])
    await store.purge(0)
    await store.apply("c", [put("c", LOW)])
    page = await walk(store, cursor)
    left = {("c", "b"): LOW, ("c", "c"): LOW}
    if page.reset:
        assert bins_of(page.entries) == left
    else:
        assert {entry.id for entry in page.entries if not entry.present} == {"a"}
        assert bins_of([*(await walk(store)).entries]) == left
    assert (await walk(store, page.cursor)).entries == []


async def test_one_who_is_up_to_date_need_not_begin_anew_after_a_purge(store: Store) -> None:
    await store.apply("c", [put("a", LOW), put("b", LOW)])
    await store.apply("c", [Change("a")])
    cursor = (await walk(store)).cursor
    await store.purge(0)
    page = await walk(store, cursor)
    assert (page.reset, page.entries) == (False, [])


async def test_the_store_tells_where_a_change_is_when_it_is_answered_for(store: Store, backend: Backend) -> None:
    """A file is on the disk; the tests' servers keep nothing on any."""
    assert await store.acknowledgement() == ("local" if type(backend).__name__ == "Sqlite" else "memory")


async def test_a_collection_whose_documents_are_all_deleted_may_get_another_scale_and_counts_on_it(
    store: Store,
) -> None:
    await store.apply("c", [put("d", HIGH, timestamp="2024-01-01", attributes={"a": "b"})])
    await store.apply("c", [Change("d")])
    for positions in ((0.0, 1.0), tuple(map(float, range(9)))):
        assert await store.put_settings("c", CollectionSettings(positions, None))
        lookup = await store.lookup("c", "room", [], [ALL, of_day(date(2024, 1, 1))])
        assert [*lookup.entity_counts, *lookup.domain_counts] == [[0] * len(positions)] * 4
        assert await store.drift() == await store.repair() == []
        await store.apply("c", [put("d", {"room": len(positions) - 1}, timestamp="2024-01-01")])
        lookup = await store.lookup("c", "room", [], [of_day(date(2024, 1, 1))])
        assert lookup.domain_counts[0] == lookup.entity_counts[0] == [0] * (len(positions) - 1) + [1]
        assert await store.drift() == []
        await store.apply("c", [Change("d")])
