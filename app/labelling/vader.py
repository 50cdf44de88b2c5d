"""How strong a text's mood is, by the VADER lexicon (Hutto and Gilbert 2014). An extra: `label`."""

from functools import cache
from typing import Any

from warp_core.scale import Intensity

MEDIUM = 0.35
HIGH = 0.70
"""Strengths below these are low and medium; a compound score runs from -1 to 1."""


def intensity_toward(text: str, sign: int) -> Intensity:
    """How strongly a text leans toward a known side.

    Parameters
    ----------
    sign : 1 for a positive, -1 for a negative opinion. A text that the lexicon puts on the other side leans weakly.
    """
    lean: float = sign * _analyzer().polarity_scores(text)["compound"]
    return "high" if lean >= HIGH else "medium" if lean >= MEDIUM else "low"


@cache
def _analyzer() -> Any:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return SentimentIntensityAnalyzer()
