"""How many users there are, and when: a ramp, a spike, a soak."""

import math
from dataclasses import dataclass

STEPS = 10
"""A ramp rises in eight of these, and then stays."""


@dataclass(frozen=True)
class Plan:
    """A shape with its measures: most users at once, and how long it lasts, in seconds."""

    shape: str
    users: int
    seconds: float

    @property
    def may_refuse(self) -> bool:
        """Whether it asks for more than can be answered, so that 429 is a right answer."""
        return self.shape == "spike"

    def users_at(self, elapsed_s: float) -> int | None:
        """Users at a moment; None when it is over."""
        share = elapsed_s / self.seconds
        if share >= 1:
            return None
        if self.shape == "ramp":
            return math.ceil(self.users * min(1.0, (int(share * STEPS) + 1) / (STEPS - 2)))
        if self.shape == "spike" and not 1 / 3 <= share < 2 / 3:
            return max(1, self.users // 10)
        return self.users


PLANS = {
    "ramp": Plan("ramp", 40, 120),
    "spike": Plan("spike", 200, 90),
    "soak": Plan("soak", 20, 1200),
}
"""As they are when nothing else is asked for."""
