"""Values in Redis that something else has falsified, or that nobody can read."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.errors import StoreUnavailableError
from app.follower import Follower
from app.index.local import LocalIndex
from app.store.base import Change, CollectionSettings, Damage, Drift, Store
from app.store.redis import recounting
from app.store.redis.server import Script
from tests.conftest import Cluster, Redis, bins_of, counted, put, walk
from tests.indexes import members
from tests.redis_server import NoServerError

NEVER_S = 3600
GARBAGE = [
    *("garbage", ",,,,,,", "1,x,3,4,5,6,7", "5,5,5,5,5,5,", "1,2,3,4,5,6,7,8", "1,2", "x"),
    *("1.5,0,0,0,0,0,0", "0x10,0,0,0,0,0,0", "1e3,0,0,0,0,0,0", "nan,0,0,0,0,0,0", "[1,2]", "\0"),
]


@pytest.fixture(params=[Redis, Cluster], ids=["redis", "cluster"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Redis:
    try:
        return request.param(tmp_path)
    except NoServerError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("by", [-1, 1, 10])
async def test_a_falsified_number_of_documents_is_found_and_set_right(store: Store, backend: Redis, by: int) -> None:
    await store.apply("c", [put(f"d{i}") for i in range(100)])
    await store.apply("c", [Change("d0")])
    place = backend.partition_of("d1")
    seq, chain, documents = backend.state("c", place)
    backend.set_field("c", place, "m", f'[{seq},"{chain}",{documents + by}]')
    drifts = [Drift("c", "", "", 0, counted=99 + by, recounted=99)]
    assert str(drifts[0]) == f"c: documents: {99 + by} counted, 99 stored"
    assert await store.drift() == await store.repair() == drifts
    assert await store.drift() == []
    assert backend.state("c", place) == (seq, chain, documents)


@pytest.mark.parametrize("garbage", GARBAGE)
async def test_counts_that_cannot_be_read_are_found_and_made_anew(store: Store, backend: Redis, garbage: str) -> None:
    names = {"p:room", "p:", "t:738886:", "p:ghost"}
    await store.apply("c", [put(f"d{i}", {"room": 3, "food": 1}, timestamp="2024-01-01") for i in range(30)])
    before = await store.lookup("c", "room", [], ["p:", "t:738886:"])
    for name in names:
        backend.set_field("c", backend.partition_of("d0"), name, garbage)
    found = await store.drift()
    assert {drift.facet + drift.entity for drift in found} == names
    assert await store.repair() == found
    assert await store.drift() == await store.repair() == []
    assert await store.lookup("c", "room", [], ["p:", "t:738886:"]) == before
    assert await counted(store, "c", "ghost") == {}


async def test_a_count_that_cannot_be_read_is_named_and_other_entities_answer(store: Store, backend: Redis) -> None:
    await store.apply("c", [put("a", {"room": 3, "food": 1})])
    backend.set_field("c", backend.partition_of("a"), "p:room", "garbage")
    with pytest.raises(StoreUnavailableError, match=r"'p:room' in collection 'c' cannot be read.*verify"):
        await store.lookup("c", "room", [])
    assert await counted(store, "c", "food") == {1: 1}
    assert await store.documents("c", ["a"])


async def test_a_document_that_cannot_be_read_is_named_keeps_nobody_from_the_others_and_is_forgotten_by_a_repair(
    store: Store, backend: Redis
) -> None:
    neighbours = [name for i in range(200) if backend.partition_of(name := f"d{i}") == backend.partition_of("bad")][:3]
    await store.apply("c", [put(name, {"room": 3}) for name in ("bad", *neighbours)])
    backend.set_field("c", backend.partition_of("bad"), "d:bad", "garbage")
    assert sorted(await store.documents("c", neighbours)) == sorted(neighbours)
    assert len((await store.lookup("c", "room", neighbours)).labels) == 3
    for refused in (
        store.documents("c", ["bad"]),
        store.lookup("c", "room", ["bad"]),
        store.apply("c", [put("bad", {"room": 0})]),
        store.apply("c", [Change("bad")]),
    ):
        with pytest.raises(
            StoreUnavailableError, match=r"'bad' in collection 'c' cannot be read|UNREADABLE the stored document bad"
        ):
            await refused
    index = LocalIndex()
    follower = Follower(store, index, NEVER_S)
    await follower.catch_up()
    assert sorted(members(index["c"])) == sorted(neighbours)

    found = await store.drift()
    assert Drift("c", "", "", 0, counted=4, recounted=3) in found
    assert found[-1] == Damage("c", "document", "bad")
    assert await store.repair() == found
    assert (await store.drift(), await counted(store, "c", "room")) == ([], {3: 3})
    assert await store.apply("c", [put("bad", {"room": 0})]) == ["created"]
    assert await counted(store, "c", "room") == {0: 1, 3: 3}
    await follower.catch_up()
    assert members(index["c"])["bad"] == 0


async def test_a_document_that_cannot_be_read_keeps_no_other_from_following_the_registry(
    store: Store, backend: Redis
) -> None:
    await store.apply("c", [put(f"d{i}", {"brekkie": 3}) for i in range(40)])
    backend.set_field("c", backend.partition_of("d0"), "d:d0", "garbage")
    backend.set_field("c", backend.partition_of("d1"), "c:d1", "garbage")
    merged = CollectionSettings(registry={"breakfast": ("brekkie",)})
    with pytest.raises(StoreUnavailableError, match="'d1' in collection 'c' cannot be read"):
        await store.put_settings("c", merged)
    assert await counted(store, "c", "breakfast") == {3: 38}
    await store.apply("c", [put("d1", {"brekkie": 2})])
    await store.repair()
    assert await store.put_settings("c", merged)
    assert (await counted(store, "c", "breakfast"), await counted(store, "c", "brekkie")) == ({2: 1, 3: 38}, {})
    assert await store.drift() == []


async def test_content_that_cannot_be_read_is_named(store: Store, backend: Redis) -> None:
    await store.apply("c", [put("bad", {"room": 3}), put("good", {"room": 3})])
    backend.set_field("c", backend.partition_of("bad"), "c:bad", '{"text": 5}')
    assert await store.document("c", "good")
    with pytest.raises(StoreUnavailableError, match="'bad' in collection 'c' cannot be read"):
        await store.document("c", "bad")
    assert await store.apply("c", [put("bad", {"room": 0})]) == ["updated"]
    assert await counted(store, "c", "room") == {0: 1, 3: 1}


async def test_a_change_that_would_take_a_count_below_zero_is_refused_until_it_is_repaired(
    store: Store, backend: Redis
) -> None:
    await store.apply("c", [put("a", {"room": 3})])
    counts = ",".join("0" * 7)
    backend.set_field("c", backend.partition_of("a"), "p:room", counts)
    with pytest.raises(StoreUnavailableError, match="below zero"):
        await store.apply("c", [Change("a")])
    assert await store.document("c", "a")
    await store.repair()
    assert await store.apply("c", [Change("a")]) == ["deleted"]
    assert await store.drift() == []


async def test_a_repair_of_more_counts_than_one_call_takes_is_whole(
    store: Store, backend: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recounting, "COUNTS_A_CALL", 3)
    await store.apply("c", [put("a", {f"e{i}": i % 7 for i in range(10)})])
    place = backend.partition_of("a")
    for i in range(8):
        backend.set_field("c", place, f"p:e{i}", "9,9,9,9,9,9,9")
    seq, chain, _ = backend.state("c", place)
    backend.set_field("c", place, "m", f'[{seq},"{chain}",5]')
    assert len(await store.repair()) == 8 * 7 + 1
    assert (await store.drift(), sum((await counted(store, "c")).values())) == ([], 10)


@pytest.mark.parametrize("raw", ["garbage", "[1,2]", "[]", '["a","b",1]', "", "{}"])
async def test_a_state_that_cannot_be_read_is_named_and_made_anew_by_a_repair(
    store: Store, backend: Redis, raw: str
) -> None:
    names = [name for i in range(200) if backend.partition_of(name := f"d{i}") == backend.partition_of("a")][:5]
    await store.apply("c", [put(name, {"room": 3}) for name in ("a", *names)])
    await store.apply("c", [Change(names[0])])
    index = LocalIndex()
    follower = Follower(store, index, NEVER_S)
    await follower.catch_up()
    cursor, place = (await walk(store)).cursor, backend.partition_of("a")
    backend.set_field("c", place, "m", raw)
    with pytest.raises(StoreUnavailableError, match=r"state of a partition cannot be read.*see warp-rerank verify"):
        await store.changes(None)
    assert await counted(store, "c") == {3: 5}
    found = [Damage("c", "state", str(place))]
    assert await store.drift() == found
    assert str(found[0]) == f"c: the state of part {place} cannot be read: a repair makes it anew"
    assert await store.repair() == found
    assert await store.drift() == await store.repair() == []
    assert backend.state("c", place)[2] == 5
    assert await store.apply("c", [put("a", {"room": 4}), Change(names[1])]) == ["updated", "deleted"]
    assert await counted(store, "c") == {3: 3, 4: 1}
    assert (await walk(store, cursor)).reset  # who follows knows a past of which nobody can tell the end
    await follower.catch_up()
    assert members(index["c"]) == {"a": 4, **dict.fromkeys(names[2:], 3)}
    assert await store.drift() == []


async def test_a_slow_repair_of_a_state_takes_nothing_back_that_was_written_since(
    store: Store, backend: Redis, another_store: Callable[[], Store]
) -> None:
    await store.apply("c", [put("a", {"room": 3})])
    place = backend.partition_of("a")
    backend.set_field("c", place, "m", "garbage")
    slow, about_to, go_on = another_store(), asyncio.Event(), asyncio.Event()
    run, restate = slow._server.run, Script("restate.lua")  # type: ignore[attr-defined]

    async def later(script: Script, *arguments: Any) -> Any:
        if script.sha == restate.sha:
            about_to.set()
            await go_on.wait()
        return await run(script, *arguments)

    slow._server.run = later  # type: ignore[attr-defined]
    repairing = asyncio.create_task(slow.repair())
    await asyncio.wait_for(about_to.wait(), 10)
    await store.repair()
    await store.apply("c", [Change("a")])
    state = backend.state("c", place)
    go_on.set()
    assert await asyncio.wait_for(repairing, 10) == []  # by then there is nothing
    assert backend.state("c", place) == state
    assert await store.drift() == []


async def test_a_document_that_a_repair_forgets_leaves_the_indexes_that_follow(store: Store, backend: Redis) -> None:
    await store.apply("c", [put(f"d{i}", {"room": 3}) for i in range(40)])
    index = LocalIndex()
    follower = Follower(store, index, NEVER_S)
    await follower.catch_up()
    cursor = (await walk(store)).cursor
    for name in ("d1", "d2"):
        backend.set_field("c", backend.partition_of(name), f"d:{name}", "garbage")
    await follower.catch_up()
    assert {"d1", "d2"} <= members(index["c"]).keys()  # nobody has told it
    await store.repair()
    await follower.catch_up()
    assert sorted(members(index["c"])) == sorted(f"d{i}" for i in range(40) if i not in (1, 2))
    page = await walk(store, cursor)
    assert (page.reset, {entry.id for entry in page.entries}) == (False, {"d1", "d2"})
    assert await store.drift() == []


async def test_one_who_follows_begins_anew_where_the_log_cannot_be_read(store: Store, backend: Redis) -> None:
    await store.apply("c", [put("a", {"room": 3})])
    cursor = (await walk(store)).cursor
    await store.apply("c", [put("a", {"room": 4})])
    backend.set_field("c", backend.partition_of("a"), "l:2", "garbage")
    page = await walk(store, cursor)
    assert (page.reset, bins_of(page.entries)) == (True, {("c", "a"): {"room": 4}})


async def test_a_target_that_cannot_be_read_is_named_and_other_entities_answer(store: Store, backend: Redis) -> None:
    await store.apply("c", [put("a", {"room": 3, "food": 3})])
    backend.set_field("c", backend.partition_of("room"), "x:room", "[]")
    with pytest.raises(StoreUnavailableError, match="target cannot be read"):
        await store.lookup("c", "room", [])
    assert await counted(store, "c", "food") == {3: 1}
    await store.put_target("c", "room", None)
    assert await counted(store, "c", "room") == {3: 1}
