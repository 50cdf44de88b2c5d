"""How long a request may wait for its turn: long in a burst, which is worked off, short in an overload that lasts.

In such an overload all would only wait longer for as much as a shorter queue gets done. What tells the two apart is not
that a queue is long, but that it stays so (Nichols and Jacobson, "Controlling queue delay", 2012).
"""

from time import monotonic

LASTING_S = 0.3
"""What goes on for so long is no burst; and when nobody was refused for so long, it is over."""
LASTING_SHARE = 1 / 6
"""Of the longest wait, in an overload that lasts."""


class QueueDelay:
    """Parameters
    ----------
    longest_s : how long a request may wait in a burst.
    """

    def __init__(self, longest_s: float) -> None:
        self.longest_s = longest_s
        self._refusing_from_s = self._refused_s = float("-inf")

    def is_too_long(self, wait_s: float) -> bool:
        """Whether a request that would wait so long is to be refused; the answers tell when an overload lasts."""
        if wait_s <= LASTING_SHARE * self.longest_s:
            return False
        now = monotonic()
        goes_on = now - self._refused_s <= LASTING_S
        lasts = goes_on and now - self._refusing_from_s > LASTING_S
        if wait_s <= self.longest_s and not lasts:
            return False
        if not goes_on:
            self._refusing_from_s = now
        self._refused_s = now
        return True
