"""How late the load generator itself is: what it measures may be too long by so much, whoever is to blame for it."""

from array import array
from time import perf_counter

import gevent

PAUSE_S = 0.02


class Lateness:
    """A greenlet that should run fifty times a second, and how late it did."""

    def __init__(self) -> None:
        self._late_ms = array("d")
        self._greenlet: gevent.Greenlet | None = None

    def start(self) -> None:
        """Begin to measure."""
        self._greenlet = gevent.spawn(self._measure)

    def stop(self) -> None:
        """End it."""
        if self._greenlet:
            self._greenlet.kill()

    def ms(self, share: float) -> float:
        """What this share of the turns did not exceed, in milliseconds."""
        late = sorted(self._late_ms)
        return late[min(len(late) - 1, int(share * len(late)))] if late else 0.0

    def _measure(self) -> None:
        while True:
            due = perf_counter() + PAUSE_S
            gevent.sleep(PAUSE_S)
            self._late_ms.append((perf_counter() - due) * 1000)
