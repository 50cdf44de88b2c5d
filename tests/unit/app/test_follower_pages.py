from collections.abc import Mapping

import pytest

from app.errors import StoreUnavailableError
from app.follower import Follower
from app.index.local import LocalIndex
from app.store.base import Cursor, Page
from tests.indexes import entry, members

NEVER_S = 3600
DOWN = StoreUnavailableError("down for the test")


class Scripted:
    """A store that answers with the next page, or error, of a script."""

    def __init__(self, index: LocalIndex, *answers: Page | StoreUnavailableError) -> None:
        self._index = index
        self._answers = iter(answers)
        self.cursors: list[Cursor] = []
        self.seen: list[dict[str, int]] = []
        """What a reader finds in the index while the store is asked."""

    async def changes(self, cursor: Cursor | None) -> Page:
        self.cursors.append(cursor)
        self.seen.append(members(self._index["c"]))
        answer = next(self._answers)
        if isinstance(answer, Page):
            return answer
        raise answer


def page(cursor: str, bins: Mapping[str, int], *, more: bool = False, reset: bool = False) -> Page:
    return Page([entry(name, bins={"room": b}) for name, b in bins.items()], cursor, more, reset)


def followed(*answers: Page | StoreUnavailableError) -> tuple[LocalIndex, Scripted, Follower]:
    index = LocalIndex()
    store = Scripted(index, *answers)
    return index, store, Follower(store, index, NEVER_S)


async def test_each_page_is_asked_for_with_the_cursor_of_the_one_before():
    index, store, follower = followed(
        page("1", {"a": 0}, more=True), page("2", {}, more=True), page("3", {"b": 1}), page("4", {"a": 6})
    )
    await follower.catch_up()
    assert (store.cursors, members(index["c"])) == ([None, "1", "2"], {"a": 0, "b": 1})
    await follower.catch_up()
    assert (store.cursors[3:], members(index["c"])) == (["3"], {"b": 1, "a": 6})


async def test_a_reset_is_served_once_it_is_whole_and_nothing_older_stays():
    index, store, follower = followed(
        page("9", {"a": 0, "newer": 0}),
        page("1", {"a": 1}, more=True, reset=True),
        page("2", {}, more=True),
        page("3", {"b": 1}),
        page("4", {"c": 2}),
    )
    old = {"a": 0, "newer": 0}
    await follower.catch_up()
    held = index["c"]
    await follower.catch_up()
    assert (store.cursors, store.seen) == ([None, "9", "1", "2"], [{}, old, old, old])
    assert (members(index["c"]), len(index), members(held)) == ({"a": 1, "b": 1}, 2, old)
    await follower.catch_up()
    assert members(index["c"]) == {"a": 1, "b": 1, "c": 2}


async def test_a_reset_to_nothing_leaves_nothing():
    index, _, follower = followed(page("9", {"a": 0}), page("0", {}, reset=True))
    await follower.catch_up()
    await follower.catch_up()
    assert (len(index), members(index["c"])) == (0, {})


async def test_a_second_reset_before_the_first_is_whole_forgets_the_first():
    index, _, follower = followed(
        page("9", {"a": 0}), page("5", {"b": 0}, more=True, reset=True), page("2", {"c": 0}, reset=True)
    )
    await follower.catch_up()
    await follower.catch_up()
    assert members(index["c"]) == {"c": 0}


async def test_a_reset_that_the_store_breaks_off_goes_on_where_it_was():
    index, store, follower = followed(
        page("9", {"a": 0}), page("1", {"b": 0}, more=True, reset=True), DOWN, page("2", {"c": 0})
    )
    await follower.catch_up()
    with pytest.raises(StoreUnavailableError):
        await follower.catch_up()
    assert members(index["c"]) == {"a": 0}
    await follower.catch_up()
    assert (store.cursors[2:], members(index["c"])) == (["1", "1"], {"b": 0, "c": 0})


async def test_the_lag_is_what_the_last_look_found_and_since_when_there_was_nothing_more_to_find():
    _, store, follower = followed(
        page("1", {"a": 0, "b": 0}, more=True), page("2", {"c": 0}), page("3", {}), page("4", {"d": 0}, more=True), DOWN
    )
    assert (follower.lag.events, follower.lag.seconds) == (0, float("inf"))
    await follower.catch_up()
    first = follower.lag.step_s
    assert follower.lag.events == 3
    assert 0 <= follower.lag.seconds < float("inf")
    await follower.catch_up()
    second = follower.lag.step_s
    assert first is not None
    assert second is not None
    assert (follower.lag.events, second > first) == (0, True)
    with pytest.raises(StoreUnavailableError):
        await follower.catch_up()
    assert (follower.lag.events, follower.lag.step_s) == (1, second)
    assert follower.followed == 4
    assert len(store.cursors) == 5
