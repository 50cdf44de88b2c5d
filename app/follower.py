"""Keeps the index in step with the store: at start, after an ingest, and when another process has written."""

import asyncio
import contextlib
import logging
import time
from dataclasses import dataclass

from app.errors import StoreUnavailableError
from app.index.local import LocalIndex
from app.store.base import Cursor, Store

_log = logging.getLogger(__name__)


@dataclass
class Lag:
    """How far the index is behind the store.

    Parameters
    ----------
    events : changes that the last look at the store found, or has found so far: so far behind the index had been.
    step_s : clock reading at which the index was last known to be in step; None before the first time.
    """

    events: int = 0
    step_s: float | None = None

    @property
    def seconds(self) -> float:
        """Since the index was last known to be in step; infinite before the first time."""
        return float("inf") if self.step_s is None else time.monotonic() - self.step_s


class Follower:
    """The index's only writer. All states come from the store, so start and live operation are the same walk."""

    def __init__(self, store: Store, index: LocalIndex, poll_interval_s: float) -> None:
        self._store = store
        self._index = index
        self._poll_interval_s = poll_interval_s
        self._walking = asyncio.Lock()
        self._cursor: Cursor | None = None
        self._behind: LocalIndex | None = None  # what is read anew, while it is not whole
        self._polling: asyncio.Task[None] | None = None
        self._stopped = False
        self.caught_up = False
        """Whether the last look at the store succeeded."""
        self.lag = Lag()
        self.followed = 0
        """Changes that were followed, those of an index that was given up included."""

    async def catch_up(self) -> None:
        """Follow the store to its end; what was applied before the call is in the index after it."""
        async with self._walking:
            begun_s = time.monotonic()
            self.lag.events = 0
            more = True
            while more:
                page = await self._store.changes(self._cursor)
                target = self._index
                if page.reset:
                    _log.warning("the store has gone back, or forgot what lies between: the index is read anew")
                    self._behind = target = LocalIndex(self._index.keeps_vectors)  # served once it is whole
                elif self._behind is not None:
                    target = self._behind
                for entry in page.entries:
                    target.put(entry)
                self.lag.events += len(page.entries)
                self.followed += len(page.entries)
                self._cursor, more = page.cursor, page.more
            if self._behind is not None:
                self._index.adopt(self._behind)
                self._behind = None
            self.lag.step_s = begun_s
            self.caught_up = True

    @property
    def position(self) -> Cursor | None:
        """How far the store was followed to make the index what it is; None while that is not known."""
        return None if self._behind is not None else self._cursor

    async def go_on_from(self, index: LocalIndex, cursor: Cursor) -> None:
        """Follow the store from a cursor on with the index that was true there; once in step, it is served."""
        async with self._walking:
            self._behind, self._cursor = index, cursor
        await self._look()

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
