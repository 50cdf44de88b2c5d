import asyncio
import time
from collections.abc import Callable

import numpy as np
import pytest

from app.errors import StoreUnavailableError
from app.follower import Follower
from app.index import MIN_DEAD, CollectionIndex, Index
from app.store.base import Change, Store, Vector, VectorSpace
from tests.conftest import Unreliable, put
from tests.indexes import members

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
    index = Index()
    follower = Follower(store, index, NEVER_S)
    await store.apply("c", [put("a", {"room": 1}, vector=EAST), put("b", {"room": 2}, vector=NORTH), put("x")], SPACE)
    await store.apply("other", [put("a", {"room": 6})])
    await follower.catch_up()
    assert (members(index["c"]), members(index["other"]), len(index)) == ({"a": 1, "b": 2}, {"a": 6}, 4)

    await store.apply("c", [put("a", {"room": 5}, vector=NORTH), Change("b"), put("x", excluded=True)], SPACE)
    assert members(index["c"]) == {"a": 1, "b": 2}
    await follower.catch_up()
    assert (members(index["c"]), index["c"].search(NORTH, 9)) == ({"a": 5}, [("a", 1.0)])


async def test_replaced_documents_are_compacted_away_and_following_goes_on(store: Store):
    index = Index()
    follower = Follower(store, index, NEVER_S)
    for vector, b in ((EAST, 0), (NORTH, 6)):
        await store.apply("c", many(MIN_DEAD, vector, b), SPACE)
        await follower.catch_up()
    assert not index["c"].needs_compaction()
    rows = index["c"].rows_of([f"d{i}" for i in range(MIN_DEAD)])
    assert sorted(rows.tolist()) == list(range(MIN_DEAD))  # no dead row is left among them
    await store.apply("c", [put("d0", {"room": 3}, vector=EAST), *map(Change, ("d1", "d2"))], SPACE)
    await follower.catch_up()
    assert index["c"].search(EAST, 1) == [("d0", 1.0)]
    assert (len(members(index["c"])), members(index["c"])["d0"], members(index["c"])["d3"]) == (MIN_DEAD - 2, 3, 6)


async def test_catching_up_twice_at_once_indexes_each_document_once(store: Store):
    await store.apply("c", many(1500, EAST, 3), SPACE)
    index = Index()
    follower = Follower(store, index, NEVER_S)
    await asyncio.gather(*(follower.catch_up() for _ in range(4)))
    assert len(index["c"].search(EAST, 2000)) == len(index) == 1500


async def test_what_comes_during_a_slow_compaction_is_not_lost(store: Store, monkeypatch: pytest.MonkeyPatch):
    compacted, delays_s = CollectionIndex.compacted, iter([0.2])

    def compacted_slowly(index: CollectionIndex) -> CollectionIndex:
        fresh = compacted(index)
        time.sleep(next(delays_s, 0))
        return fresh

    monkeypatch.setattr(CollectionIndex, "compacted", compacted_slowly)
    index = Index()
    follower = Follower(store, index, NEVER_S)
    await store.apply("c", many(MIN_DEAD, EAST, 0), SPACE)
    await follower.catch_up()
    await store.apply("c", many(MIN_DEAD, NORTH, 6), SPACE)
    compacting = asyncio.create_task(follower.catch_up())
    await eventually(lambda: index["c"].needs_compaction())
    await store.apply("c", [put("new", {"room": 3})])
    await asyncio.gather(compacting, follower.catch_up())
    assert not index["c"].needs_compaction()
    assert (len(index), members(index["c"])["new"], members(index["c"])["d0"]) == (MIN_DEAD + 1, 3, 6)


async def test_starting_catches_up_first(store: Store):
    await store.apply("c", [put("a", {"room": 1})])
    index = Index()
    follower = Follower(store, index, NEVER_S)
    await follower.start()
    await follower.stop()
    assert members(index["c"]) == {"a": 1}


async def test_what_another_process_writes_is_followed_until_the_stop(store: Store, another_store: Callable[[], Store]):
    index, elsewhere = Index(), another_store()
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
    unreliable, index = Unreliable(store), Index()
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
    unreliable, index = Unreliable(store), Index()
    unreliable.down = True
    follower = Follower(unreliable, index, OFTEN_S)
    await follower.start()
    assert (follower.caught_up, members(index["c"])) == (False, {})
    unreliable.down = False
    await eventually(lambda: follower.caught_up)
    assert members(index["c"]) == {"a": 1}
    await follower.stop()
