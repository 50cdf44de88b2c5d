"""How much is worked on at once: a bounded number of requests, a short queue for the next, a bounded sum of bodies.

What comes beyond is refused at once, so that what is accepted is answered as quickly as ever, and memory stays flat.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic

from app.errors import OverloadedError


class Admission:
    """Turns for requests, in the order in which they came.

    Parameters
    ----------
    max_inflight : requests that are worked on at once.
    max_queued : requests that may wait for their turn.
    max_wait_s : one that has waited longer when its turn comes is refused: whoever asked has better things to do.
    max_bytes : what all bodies that were read and not yet answered may hold together.
    refused : is told of each that is refused.
    """

    def __init__(
        self, max_inflight: int, max_queued: int, max_wait_s: float, max_bytes: int, refused: Callable[[], None]
    ) -> None:
        self._refused = refused
        self._free = max_inflight
        self._max_queued = max_queued
        self._max_wait_s = max_wait_s
        self._max_bytes = max_bytes
        self._bytes = 0
        self._queue: deque[tuple[asyncio.Future[None], float]] = deque()

    @property
    def is_full(self) -> bool:
        """Whether another request would find neither a turn nor a place to wait for one."""
        return not self._free and len(self._queue) >= self._max_queued

    def check(self) -> None:
        """Refuse a request for which there is no room, before its body is read.

        Raises
        ------
        OverloadedError : there is none.
        """
        if self.is_full:
            raise self._refusal("too many requests are waiting already")

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
        self.check()
        if self._free:
            self._free -= 1
            try:
                # All that arrived together is counted before any of it is worked on: work that never waits would else
                # hide how many there are.
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                self.leave()
                raise
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((turn, monotonic()))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._queue = deque(waiting for waiting in self._queue if waiting[0] is not turn)
            elif not turn.exception():
                self.leave()  # it had just been given its turn
            raise

    def leave(self) -> None:
        """Give the turn on, to the first who still waits and has not waited too long."""
        while self._queue:
            turn, since = self._queue.popleft()
            if turn.done():
                continue  # whoever waited is about to leave the queue
            if monotonic() - since <= self._max_wait_s:
                turn.set_result(None)
                return
            turn.set_exception(self._refusal("the requests before this one took too long"))
        self._free += 1

    def _refusal(self, detail: str) -> OverloadedError:
        self._refused()
        return OverloadedError(detail)
