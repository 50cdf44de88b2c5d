from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

def choose(
    mode: int,
    relevance: NDArray[Any],
    blended: NDArray[Any],
    order: NDArray[Any],
    ends: NDArray[Any],
    aims: NDArray[Any],
    gaps: NDArray[Any],
    k: int,
    weight: float,
    unit: float,
    furthest: float,
    tie: float,
    transport: float,
    reward: float,
    /,
) -> list[int]: ...
def prefixes(bins: Sequence[int], aims: tuple[int, ...], gaps: tuple[int, ...], unit: float, /) -> list[float]: ...
