"""How long the stages of a request take."""

from collections import defaultdict
from time import perf_counter


class Stage:
    """Counts the time inside `with` toward one stage; may be entered again and again, but not inside itself."""

    __slots__ = ("_begin", "_name", "_seconds")

    def __init__(self, name: str, seconds: dict[str, float]) -> None:
        self._name = name
        self._seconds = seconds

    def __enter__(self) -> None:
        self._begin = perf_counter()

    def __exit__(self, *error: object) -> None:
        self._seconds[self._name] += perf_counter() - self._begin


class Stopwatch:
    """Seconds by stage, and since the start."""

    def __init__(self) -> None:
        self._start = perf_counter()
        self.stages_s: dict[str, float] = defaultdict(float)

    def stage(self, name: str) -> Stage:
        """For `with`: what happens inside counts toward a stage."""
        return Stage(name, self.stages_s)

    def timings_ms(self) -> dict[str, float]:
        """All stages and the total so far, in milliseconds."""
        stages = {name: round(seconds * 1000, 3) for name, seconds in self.stages_s.items()}
        return {**stages, "total": round((perf_counter() - self._start) * 1000, 3)}
