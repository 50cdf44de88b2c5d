import asyncio
from collections.abc import Callable

import numpy as np
import pytest

from app.errors import StoreUnavailableError
from app.follower import Follower
from app.index.local import LocalIndex
from app.store.base import Change, Store, Vector, VectorSpace
from tests.conftest import Unreliable, put
from tests.indexes import members, search

EAST, NORTH = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
SPACE = VectorSpace(2, None)
NEVER_S, OFTEN_S = 3600, 0.01


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the index has no event to wait for
            await asyncio.sleep(0.005)


def many(n: int, vector: Vector, b: int) -> list[Change]:
    return [put(f"d{i}", {"room": b}, vector=vector) for i in range(n)]


async def test_what_was_applied_is_in_the_index_after_catching_up(store: Store):
    index = LocalIndex()
    follower = Follower(store, index, NEVER_S)
    await store.apply("c", [put("a", {"room": 1}, vector=EAST), put("b", {"room": 2}, vector=NORTH), put("x")], SPACE)
    await store.apply("other", [put("a", {"room": 6})])
    await follower.catch_up()
    assert (members(index["c"]), members(index["other"]), len(index)) == ({"a": 1, "b": 2}, {"a": 6}, 4)

    await store.apply("c", [put("a", {"room": 5}, vector=NORTH), Change("b"), put("x", excluded=True)], SPACE)
    assert members(index["c"]) == {"a": 1, "b": 2}
    await follower.catch_up()
    assert (members(index["c"]), search(index["c"], NORTH, 9)) == ({"a": 5}, [("a", 1.0)])


async def test_catching_up_twice_at_once_indexes_each_document_once(store: Store):
    await store.apply("c", many(1500, EAST, 3), SPACE)
    index = LocalIndex()
    follower = Follower(store, index, NEVER_S)
    await asyncio.gather(*(follower.catch_up() for _ in range(4)))
    assert len(search(index["c"], EAST, 2000)) == len(index) == 1500


async def test_starting_catches_up_first(store: Store):
    await store.apply("c", [put("a", {"room": 1})])
    index = LocalIndex()
    follower = Follower(store, index, NEVER_S)
    await follower.start()
    await follower.stop()
    assert members(index["c"]) == {"a": 1}


async def test_what_another_process_writes_is_followed_until_the_stop(store: Store, another_store: Callable[[], Store]):
    index, elsewhere = LocalIndex(), another_store()
    follower = Follower(store, index, OFTEN_S)
    await follower.start()
    await elsewhere.apply("c", [put("a", {"room": 1})])
    await eventually(lambda: members(index["c"]) == {"a": 1})
    await elsewhere.apply("c", [Change("a")])
    await eventually(lambda: members(index["c"]) == {})

    await follower.stop()
    await elsewhere.apply("c", [put("a", {"room": 1})])
    await asyncio.sleep(10 * OFTEN_S)
    assert members(index["c"]) == {}


async def test_following_goes_on_after_the_store_was_down(store: Store, caplog: pytest.LogCaptureFixture):
    unreliable, index = Unreliable(store), LocalIndex()
    follower = Follower(unreliable, index, OFTEN_S)
    await follower.start()
    unreliable.down = True
    await eventually(lambda: "cannot follow the store: down for the test" in caplog.text)
    await store.apply("c", [put("a", {"room": 1})])
    with pytest.raises(StoreUnavailableError):
        await follower.catch_up()
    assert (follower.caught_up, members(index["c"])) == (False, {})
    unreliable.down = False
    await eventually(lambda: members(index["c"]) == {"a": 1})
    await follower.stop()


async def test_a_follower_that_starts_while_the_store_is_down_finds_it_later(store: Store):
    await store.apply("c", [put("a", {"room": 1})])
    unreliable, index = Unreliable(store), LocalIndex()
    unreliable.down = True
    follower = Follower(unreliable, index, OFTEN_S)
    await follower.start()
    assert (follower.caught_up, members(index["c"])) == (False, {})
    unreliable.down = False
    await eventually(lambda: follower.caught_up)
    assert members(index["c"]) == {"a": 1}
    await follower.stop()
