"""Whether the event loop keeps up: a beat that comes late tells how long whatever arrives now has waited already."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

PERIOD_S = 0.02


class Pulse:
    """A beat of the running event loop."""

    def __init__(self) -> None:
        self._due = float("inf")
        self._last_late_s = 0.0

    @property
    def late_s(self) -> float:
        """By how much the last beat came late, or the next is late by now."""
        return max(self._last_late_s, asyncio.get_running_loop().time() - self._due)

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Inside, it beats."""
        loop = asyncio.get_running_loop()
        stopped = False

        def beat() -> None:
            now = loop.time()
            self._last_late_s = max(0.0, now - self._due)
            self._due = now + PERIOD_S
            if not stopped:
                loop.call_at(self._due, beat)

        self._due = loop.time()
        beat()
        try:
            yield
        finally:
            stopped = True
