"""Registries that two processes put at the same time, step by step."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app.store.base import CollectionSettings, Store
from tests.conftest import Redis, counted, put
from tests.redis_server import NoServerError

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
