"""How long the stages of a request take."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Stopwatch:
    """Seconds by stage, and since the start."""

    def __init__(self) -> None:
        self._start = perf_counter()
        self.stages_s: dict[str, float] = defaultdict(float)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what happens inside toward a stage."""
        begin = perf_counter()
        try:
            yield
        finally:
            self.stages_s[name] += perf_counter() - begin

    def timings_ms(self) -> dict[str, float]:
        """All stages and the total so far, in milliseconds."""
        stages = {name: round(seconds * 1000, 3) for name, seconds in self.stages_s.items()}
        return {**stages, "total": round((perf_counter() - self._start) * 1000, 3)}
