"""How a process ends: it says so first, goes on answering for a while, and only then stops listening.

Whoever balances load needs a moment to see that the process is not ready any more, and whoever keeps a connection open
is told with its next answer to open another.
"""

import asyncio
import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_log = logging.getLogger(__name__)


class Draining:
    """Whether the process is about to end."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self.begun = False

    @contextmanager
    def before_term(self) -> Iterator[None]:
        """Inside, the server hears of SIGTERM only when the delay is over; of a second one at once."""
        before = signal.getsignal(signal.SIGTERM)
        if not callable(before) or threading.current_thread() is not threading.main_thread():
            yield  # no server waits for the signal here
            return
        loop = asyncio.get_running_loop()
        tell_server = before

        def term(number: int, frame: FrameType | None) -> None:
            if self.begun:
                tell_server(number, frame)
            else:
                loop.call_soon_threadsafe(begin)

        def begin() -> None:
            self.begun = True
            _log.info("about to end: not ready any more, listening for another %g s", self._delay_s)
            loop.call_later(self._delay_s, tell_server, signal.SIGTERM, None)

        signal.signal(signal.SIGTERM, term)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)
