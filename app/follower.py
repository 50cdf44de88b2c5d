"""Keeps the index in step with the store: at start, after an ingest, and when another process has written."""

import asyncio
import contextlib
import logging

from app.errors import StoreUnavailableError
from app.index import Index
from app.store.base import Cursor, Store

_log = logging.getLogger(__name__)


class Follower:
    """The index's only writer. All states come from the store, so start and live operation are the same walk."""

    def __init__(self, store: Store, index: Index, poll_interval_s: float) -> None:
        self._store = store
        self._index = index
        self._poll_interval_s = poll_interval_s
        self._walking = asyncio.Lock()
        self._cursor: Cursor | None = None
        self._behind: Index | None = None  # what is read anew, while it is not whole
        self._polling: asyncio.Task[None] | None = None
        self._stopped = False
        self.caught_up = False
        """Whether the last look at the store succeeded."""

    async def catch_up(self) -> None:
        """Follow the store to its end; what was applied before the call is in the index after it."""
        async with self._walking:
            more = True
            while more:
                page = await self._store.changes(self._cursor)
                target = self._index
                if page.reset:
                    _log.warning("the store has gone back, or forgot what lies between: the index is read anew")
                    self._behind = target = Index()  # served once it is whole
                elif self._behind is not None:
                    target = self._behind
                for entry in page.entries:
                    target.put(entry)
                self._cursor, more = page.cursor, page.more
            if self._behind is not None:
                self._index.adopt(self._behind)
                self._behind = None
            await self._index.compact()
            self.caught_up = True

    async def start(self) -> None:
        """Catch up, when the store can be reached, and keep looking for what changes."""
        await self._look()
        self._polling = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        while not self._stopped:
            await asyncio.sleep(self._poll_interval_s)
            await self._look()

    async def _look(self) -> None:
        try:
            await self.catch_up()
        except StoreUnavailableError as error:
            if self.caught_up:
                _log.warning("the index cannot follow the store: %s", error.detail)
            self.caught_up = False
        except Exception:  # whatever it is, the next look may do better; nobody else would ever see it
            _log.exception("the index cannot follow the store")
            self.caught_up = False

    async def stop(self) -> None:
        """Stop looking."""
        self._stopped = True  # a driver may take a cancellation for its own time-out, and go on
        if self._polling:
            self._polling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._polling
