"""Many calls, a bounded number at a time, each reply kept as it comes."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from app.judging.endpoint import Endpoint, EndpointError, EndpointStopError, Kind
from app.judging.replies import Call, Replies

GIVE_UP_AFTER = 10
"""Calls that fail in a row, each after all its attempts, before the rest is not tried."""


@dataclass
class Failures:
    """Calls without a reply: how many of each kind, and what the first of each kind said."""

    kinds: Counter[Kind] = field(default_factory=Counter)
    details: dict[Kind, str] = field(default_factory=dict)

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

    Parameters
    ----------
    advance : called as each is done.

    Raises
    ------
    EndpointStopError : no further call would fare better. What was said until then is kept.
    """
    waiting = {call.key: call for call in calls if replies.get(call) is None}
    queue = iter(waiting.values())
    in_a_row = 0

    async def work() -> None:
        nonlocal in_a_row
        for call in queue:  # shared: each takes the next one when it is free
            try:
                reply = await endpoint.complete(call.body)
            except EndpointStopError:
                raise
            except EndpointError as error:
                failures.add(error)
                in_a_row += 1
                if in_a_row >= GIVE_UP_AFTER:
                    detail = f"{in_a_row} calls in a row failed, the last one since {error.detail}"
                    raise EndpointStopError(detail) from error
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
