"""What every store promises about counts that something else has falsified: they are found, and set right."""

import asyncio
from collections.abc import Callable
from datetime import date

import numpy as np
import pytest

from app.errors import StoreUnavailableError
from app.store.base import Change, Damage, Drift, ExternalTarget, Store, VectorSpace
from app.store.facets import ALL, of_day, of_group
from tests.conftest import Backend, bins_of, counted, put, walk

DAY, FAMILY = of_day(date(2024, 1, 1)), of_group("traveller", "family")
ABOUT = {"timestamp": "2024-01-01", "attributes": {"traveller": "family"}}
EVEN = ExternalTarget((-30, 30), (1, 1))
KINDS = [(facet, entity) for facet in (ALL, DAY, FAMILY) for entity in ("room", "")]


@pytest.mark.parametrize("by", [-3, 10**6])
@pytest.mark.parametrize(("facet", "entity"), KINDS)
async def test_a_falsified_count_of_every_kind_is_found_and_set_right(
    store: Store, backend: Backend, facet: str, entity: str, by: int
) -> None:
    documents = [put(name, {"room": 2, "food": 4}, **ABOUT) for name in ("a", "b", "c", "d")]
    await store.apply("c", documents)
    await store.apply("other", [put("a", {"room": 2}, **ABOUT)])
    backend.miscount("c", entity, 2, by=by, facet=facet)
    drifts = [Drift("c", facet, entity, 2, counted=4 + by, recounted=4)]
    assert await store.drift() == await store.drift() == drifts
    assert await store.repair() == drifts
    assert await store.drift() == await store.repair() == []
    assert await counted(store, "c", entity or None, facet) == ({2: 4} if entity else {2: 4, 4: 4})
    assert await store.apply("c", [Change(change.id) for change in documents]) == ["deleted"] * 4
    assert await store.drift() == []


@pytest.mark.parametrize("facet", [ALL, DAY, FAMILY])
async def test_counts_of_what_nobody_holds_an_opinion_on_are_taken_away(
    store: Store, backend: Backend, facet: str
) -> None:
    await store.apply("c", [put("a", {"room": 2}, **ABOUT)])
    backend.miscount("c", "ghost", 6, by=5, facet=facet)
    backend.miscount("c", "ghost", 0, by=1, facet=facet)
    drifts = [Drift("c", facet, "ghost", b, counted=n, recounted=0) for b, n in ((0, 1), (6, 5))]
    assert await store.repair() == drifts
    assert (await counted(store, "c", "ghost", facet), await store.drift()) == ({}, [])


async def test_all_that_differs_is_found_and_set_right_at_once_in_all_collections(
    store: Store, backend: Backend
) -> None:
    for name in ("one", "two"):
        await store.apply(name, [put("a", {f"e{i}": i % 7 for i in range(30)}, **ABOUT)])
        for i in range(4):
            for facet in (ALL, FAMILY):
                for entity in (f"e{i}", f"ghost {i}", ""):
                    backend.miscount(name, entity, i, by=1 + i, facet=facet)
    found = await store.drift()
    assert [drift.collection for drift in found] == ["one"] * 24 + ["two"] * 24
    assert found == await store.repair()
    assert await store.drift() == []
    assert await counted(store, "two") == {b: 5 if b < 2 else 4 for b in range(7)}


async def test_a_repair_where_nothing_is_wrong_changes_nothing(store: Store) -> None:
    await store.apply("c", [put("a", {"room": 2}, **ABOUT), put("gone", {"room": 2}), Change("gone")])
    cursor = (await walk(store)).cursor
    assert await store.repair() == []
    assert (await walk(store, cursor)).entries == []
    assert await counted(store, "c") == {2: 1}


async def test_a_repair_is_right_while_others_write(
    store: Store, backend: Backend, another_store: Callable[[], Store]
) -> None:
    ids, stop = [f"d{i}" for i in range(30)], asyncio.Event()
    await store.apply("c", [put(name, {"room": 0, "food": 1}, **ABOUT) for name in ids])

    async def write(at: Store, seed: int) -> None:
        rng = np.random.default_rng(seed)
        while not stop.is_set():
            chosen = rng.choice(ids, 5, replace=False).tolist()
            bins = rng.integers(0, 7, (5, 2)).tolist()
            await at.apply(
                "c",
                [
                    Change(name) if r == 6 else put(name, {"room": r, "food": f}, **ABOUT, excluded=f == 6)
                    for name, (r, f) in zip(chosen, bins, strict=True)
                ],
            )
            await asyncio.sleep(0)

    writing = asyncio.gather(*(write(another_store(), seed) for seed in range(2)))
    for i in range(3):
        for facet, entity in KINDS:
            backend.miscount("c", entity, i, by=100, facet=facet)
        repaired = await store.repair()
        assert {(drift.facet, drift.entity) for drift in repaired} == set(KINDS)
        assert {drift.counted - drift.recounted for drift in repaired} == {100}
    stop.set()
    await writing
    assert await store.drift() == []
    held = (await store.documents("c", ids)).values()
    assert sum((await counted(store, "c", "room")).values()) == sum(not one.content.excluded for one in held)


async def test_repairs_at_once_take_a_difference_away_once(
    store: Store, backend: Backend, another_store: Callable[[], Store]
) -> None:
    stores = [store, another_store(), another_store()]
    await store.apply("c", [put(f"d{i}", {f"e{i}": 3}, **ABOUT) for i in range(200)])
    for _ in range(3):
        for name in ("e0", "e100", "e199", ""):
            backend.miscount("c", name, 3, by=7)
        told = await asyncio.gather(*(one.repair() for one in stores))
        assert any(told)
        assert await store.drift() == []
        assert await counted(store, "c") == {3: 200}
    assert len(bins_of((await walk(store)).entries)) == 200


GARBAGE = {"no JSON": b"{", "another type": b'{"text": 5}', "nothing": b"", "no text": b"\xff\xfe", "null": b"null"}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
async def test_a_content_that_cannot_be_read_is_named_until_the_document_is_ingested_again(
    store: Store, backend: Backend, garbage: bytes
) -> None:
    """Its opinions are known all the same, and count; no repair can bring its content back."""
    vector, space = np.array([3, 4], np.float32), VectorSpace(2, None)
    bad = put("bad", {"room": 3}, version=5, text="as it was", vector=vector, **ABOUT)
    await store.apply("c", [bad, put("good", {"room": 3}, text="as it is")], space)
    cursor = (await walk(store)).cursor
    backend.garble("c", "bad", garbage)
    found = [Damage("c", "content", "bad")]
    for _ in range(2):
        assert await store.drift() == await store.repair() == found
    assert str(found[0]) == "c: the content of document bad cannot be read: ingest it again, or delete it"
    assert await counted(store, "c", "room") == {3: 2}
    with pytest.raises(StoreUnavailableError, match=r"cannot be read|Could not decode"):
        await store.document("c", "bad")
    again = put("bad", {"room": 3}, version=5, text="as it was", **ABOUT)
    assert await store.apply("c", [again]) == ["updated"]
    assert await store.drift() == []
    assert await store.apply("c", [again]) == ["unchanged"]
    stored = await store.document("c", "bad")
    assert stored
    assert (stored.version, stored.content) == (5, again.content)
    assert await counted(store, "c", "room") == {3: 2}
    (entry,) = (entry for entry in (await walk(store, cursor)).entries if entry.id == "bad")
    assert entry.vector is not None
    assert entry.vector.tolist() == [3, 4]


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
@pytest.mark.parametrize("target", [EVEN, None], ids=["given again", "deleted"])
async def test_a_target_that_cannot_be_read_is_named_until_it_is_given_again_or_deleted(
    store: Store, backend: Backend, garbage: bytes, target: ExternalTarget | None
) -> None:
    await store.apply("c", [put("a", {"room": 3})])
    for entity in ("room", "food"):
        await store.put_target("c", entity, EVEN)
    backend.garble_target("c", "room", garbage)
    found = [Damage("c", "target", "room")]
    for _ in range(2):
        assert await store.drift() == await store.repair() == found
    assert str(found[0]) == "c: the target of room cannot be read: give it again, or delete it"
    assert await store.put_target("c", "room", target)
    assert await store.drift() == []
    assert await store.targets("c") == {"food": EVEN, **({"room": target} if target else {})}


@pytest.mark.parametrize("way", ["the same", "another", "deleted"])
async def test_a_document_with_a_damaged_content_may_be_replaced_or_deleted(
    store: Store, backend: Backend, way: str
) -> None:
    await store.apply("c", [put("bad", {"room": 3}), put("good", {"room": 3})])
    backend.garble("c", "bad", b"{")
    change = {"the same": put("bad", {"room": 3}), "another": put("bad", {"room": 4}), "deleted": Change("bad")}[way]
    assert await store.apply("c", [change]) == ["deleted" if way == "deleted" else "updated"]
    assert await store.drift() == []
    left = {"the same": {3: 2}, "another": {3: 1, 4: 1}, "deleted": {3: 1}}[way]
    assert await counted(store, "c", "room") == left
