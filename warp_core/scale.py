"""The axis on which opinions lie: ordered positions, their distances, and how labels reach them."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import gcd, lcm
from types import MappingProxyType
from typing import Literal

from warp_core import arguments
from warp_core.errors import InvalidInputError

Sentiment = Literal["positive", "negative", "neutral", "mixed"]
Intensity = Literal["low", "medium", "high"]

_SIGN: Mapping[str, int] = MappingProxyType({"positive": 1, "negative": -1, "neutral": 0, "mixed": 0})
STRENGTH: Mapping[str, int] = MappingProxyType({"low": 10, "medium": 20, "high": 30})


LARGEST_POSITION = 1e15
"""Positions lie within this distance of zero, so that whole numbers among them are exact."""


@dataclass(frozen=True)
class OpinionScale:
    """Ordered positions on one axis; a bin is the index of a position.

    Parameters
    ----------
    positions : at least two numbers within 1e15 of zero, strictly increasing; the spacing may be uneven.
    stars : the positions of one to five stars on this axis, or None when stars mean nothing here.

    Raises
    ------
    InvalidInputError : positions or stars are not as above.
    """

    positions: tuple[float, ...]
    stars: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.positions) < 2:
            raise InvalidInputError("positions", f"at least 2 are needed, got {len(self.positions)}")
        for position in self.positions:
            arguments.number_between("positions", position, -LARGEST_POSITION, LARGEST_POSITION)
        if any(b <= a for a, b in pairwise(self.positions)):
            raise InvalidInputError("positions", f"must increase strictly, got {list(self.positions)}")
        if self.stars is not None:
            if len(self.stars) != 5:
                raise InvalidInputError("stars", f"5 positions are needed, one a star, got {len(self.stars)}")
            for position in self.stars:
                arguments.number_between("stars", position, -LARGEST_POSITION, LARGEST_POSITION)
            if any(b < a for a, b in pairwise(self.stars)):
                raise InvalidInputError("stars", f"must never fall, got {list(self.stars)}")

    @property
    def n_bins(self) -> int:
        """Number of positions (the papers' m)."""
        return len(self.positions)

    @property
    def range(self) -> float:
        """Distance between the two ends: the largest W1 that two distributions can have."""
        return self.positions[-1] - self.positions[0]

    @cached_property
    def _exact_gaps(self) -> tuple[tuple[int, ...], float]:
        # Decimal positions become integers without rounding, so that transport costs compare exactly.
        exact = [Fraction(repr(float(p))) for p in self.positions]
        gaps = [b - a for a, b in pairwise(exact)]
        denominator = lcm(*(g.denominator for g in gaps))
        numerators = [int(g * denominator) for g in gaps]
        common = gcd(*numerators)
        return tuple(n // common for n in numerators), float(Fraction(common, denominator))

    @property
    def gaps(self) -> tuple[int, ...]:
        """Distances between neighbouring positions, in multiples of `unit`; length n_bins - 1."""
        return self._exact_gaps[0]

    @property
    def unit(self) -> float:
        """The length that all gaps are whole multiples of, in scale units."""
        return self._exact_gaps[1]

    @cached_property
    def _bins(self) -> dict[float, int]:
        return {position: index for index, position in enumerate(self.positions)}

    def bin_at(self, position: float) -> int:
        """The bin of an exact position.

        Raises
        ------
        InvalidInputError : the scale has no such position.
        """
        found = self._bins.get(position)
        if found is None:
            allowed = ", ".join(f"{p:g}" for p in self.positions)
            raise InvalidInputError("si", f"must be one of {allowed}, got {position:g}")
        return found

    def nearest_bin(self, value: float) -> int:
        """The bin whose position is nearest to `value`; a tie goes toward zero."""
        return min(range(self.n_bins), key=lambda b: (abs(self.positions[b] - value), abs(self.positions[b])))

    def bin_of_sentiment(self, sentiment: Sentiment, intensity: Intensity = "medium") -> int:
        """The bin of a sentiment label: sign times 10, 20 or 30; neutral and mixed are 0 (WARP, table 4).

        Raises
        ------
        InvalidInputError : there is no such label, or its sentiment intensity is no position of this scale.
        """
        arguments.one_of("sentiment", sentiment, _SIGN)
        arguments.one_of("intensity", intensity, STRENGTH)
        return self.bin_at(_SIGN[sentiment] * STRENGTH[intensity])

    def bin_of_stars(self, stars: float) -> int:
        """The bin of a rating of 1 to 5 stars, interpolated between whole stars, then the nearest bin.

        Raises
        ------
        InvalidInputError : this scale has no positions for stars, or the rating is out of range.
        """
        if self.stars is None:
            raise InvalidInputError("stars", "this scale defines no positions for stars")
        arguments.number_between("stars", stars, 1, 5)
        below = min(int(stars), 4)
        low, high = self.stars[below - 1], self.stars[below]
        return self.nearest_bin(low + (stars - below) * (high - low))


SENTIMENT_INTENSITY = OpinionScale(
    positions=(-30.0, -20.0, -10.0, 0.0, 10.0, 20.0, 30.0), stars=(-30.0, -20.0, 0.0, 20.0, 30.0)
)
"""The papers' default axis: seven sentiment-intensity positions, range 60."""
