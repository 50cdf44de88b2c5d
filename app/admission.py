"""How much is worked on at once: a bounded number of requests, a short queue for the next, a bounded sum of bodies.

What comes beyond is refused at once, so that what is accepted is answered as quickly as ever, and memory stays flat. A
request that would wait too long, going by how fast turns end, is beyond it too.

Those whose bodies are still on their way do not wait for a turn, and are no load while their clients are slow. But when
the event loop does not keep up, it is the service that they wait for, and they count.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic

from app.errors import OverloadedError
from app.queue_delay import QueueDelay

PACE_WEIGHT = 0.05
"""Of the last turn in the mean time between the ends of two."""
LEAST_S = 0.001
"""Timers are no finer than that."""
ROUND_S = 0.002
"""What begins in one round of the event loop should take no longer together, if it is more than one request: answers
leave, and probes and what comes next are read, between two rounds. Rounds of one request would cost 5% of the work.
"""
LATE_S = 0.01
"""An event loop that is this late does not keep up."""


class Admission:
    """Turns for requests, in the order in which they came.

    Parameters
    ----------
    max_inflight : requests that are worked on at once.
    max_queued : requests that may wait for their turn.
    max_wait_s : how long they may wait; see `QueueDelay`.
    max_bytes : what all bodies that were read and not yet answered may hold together.
    refused : is told of each that is refused.
    late_s : how long what arrives now has waited for the event loop, in seconds.
    """

    def __init__(
        self,
        max_inflight: int,
        max_queued: int,
        max_wait_s: float,
        max_bytes: int,
        refused: Callable[[], None],
        late_s: Callable[[], float],
    ) -> None:
        self._refused = refused
        self._late_s = late_s
        self._free = self._max_inflight = max_inflight
        self._announced = 0
        self._present = 0
        self._beginning = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._pace_s = 0.0
        self._last_end_s = self._busy_from_s = 0.0
        self._max_queued = max_queued
        self._max_wait_s = max_wait_s
        self._delay = QueueDelay(max_wait_s)
        self._max_bytes = max_bytes
        self._bytes = 0
        self._queue: deque[tuple[asyncio.Future[None], float]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def announce(self) -> bool:
        """A request's head has come: whether there is room for it. Until it arrives it counts among the others that
        were announced in the same round of the event loop.
        """
        if self._would_wait_too_long(self._announced):
            return False
        if not self._announced:
            asyncio.get_running_loop().call_soon(self._all_have_arrived)
        self._announced += 1
        return True

    def _all_have_arrived(self) -> None:
        self._announced = 0

    def arrive(self) -> None:
        """A request is there, its body not yet read; `depart` tells that it is gone again.

        Raises
        ------
        OverloadedError : there is no room.
        """
        if self._would_wait_too_long(0):
            raise self._refusal("too many requests are there already")
        self._present += 1

    def _would_wait_too_long(self, announced: int) -> bool:
        waiting = len(self._queue) - self._free + announced
        if self._late_s() > LATE_S:
            waiting = self._present - self._max_inflight + announced
        before = max(waiting, len(self._queue) + self._beginning + announced)
        return waiting >= self._max_queued or self._delay.is_too_long(before * self._pace_s)

    def depart(self) -> None:
        """A request that had arrived is gone."""
        self._present -= 1

    def hold(self, size: int) -> None:
        """Count `size` bytes more of a body; `drop` takes them back.

        Raises
        ------
        OverloadedError : all bodies together would hold too much.
        """
        if self._bytes + size > self._max_bytes:
            raise self._refusal("the bodies of the requests under way hold as much as they may")
        self._bytes += size

    def drop(self, size: int) -> None:
        """Those bytes are no longer held."""
        self._bytes -= size

    async def __aenter__(self) -> None:
        await self.enter()

    async def __aexit__(self, *error: object) -> None:
        self.leave()

    async def enter(self) -> None:
        """Wait for a turn; `leave` ends it.

        Raises
        ------
        OverloadedError : too many wait already, or it took too long.
        """
        if not self._busy:
            self._busy_from_s = monotonic()
        if self._free:
            self._free -= 1
        else:
            await self._turn()
        try:
            await self._begin()
        except asyncio.CancelledError:
            self.leave()
            raise

    @property
    def _busy(self) -> bool:
        """Whether somebody waits for others, or would."""
        return not self._free or self._beginning > 0

    async def _turn(self) -> None:
        """Wait in the queue until somebody leaves."""
        if len(self._queue) >= self._max_queued:
            raise self._refusal("too many requests are waiting already")
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._queue.append((turn, monotonic()))
        if self._timer is None:
            self._timer = loop.call_later(self._max_wait_s, self._look_at_the_queue)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._queue = deque(waiting for waiting in self._queue if waiting[0] is not turn)
            elif not turn.exception():
                self.leave()  # it had just been given its turn
            raise

    async def _begin(self) -> None:
        """Wait for a round of the event loop in which not much else begins.

        All that arrived together is counted before any of it is worked on. And what never waits would else hold up
        everything, probes and refusals too, for as long as all of it takes together.
        """
        self._beginning += 1
        try:
            if self._beginning == 1:
                await asyncio.sleep(0)
                return
            loop = asyncio.get_running_loop()
            begins: asyncio.Future[None] = loop.create_future()
            if not self._line:
                loop.call_soon(self._begin_some)
            self._line.append(begins)
            await begins
        finally:
            self._beginning -= 1

    def _begin_some(self) -> None:
        """Let begin, in the next round, as many as take no longer than a round should, and go on after that."""
        some = ROUND_S / self._pace_s if self._pace_s else len(self._line)
        for _ in range(min(max(1, int(some)), len(self._line))):
            begins = self._line.popleft()
            if not begins.done():  # else whoever waited has left
                begins.set_result(None)
        if self._line:
            asyncio.get_running_loop().call_soon(self._begin_some)

    def leave(self) -> None:
        """Give the turn on, to the first who still waits and has not waited too long."""
        now = monotonic()
        if self._busy and self._last_end_s >= self._busy_from_s:  # all the time since the last one ended
            self._pace_s += PACE_WEIGHT * (now - self._last_end_s - self._pace_s)
        self._last_end_s = now
        self._refuse_the_late(now)
        if self._queue:
            self._queue.popleft()[0].set_result(None)
        else:
            self._free += 1

    def _refuse_the_late(self, now: float) -> None:
        """Leave at the head of the queue who still waits and has not waited too long."""
        while self._queue and (self._queue[0][0].done() or now - self._queue[0][1] > self._max_wait_s):
            turn, _ = self._queue.popleft()
            if not turn.done():  # else whoever waited is about to leave the queue
                turn.set_exception(self._refusal("the requests before this one took too long"))

    def _look_at_the_queue(self) -> None:
        """Nobody waits longer than that, even if no turn ends."""
        self._timer = None
        now = monotonic()
        self._refuse_the_late(now)
        if self._queue:
            remaining_s = max(self._queue[0][1] + self._max_wait_s - now, LEAST_S)
            self._timer = asyncio.get_running_loop().call_later(remaining_s, self._look_at_the_queue)

    def _refusal(self, detail: str) -> OverloadedError:
        self._refused()
        return OverloadedError(detail)
