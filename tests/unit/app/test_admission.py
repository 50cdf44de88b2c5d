import asyncio
import time
from collections.abc import Iterable

import pytest

from app.admission import Admission
from app.errors import OverloadedError
from app.pulse import PERIOD_S, Pulse


class Turns:
    """Requests that take a turn, note their number and end when they are told to."""

    def __init__(self, max_inflight: int = 1, max_queued: int = 10, max_wait_s: float = 60) -> None:
        self.refused = 0
        self.late_s = 0.0
        self.admission = Admission(max_inflight, max_queued, max_wait_s, 100, self._count, lambda: self.late_s)
        self.running: list[int] = []
        self._ends: dict[int, asyncio.Event] = {}

    def _count(self) -> None:
        self.refused += 1

    async def _request(self, number: int) -> None:
        self._ends[number] = asyncio.Event()
        async with self.admission:
            self.running.append(number)
            await self._ends[number].wait()

    async def start(self, numbers: Iterable[int]) -> list[asyncio.Task[None]]:
        """Requests that arrive together."""
        tasks = [asyncio.create_task(self._request(number)) for number in numbers]
        await settled()
        return tasks

    async def end(self, number: int) -> None:
        self._ends[number].set()
        await settled()


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_no_more_run_at_once_than_are_allowed_and_the_rest_follow_in_order():
    turns = Turns(max_inflight=2)
    tasks = await turns.start(range(4))
    assert turns.running == [0, 1]
    await turns.end(1)
    assert turns.running == [0, 1, 2]
    await turns.end(0)
    assert turns.running == [0, 1, 2, 3]
    await turns.end(2)
    await turns.end(3)
    await asyncio.gather(*tasks)
    assert turns.refused == 0


async def test_what_arrives_together_is_counted_together_though_none_of_it_waits():
    """A request that never waits would be over before the next one is looked at, and the queue would seem empty."""
    turns = Turns(max_inflight=1, max_queued=2)

    async def quick() -> None:
        async with turns.admission:
            pass

    outcomes = await asyncio.gather(*(quick() for _ in range(5)), return_exceptions=True)
    assert [type(one) for one in outcomes].count(OverloadedError) == turns.refused == 2


async def test_beyond_the_queue_a_request_is_refused_at_once_and_the_others_go_on():
    turns = Turns(max_inflight=1, max_queued=1)
    tasks = await turns.start(range(3))
    with pytest.raises(OverloadedError):
        await tasks[2]
    with pytest.raises(OverloadedError):
        turns.admission.arrive()
    await turns.end(0)
    assert (turns.running, turns.refused) == ([0, 1], 2)
    turns.admission.arrive()


async def test_without_a_queue_a_free_turn_is_still_taken():
    turns = Turns(max_inflight=1, max_queued=0)
    turns.admission.arrive()
    await turns.start([0])
    assert turns.running == [0]


async def test_who_leaves_the_queue_gives_its_place_to_another():
    turns = Turns(max_inflight=1, max_queued=1)
    tasks = await turns.start(range(2))
    tasks[1].cancel()
    await settled()
    await turns.start([2])
    await turns.end(0)
    assert (turns.running, turns.refused) == ([0, 2], 0)


async def test_a_turn_that_was_just_given_to_one_who_leaves_is_given_on():
    turns = Turns(max_inflight=1)
    tasks = await turns.start(range(3))
    turns.admission.leave()  # as the first does when it ends; the second has its turn, but has not yet run
    tasks[1].cancel()
    await settled()
    assert turns.running == [0, 2]


async def test_who_has_waited_too_long_is_refused_when_its_turn_comes():
    turns = Turns(max_inflight=1, max_wait_s=0)
    tasks = await turns.start(range(2))
    await turns.end(0)
    with pytest.raises(OverloadedError):
        await tasks[1]
    await turns.start([2])
    assert (turns.running, turns.refused) == ([0, 2], 1)


async def test_a_failed_request_gives_its_turn_back():
    turns = Turns(max_inflight=1, max_queued=0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            async with turns.admission:
                _ = 1 / 0


def test_bodies_together_hold_no_more_than_they_may():
    admission = Turns().admission
    admission.hold(60)
    with pytest.raises(OverloadedError):
        admission.hold(41)
    admission.hold(40)
    admission.drop(60)
    admission.hold(60)


def test_many_that_are_still_to_be_read_are_no_load_unless_the_loop_is_late():
    turns = Turns(max_inflight=1, max_queued=2, max_wait_s=1)
    for _ in range(10):
        turns.admission.arrive()
    turns.late_s = 0.6
    with pytest.raises(OverloadedError):
        turns.admission.arrive()
    for _ in range(8):
        turns.admission.depart()
    turns.admission.arrive()  # a late loop alone is no reason: nobody else is there
    assert turns.refused == 1


async def test_a_loop_that_is_held_up_beats_late():
    pulse = Pulse()
    with pulse.beating():
        await asyncio.sleep(3 * PERIOD_S)
        time.sleep(0.3)  # noqa: ASYNC251 - what must not happen
        assert pulse.late_s > 0.2
        await asyncio.sleep(0)
        assert pulse.late_s > 0.2


async def test_nobody_waits_longer_than_is_allowed_even_if_no_turn_ends():
    turns = Turns(max_inflight=1, max_wait_s=0.05)
    (runs,) = await turns.start([0])
    early = await turns.start([1, 2])
    await asyncio.sleep(0.02)
    late = await turns.start([3])
    for waiting in (*early, *late):
        with pytest.raises(OverloadedError):
            await asyncio.wait_for(waiting, 30)
    assert (turns.running, turns.refused) == ([0], 3)
    await turns.end(0)
    await runs
    (next_one,) = await turns.start([4])
    await turns.end(4)
    await next_one


async def test_a_crowd_that_comes_after_a_rest_is_not_taken_for_a_service_that_is_slow(monkeypatch: pytest.MonkeyPatch):
    now = 1e6  # since the machine started; nobody has asked yet
    monkeypatch.setattr("app.admission.monotonic", lambda: now)
    turns = Turns(max_inflight=2, max_wait_s=1)
    for rest_s in (0, 3600):
        now += rest_s
        first = len(turns.running)
        tasks = await turns.start(range(first, first + 6))
        now += 0.01
        await turns.end(first)
        for _ in range(5):
            turns.admission.arrive()
        for number in range(first + 1, first + 6):
            now += 0.01
            await turns.end(number)
        await asyncio.gather(*tasks)
        for _ in range(5):
            turns.admission.depart()
    assert turns.refused == 0


async def test_how_fast_turns_end_is_told_by_those_that_end_while_all_are_taken(monkeypatch: pytest.MonkeyPatch):
    now = 1e6
    monkeypatch.setattr("app.admission.monotonic", lambda: now)
    turns = Turns(max_inflight=1, max_queued=1000, max_wait_s=5000)
    await turns.start(range(400))
    for number in range(150):
        now += 30
        await turns.end(number)
    with pytest.raises(OverloadedError):
        turns.admission.arrive()  # 249 wait for a turn, and one ends every 30 s


class Crowd:
    """Requests that hold up the event loop as long as they last, and note in which round of it they began."""

    def __init__(self, seconds: float, size: int = 8) -> None:
        self.admission = Admission(size, 0, 60, 100, lambda: None, lambda: 0.0)
        self.size = size
        self.seconds = seconds
        self.begun: list[tuple[int, int]] = []
        self._round = 0

    async def _request(self, number: int) -> None:
        async with self.admission:
            self.begun.append((number, self._round))
            time.sleep(self.seconds)  # noqa: ASYNC251 - that is the point

    async def _count_rounds(self) -> None:
        while True:
            self._round += 1
            await asyncio.sleep(0)

    async def come(self, leaving: Iterable[int] = ()) -> None:
        """All at once; some leave again before they have begun."""
        self.begun.clear()
        counting = asyncio.create_task(self._count_rounds())
        tasks = [asyncio.create_task(self._request(number)) for number in range(self.size)]
        await asyncio.sleep(0)
        for number in leaving:
            tasks[number].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        counting.cancel()


async def test_what_takes_long_begins_in_a_round_of_its_own_and_in_order():
    crowd = Crowd(0.02)
    for _ in range(3):  # how long it takes is learnt from the first
        await crowd.come()
    assert [number for number, _ in crowd.begun] == list(range(crowd.size))
    rounds = [round_ for _, round_ in crowd.begun]
    assert rounds == sorted(set(rounds))


async def test_what_is_quick_begins_together():
    crowd = Crowd(0)
    for _ in range(3):
        await crowd.come()
    assert len({round_ for _, round_ in crowd.begun}) <= 3


async def test_who_leaves_before_it_has_begun_gives_its_turn_back():
    crowd = Crowd(0.02)
    for leaving in ((), (0,), (3, 7), range(8), ()):
        await crowd.come(leaving)
        assert [number for number, _ in crowd.begun] == [n for n in range(crowd.size) if n not in leaving]
