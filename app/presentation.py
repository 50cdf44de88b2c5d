"""Core values -> what an answer shows."""

import math
from collections.abc import Sequence
from functools import lru_cache

from app.schemas import TargetOutput
from warp_core import OpinionScale, TargetDistribution

DIGITS = 6
_PARTS = 10.0**DIGITS
_PLAIN = 2.0**52 / _PARTS
"""Numbers below this have digits to lose."""


def position(b: int, scale: OpinionScale) -> float:
    """The position of a bin, whole where it is whole."""
    value = scale.positions[b]
    return int(value) if value.is_integer() else value


def finite(value: float) -> float | None:
    """A number as shown: rounded, and None in place of nan."""
    if -_PLAIN < value < _PLAIN:
        return round(value * _PARTS) / _PARTS  # as below but for exact halves, in half the time
    return None if math.isnan(value) else round(value, DIGITS)


def by_position(values: Sequence[float], scale: OpinionScale) -> dict[str, float]:
    """Non-zero values by position, as a JSON object has them: "-30", "2.5"."""
    return {str(position(b, scale)): round(v, DIGITS) for b, v in enumerate(values) if v > 0}


@lru_cache(maxsize=1024)
def target_output(target: TargetDistribution, scale: OpinionScale) -> TargetOutput:
    """A target with the rule behind it; the same record each time, so do not change it."""
    return TargetOutput(
        by_position([w / target.total for w in target.weights], scale),
        target.rule,
        target.n,
        round(target.alpha, DIGITS),
    )
