"""How strong a text's mood is, by the VADER lexicon (Hutto and Gilbert 2014). An extra: `label`."""

from functools import cache
from typing import Any

from warp_core.scale import STRENGTH, Intensity

MEDIUM = 0.35
HIGH = 0.70
"""Strengths below these are low and medium; a compound score runs from -1 to 1."""
NEUTRAL = 0.05
"""Compound scores nearer to zero than this are neutral (the lexicon's authors)."""


def mood(text: str) -> float:
    """The compound score of a text, -1 to 1."""
    compound: float = _analyzer().polarity_scores(text)["compound"]
    return compound


def intensity_of(lean: float) -> Intensity:
    """How strong a lean of 0 to 1 toward a side is; a lean away from it is weak."""
    return "high" if lean >= HIGH else "medium" if lean >= MEDIUM else "low"


def position_of(compound: float) -> int:
    """The sentiment-intensity position, -30 to 30, of a compound score."""
    if abs(compound) < NEUTRAL:
        return 0
    sign = 1 if compound > 0 else -1
    return sign * STRENGTH[intensity_of(abs(compound))]


def intensity_toward(text: str, sign: int) -> Intensity:
    """How strongly a text leans toward a known side.

    Parameters
    ----------
    sign : 1 for a positive, -1 for a negative opinion. A text that the lexicon puts on the other side leans weakly.
    """
    return intensity_of(sign * mood(text))


@cache
def _analyzer() -> Any:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return SentimentIntensityAnalyzer()
