"""Which opinions a pool lacks, measured against the target (WARP, algorithm 3, lines 1-7)."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from warp_core import arguments
from warp_core.target import TargetDistribution

DEFICIT_RATIO = 0.5
"""delta: a bin is short when its share of the pool is below this part of its share of the target."""
NEGLIGIBLE_SHARE = 0.01
"""With nothing matched at all, bins above this share of the target are short."""


def deficit_bins(matched_counts: Sequence[int], target: TargetDistribution, ratio: float = DEFICIT_RATIO) -> list[int]:
    """Bins where the entity-matched part of a pool falls short: P_pool(s) < ratio * P_pop(s).

    Parameters
    ----------
    matched_counts : entity-matched candidates in each bin, length n_bins.
    ratio : the papers' delta, 0 .. 1; 0 never sees a deficit while anything matches.

    Raises
    ------
    InvalidInputError : the counts are no counts over the target's bins, or ratio is out of range.
    """
    matched = arguments.counts("matched_counts", matched_counts, target.n_bins)
    exact = _exact(arguments.share("ratio", ratio))
    n, total = sum(matched), target.total
    if n == 0:
        return [b for b, weight in enumerate(target.weights) if weight > NEGLIGIBLE_SHARE * total]
    return [
        b
        for b, (count, weight) in enumerate(zip(matched, target.weights, strict=True))
        if count * total * exact.denominator < exact.numerator * weight * n
    ]


@lru_cache(maxsize=256)
def _exact(ratio: float) -> Fraction:
    """The decimal number that is meant, so that 0.1 of 30 is 3, and not a little more."""
    return Fraction(repr(ratio))
