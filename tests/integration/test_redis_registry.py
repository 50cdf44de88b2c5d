"""Registries that two processes put at the same time, step by step."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app.errors import CollectionChangedError, StoreUnavailableError
from app.store.base import CollectionSettings, ExternalTarget, Store
from app.store.redis.server import Script
from tests.conftest import Redis, counted, put
from tests.redis_server import NoServerError

CLAIM = Script("claim.lua")
PLAIN, MERGED = CollectionSettings(), CollectionSettings(registry={"breakfast": ("brekkie",)})


@pytest.fixture
def backend(tmp_path: Any) -> Redis:
    try:
        return Redis(tmp_path)
    except NoServerError as error:
        pytest.skip(str(error))


def held(store: Any, step: str) -> tuple[asyncio.Event, asyncio.Event]:
    """Hold up a step of a store's catalog: one event tells that it is about to be taken, the other lets it go on."""
    reached, free = asyncio.Event(), asyncio.Event()
    taken: Callable[..., Awaitable[Any]] = getattr(store._catalog, step)

    async def later(*arguments: Any) -> Any:
        reached.set()
        await free.wait()
        return await taken(*arguments)

    setattr(store._catalog, step, later)
    return reached, free


@pytest.mark.parametrize(
    ("slow", "step"),
    [(PLAIN, "followed"), (PLAIN, "put"), (MERGED, "followed"), (MERGED, "put"), (MERGED, "note_followed")],
)
async def test_of_two_registries_the_one_that_stands_is_followed_whichever_process_was_slow(
    another_store: Callable[[], Store], slow: CollectionSettings, step: str
) -> None:
    one, two = another_store(), another_store()
    await one.put_settings("c", PLAIN)
    await one.apply("c", [put(f"d{i}", {"brekkie": 3}) for i in range(30)])
    reached, free = held(two, step)
    putting = asyncio.create_task(two.put_settings("c", slow))
    await asyncio.wait_for(reached.wait(), 10)
    assert await one.put_settings("c", PLAIN if slow is MERGED else MERGED)
    free.set()
    assert await asyncio.wait_for(putting, 10)
    standing = await one.settings("c")
    name = "breakfast" if standing == MERGED else "brekkie"
    assert {n: await counted(one, "c", n) for n in ("breakfast", "brekkie")} == {"breakfast": {}, "brekkie": {}} | {
        name: {3: 30}
    }
    assert await one.drift() == []


def held_at(store: Any, script: Script) -> tuple[asyncio.Event, asyncio.Event]:
    """Hold up a store's first call of a script, as `held` does."""
    reached, free = asyncio.Event(), asyncio.Event()
    run = store._server.run

    async def later(called: Script, *arguments: Any) -> Any:
        if called.sha == script.sha:
            reached.set()
            await free.wait()
        return await run(called, *arguments)

    store._server.run = later
    return reached, free


async def test_a_writer_that_was_slow_takes_no_partition_back_for_rules_that_stand_no_longer(
    another_store: Callable[[], Store],
) -> None:
    """It finds the partitions' new rules while the catalog still tells of the old ones, and then sleeps."""
    changer, slow, quick = another_store(), another_store(), another_store()
    await changer.put_settings("c", PLAIN)
    await changer.apply("c", [put(f"d{i}", {"brekkie": 3}) for i in range(40)])
    about_to_put, put_now = held(changer, "put")
    changing = asyncio.create_task(changer.put_settings("c", MERGED))
    await asyncio.wait_for(about_to_put.wait(), 10)
    about_to_claim, claim_now = held_at(slow, CLAIM)
    writing = asyncio.create_task(slow.apply("c", [put(f"slow{i}", {"brekkie": 5}) for i in range(40)]))
    await asyncio.wait_for(about_to_claim.wait(), 10)
    put_now.set()
    assert await asyncio.wait_for(changing, 10)
    await quick.apply("c", [put(f"quick{i}", {"brekkie": 1}) for i in range(40)])
    claim_now.set()
    assert await asyncio.wait_for(writing, 10) == ["created"] * 40
    await quick.apply("c", [put(f"quick{i}", {"brekkie": 0}) for i in range(40)])
    assert await counted(quick, "c", "brekkie") == {}
    assert await counted(quick, "c", "breakfast") == {3: 40, 5: 40, 0: 40}
    assert await quick.drift() == []


async def test_writers_go_on_after_a_change_that_was_broken_off_and_it_may_be_seen_through_later(
    another_store: Callable[[], Store],
) -> None:
    """The partitions have its rules, the catalog has not, and whoever was at it may only have been slow."""
    changer, writer = another_store(), another_store()
    await changer.put_settings("c", PLAIN)
    await changer.apply("c", [put(f"d{i}", {"brekkie": 3}) for i in range(40)])
    about_to_put, put_now = held(changer, "put")
    changing = asyncio.create_task(changer.put_settings("c", MERGED))
    await asyncio.wait_for(about_to_put.wait(), 10)
    changes = [put(f"new{i}", {"brekkie": 5}) for i in range(40)]
    assert await asyncio.wait_for(writer.apply("c", changes), 10) == ["created"] * 40
    assert await counted(writer, "c", "brekkie") == {3: 40, 5: 40}
    put_now.set()
    assert await asyncio.wait_for(changing, 10)
    assert await writer.settings("c") == MERGED
    assert await counted(writer, "c", "breakfast") == {3: 40, 5: 40}
    assert await writer.drift() == []


async def test_a_writer_that_was_slow_writes_nothing_on_a_scale_that_was_changed_meanwhile(
    another_store: Callable[[], Store],
) -> None:
    changer, slow = another_store(), another_store()
    other = CollectionSettings((0.0, 1.0), None)
    await changer.put_settings("c", PLAIN)
    about_to_put, put_now = held(changer, "put")
    changing = asyncio.create_task(changer.put_settings("c", other))
    await asyncio.wait_for(about_to_put.wait(), 10)
    about_to_claim, claim_now = held_at(slow, CLAIM)
    writing = asyncio.create_task(slow.apply("c", [put("d", {"tea": 6})], None, PLAIN.positions))
    await asyncio.wait_for(about_to_claim.wait(), 10)
    put_now.set()
    assert await asyncio.wait_for(changing, 10)
    claim_now.set()
    with pytest.raises(CollectionChangedError):
        await asyncio.wait_for(writing, 10)
    assert await changer.apply("c", [put("e", {"tea": 1})], None, other.positions) == ["created"]
    assert await counted(changer, "c") == {1: 1}
    assert await changer.drift() == []


TARGET = ExternalTarget(PLAIN.positions, (1.0,) * 7)


async def test_a_target_that_is_given_slowly_is_that_of_the_entity_that_the_name_belongs_to_by_then(
    another_store: Callable[[], Store],
) -> None:
    changer, slow = another_store(), another_store()
    await changer.put_settings("c", PLAIN)
    about_to_put, put_now = held_at(slow, Script("target.lua"))
    putting = asyncio.create_task(slow.put_target("c", "brekkie", TARGET))
    await asyncio.wait_for(about_to_put.wait(), 10)
    assert await changer.put_settings("c", MERGED)
    put_now.set()
    assert await asyncio.wait_for(putting, 10) is False
    assert await changer.targets("c") == {"breakfast": TARGET}


@pytest.mark.parametrize("calls", [1, 2])
async def test_targets_that_were_on_their_way_when_a_change_was_broken_off_arrive_when_it_is_repeated(
    another_store: Callable[[], Store], caplog: Any, calls: int
) -> None:
    changer = another_store()
    for name in ("brekkie", "morning meal"):
        await changer.put_target("c", name, TARGET)
    broken: Any = another_store()
    run, left, script = broken._server.run, [calls], Script("target.lua")

    async def until_then(called: Script, *arguments: Any) -> Any:
        if called.sha == script.sha:
            if not left[0]:
                raise StoreUnavailableError("broken off for the test")
            left[0] -= 1
        return await run(called, *arguments)

    broken._server.run = until_then
    merged = CollectionSettings(registry={"breakfast": ("brekkie", "morning meal")})
    with pytest.raises(StoreUnavailableError):
        await broken.put_settings("c", merged)
    assert await changer.put_settings("c", merged)
    assert await changer.targets("c") == {"breakfast": TARGET}
    assert "is forgotten" not in caplog.text
