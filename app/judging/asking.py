"""Many calls, a bounded number at a time, each reply kept as it comes."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from app.judging.endpoint import Endpoint, EndpointError, EndpointStopError, Kind
from app.judging.replies import Call, Replies

GIVE_UP_AFTER = 10
"""Calls that fail in a row, each after all its attempts, before the rest is left for another time."""


@dataclass
class Failures:
    """Calls without a reply: how many of each kind, what the first of each kind said, and how many were not made."""

    kinds: Counter[Kind] = field(default_factory=Counter)
    details: dict[Kind, str] = field(default_factory=dict)
    not_made: int = 0

    def add(self, error: EndpointError) -> None:
        """Count one more."""
        self.kinds[error.failure] += 1
        self.details.setdefault(error.failure, error.detail)


async def ask(
    endpoint: Endpoint,
    calls: Iterable[Call],
    replies: Replies,
    concurrency: int,
    failures: Failures,
    advance: Callable[[], object],
) -> None:
    """Make the calls that have no reply yet, each once; those that fail are counted, and left without a reply.

    After ten that fail in a row no further one is made.

    Parameters
    ----------
    advance : called as each is done.

    Raises
    ------
    EndpointStopError : no further call would fare better. What was said until then is kept.
    """
    waiting = {call.key: call for call in calls if replies.get(call) is None}
    queue = deque(waiting.values())
    in_a_row = 0

    async def work() -> None:
        nonlocal in_a_row
        while queue and in_a_row < GIVE_UP_AFTER:
            call = queue.popleft()
            try:
                reply = await endpoint.complete(call.body)
            except EndpointStopError:
                raise
            except EndpointError as error:
                failures.add(error)
                in_a_row += 1
            else:
                replies.put(call, reply)
                in_a_row = 0
            advance()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(waiting))):
                group.create_task(work())
    except ExceptionGroup as errors:
        if stops := errors.subgroup(EndpointStopError):
            raise stops.exceptions[0] from None
        raise
    failures.not_made += len(queue)
