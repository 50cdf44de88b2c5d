"""Keeps the index in step with the store: at start, after an ingest, and when another process has written."""

import asyncio
import contextlib
import logging

from app.errors import StoreUnavailableError
from app.index import Index
from app.store.base import Store

_log = logging.getLogger(__name__)

PAGE = 1000


class Follower:
    """The index's only writer. All states come from the store, so start and live operation are the same walk."""

    def __init__(self, store: Store, index: Index, poll_interval_s: float) -> None:
        self._store = store
        self._index = index
        self._poll_interval_s = poll_interval_s
        self._walking = asyncio.Lock()
        self._polling: asyncio.Task[None] | None = None

    async def catch_up(self) -> None:
        """Follow the store to its end; what was applied before the call is in the index after it."""
        async with self._walking:
            while True:
                entries = await self._store.entries_since(self._index.seq, PAGE)
                for entry in entries:
                    self._index.put(entry)
                await self._index.compact()
                if len(entries) < PAGE:
                    return

    async def start(self) -> None:
        """Catch up, then keep looking for what other processes write."""
        await self.catch_up()
        self._polling = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._poll_interval_s)
            try:
                await self.catch_up()
            except StoreUnavailableError as error:
                _log.warning("the index cannot follow the store: %s", error.detail)

    async def stop(self) -> None:
        """Stop looking."""
        if self._polling:
            self._polling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._polling
