"""What a process says of itself between requests: the gauges.

They are set every second, since any worker may be the one that is scraped, and tells the others' too. A scrape asks
nobody, so that it is quick when the store hangs.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from app.follower import Follower
from app.index.base import Index
from app.metrics import Metrics

INTERVAL_S = 1.0

_PROCESS = Path("/proc/self")  # Linux only; elsewhere the two gauges stay 0


@contextlib.asynccontextmanager
async def told_vitals(metrics: Metrics, index: Index, follower: Follower) -> AsyncIterator[None]:
    """Keep the gauges up to date meanwhile."""

    async def keep_telling() -> None:
        while True:
            tell(metrics, index, follower)
            await asyncio.sleep(INTERVAL_S)

    telling = asyncio.create_task(keep_telling())
    try:
        yield
    finally:
        telling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await telling


def tell(metrics: Metrics, index: Index, follower: Follower) -> None:
    """Set the gauges to what is true now."""
    metrics.index_documents.set(len(index))
    metrics.index_lag_events.set(follower.lag.events)
    metrics.index_lag_seconds.set(follower.lag.seconds)
    metrics.store_up.set(follower.caught_up)
    with contextlib.suppress(OSError):
        metrics.resident_bytes.set(int((_PROCESS / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
        metrics.open_fds.set(len(os.listdir(_PROCESS / "fd")) - 1)  # without the one that lists them
