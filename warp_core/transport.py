"""Wasserstein-1 on ordered bins: the closed form over cumulative shares (WARP, equation 1); and Wasserstein-2.

Everything that is compared is compared as a whole number: with C_i the cumulative counts of n documents and T_i the
cumulative weights of a target with total D, `sum_i gap_i * |C_i * D - T_i * n|` orders selections of one length exactly
as W1 does. Floats appear when a cost leaves, in `scaled`.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from warp_core import arguments
from warp_core.distributions import FloatArray
from warp_core.scale import SENTIMENT_INTENSITY, OpinionScale
from warp_core.target import TargetDistribution

try:
    from warp_core._native import prefixes
except ImportError:  # built without a compiler
    prefixes = None  # type: ignore[assignment]

LARGEST_EXACT = 2**53
"""Doubles hold whole numbers below this exactly."""


def wasserstein1(p: ArrayLike, q: ArrayLike, scale: OpinionScale = SENTIMENT_INTENSITY) -> float:
    """W1 between two distributions over the scale's bins, in scale units: 0 .. scale.range.

    sum_i |CDF_p(i) - CDF_q(i)| * (s[i+1] - s[i])

    Parameters
    ----------
    p, q : shape (n_bins,), non-negative with a positive sum; they are normalised.

    Raises
    ------
    InvalidInputError : a length differs from the scale's, or the weights are no distribution.
    """
    gaps = np.diff(scale.positions)
    return float(np.abs(_cdf("p", p, scale) - _cdf("q", q, scale))[:-1] @ gaps)


def wasserstein2(p: ArrayLike, q: ArrayLike, scale: OpinionScale = SENTIMENT_INTENSITY) -> float:
    """W2 between two distributions over the scale's bins, in scale units: 0 .. scale.range, at least W1.

    sqrt(integral over u in 0 .. 1 of (Q_p(u) - Q_q(u))^2), Q the quantile functions: on a line the cheapest plan, for
    any convex cost, couples equal quantiles.

    Parameters
    ----------
    p, q : shape (n_bins,), non-negative with a positive sum; they are normalised.

    Raises
    ------
    InvalidInputError : as `wasserstein1`.

    Notes
    -----
    O(n_bins log n_bins). A rounding error of the masses appears as its square root: two spellings of one distribution
    may be 1e-8 of the range apart, where W1 has 1e-16. Proportional whole numbers are exactly 0 apart.
    """
    cdf_p, cdf_q = _cdf("p", p, scale), _cdf("q", q, scale)
    levels = np.union1d(cdf_p, cdf_q)
    positions = np.array(scale.positions)
    distances = positions[np.searchsorted(cdf_p, levels)] - positions[np.searchsorted(cdf_q, levels)]
    return math.sqrt(np.diff(levels, prepend=0.0) @ distances**2)


def _cdf(argument: str, values: ArrayLike, scale: OpinionScale) -> FloatArray:
    cumulative: FloatArray = np.cumsum(arguments.weights(argument, values, scale.n_bins))
    normalised: FloatArray = cumulative / cumulative[-1]
    return normalised


def exact_cost(counts: Sequence[int], target: TargetDistribution, scale: OpinionScale) -> int:
    """Transport cost of a list with `counts` documents in each bin, as a whole number (see the module)."""
    n, total = sum(counts), target.total
    cumulative = cost = 0
    for count, aim, gap in zip(counts, target.cumulative, scale.gaps, strict=False):
        cumulative += count
        cost += gap * abs(cumulative * total - aim * n)
    return cost


def scaled(cost: int, n: int, target: TargetDistribution, scale: OpinionScale) -> float:
    """The W1, in scale units, behind an exact cost of n documents."""
    return cost / (n * target.total) * scale.unit


def w1_of_counts(counts: Sequence[int], target: TargetDistribution, scale: OpinionScale) -> float:
    """W1 between a list's counts and the target, in scale units; nan for an empty list."""
    n = sum(counts)
    return scaled(exact_cost(counts, target, scale), n, target, scale) if n else math.nan


def w1_of_prefixes(bins: list[int], target: TargetDistribution, scale: OpinionScale) -> list[float]:
    """W1 after each document of a list, in scale units; nan until one with a known bin (not -1) has come.

    Each is exactly `w1_of_counts` of that prefix.
    """
    if prefixes is not None and target.total * (len(bins) + 1) * sum(scale.gaps) < LARGEST_EXACT:
        return prefixes(bins, target.cumulative, scale.gaps, scale.unit)
    return _prefixes(bins, target, scale)


def _prefixes(bins: Iterable[int], target: TargetDistribution, scale: OpinionScale) -> list[float]:
    """The same in Python, for numbers of any size."""
    total, gaps, aims = target.total, scale.gaps, target.cumulative
    filled = [0] * len(gaps)
    n, w1, path = 0, math.nan, []
    for b in bins:
        if b >= 0:
            n += 1
            for i in range(b, len(gaps)):
                filled[i] += total
            cost = 0
            for have, aim, gap in zip(filled, aims, gaps, strict=False):
                off = have - aim * n
                cost += gap * off if off > 0 else -gap * off
            w1 = scaled(cost, n, target, scale)
        path.append(w1)
    return path
