"""Forgets, from time to time, deleted documents and counts that have become zero."""

import asyncio
import contextlib
import logging
import random

from app.errors import StoreUnavailableError
from app.store.base import Store

_log = logging.getLogger(__name__)

INTERVAL_S = 3600


class Retention:
    """Purges the store about once an hour, in the background; several processes may do so at the same time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; the first time comes within the hour, and not for all processes at once."""
        self._running = asyncio.create_task(self._run())

    async def _run(self) -> None:
        await asyncio.sleep(random.uniform(0, INTERVAL_S))  # noqa: S311 - spreads load, hides nothing
        while True:
            try:
                forgotten = await self._store.purge()
                if forgotten:
                    _log.info("forgot %d deleted documents and counts of zero", forgotten)
            except StoreUnavailableError as error:
                _log.warning("the store could not be purged: %s", error.detail)
            except Exception:  # the next time may do better; nobody else would ever see it
                _log.exception("the store could not be purged")
            await asyncio.sleep(INTERVAL_S)

    async def stop(self) -> None:
        """Stop, in the middle of a purge too: what is forgotten by then is forgotten whole."""
        if self._running:
            self._running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._running
