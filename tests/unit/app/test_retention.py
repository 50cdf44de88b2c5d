import asyncio
from collections.abc import Callable

import pytest

from app import retention
from app.errors import StoreUnavailableError
from app.retention import Retention


class Purged:
    """A store that answers, refuses or breaks in turn, and then answers for ever."""

    def __init__(self, *answers: int | Exception) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.left: list[int | Exception] = list(answers)

    async def purge(self, *given: object) -> int:
        self.calls.append(given)
        answer = self.left.pop(0) if self.left else 0
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def short_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "INTERVAL_S", 0.005)


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.005)


async def test_the_store_is_purged_again_and_again_with_the_life_that_it_has_by_itself(caplog):
    store = Purged(0, 7)
    running = Retention(store)
    running.start()
    with caplog.at_level("INFO", "app.retention"):
        await eventually(lambda: len(store.calls) >= 4)
    await running.stop()
    assert set(store.calls) == {()}
    assert [record.message for record in caplog.records] == ["forgot 7 deleted documents and counts of zero"]


async def test_a_store_that_refuses_or_breaks_is_purged_the_next_time(caplog):
    store = Purged(StoreUnavailableError("away"), RuntimeError("broken"), 1)
    running = Retention(store)
    running.start()
    await eventually(lambda: len(store.calls) >= 4)
    await running.stop()
    assert [record.message for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == [
        "the store could not be purged: away",
        "the store could not be purged",
    ]


async def test_once_stopped_it_purges_no_more_and_stopping_without_a_start_is_nothing():
    store = Purged()
    await Retention(store).stop()
    running = Retention(store)
    running.start()
    await eventually(lambda: bool(store.calls))
    await running.stop()
    calls = len(store.calls)
    await asyncio.sleep(0.03)
    assert len(store.calls) == calls


async def test_it_stops_in_the_middle_of_a_purge():
    begun = asyncio.Event()

    class Endless:
        async def purge(self) -> int:
            begun.set()
            await asyncio.sleep(3600)
            return 0

    running = Retention(Endless())
    running.start()
    await begun.wait()
    await asyncio.wait_for(running.stop(), 5)


async def test_the_first_purge_comes_within_the_interval_and_not_at_once_for_all(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retention, "INTERVAL_S", 0.2)
    stores = [Purged() for _ in range(20)]
    runnings = [Retention(store) for store in stores]
    for running in runnings:
        running.start()
    await asyncio.sleep(0)
    assert not any(store.calls for store in stores)
    await eventually(lambda: any(store.calls for store in stores))
    early = sum(bool(store.calls) for store in stores)
    await eventually(lambda: all(store.calls for store in stores))
    for running in runnings:
        await running.stop()
    assert early < 20
