"""Whether a difference between two methods is more than chance (WARP, appendix D)."""

from dataclasses import dataclass
from math import nan

import numpy as np
import scipy  # loads its parts when they are first used, which takes a second
from numpy.typing import ArrayLike

from warp_core import arguments
from warp_core.distributions import FloatArray
from warp_core.errors import InvalidInputError

RESAMPLES = 10_000
_CHUNK = 1000
"""Resamples that are drawn together, to bound the memory that many clusters would take."""


def wilcoxon_p(before: ArrayLike, after: ArrayLike) -> float:
    """Two-sided p of the paired Wilcoxon signed-rank test; pairs with a nan are left out.

    Exact for up to 50 pairs without ties and zeros, else by normal approximation, as SciPy decides. Pairs without a
    difference are dropped, as Wilcoxon did; with none left there is no evidence, and p is 1.

    Parameters
    ----------
    before, after : shape (n,), of the same queries in the same order.

    Raises
    ------
    InvalidInputError : they differ in length.
    """
    difference = paired_differences(before, after)
    difference = difference[np.abs(difference) > _EQUAL]
    return float(scipy.stats.wilcoxon(difference).pvalue) if len(difference) else 1.0


_EQUAL = 1e-9
"""Differences below this are rounding: two lists with the same distribution."""


def paired_differences(before: ArrayLike, after: ArrayLike) -> FloatArray:
    """The differences before - after of the pairs without a nan, shape (m,), m <= n.

    Raises
    ------
    InvalidInputError : they differ in length.
    """
    a: FloatArray = np.asarray(before, np.float64)
    b: FloatArray = np.asarray(after, np.float64)
    if a.shape != b.shape:
        raise InvalidInputError("after", f"{len(a)} values are needed, one a query, got {len(b)}")
    difference: FloatArray = a - b
    return difference[~np.isnan(difference)]


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Adjusted p-values of a family of tests, shape (n,): those up to alpha survive at the false discovery rate alpha.

    p_adj(i) = min over j >= i of p(j) * n / j, in rising order of p (Benjamini and Hochberg 1995).

    Raises
    ------
    InvalidInputError : a value lies outside 0 .. 1.
    """
    given: FloatArray = np.asarray(p_values, np.float64)
    if not len(given):
        return given
    if not ((given >= 0) & (given <= 1)).all():  # nan is neither
        raise InvalidInputError("p_values", f"must lie in 0 .. 1, got {given.tolist()}")
    adjusted: FloatArray = scipy.stats.false_discovery_control(given, method="bh")
    return adjusted


def stars(p: float) -> str:
    """The papers' marks: `***` below 0.001, `**` below 0.01, `*` below 0.05, else nothing."""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


@dataclass(frozen=True)
class Interval:
    """A mean with its 95% confidence interval, and how many clusters and values it rests on."""

    mean: float
    low: float
    high: float
    clusters: int
    n: int


def clustered_bootstrap(
    values: ArrayLike, clusters: ArrayLike, rng: np.random.Generator, resamples: int = RESAMPLES, level: float = 0.95
) -> Interval:
    """The mean of all values, with a percentile interval that resamples whole clusters (WARP, D.2).

    Queries on one entity share its opinions, so they are not independent: entities are drawn with replacement, each
    with all its values, and the mean is taken over the values drawn.

    Parameters
    ----------
    values : shape (n,); nan is left out.
    clusters : shape (n,), the cluster of each value: any labels that compare.
    rng : of the draws. resamples : at least 1. level : of the interval, between 0 and 1.

    Returns
    -------
    The bounds are nan when nothing is left.

    Notes
    -----
    O(resamples * clusters).
    """
    arguments.whole_number("resamples", resamples, 1)
    arguments.number_between("level", level, 0, 1)
    given: FloatArray = np.asarray(values, np.float64)
    kept = ~np.isnan(given)
    _, membership = np.unique(np.asarray(clusters)[kept], return_inverse=True)
    sizes = np.bincount(membership)
    if not len(sizes):
        return Interval(nan, nan, nan, 0, 0)
    sums = np.bincount(membership, weights=given[kept])
    means = np.empty(resamples)
    for start in range(0, resamples, _CHUNK):
        size = min(_CHUNK, resamples - start)
        drawn = rng.integers(len(sizes), size=(size, len(sizes)))
        means[start : start + size] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail]).tolist()
    return Interval(float(given[kept].mean()), low, high, len(sizes), int(kept.sum()))


def reduction(before: ArrayLike, after: ArrayLike) -> float:
    """1 - mean(after) / mean(before) over the pairs without a nan; nan when there are none, or `before` is all zero."""
    a, b = np.asarray(before, np.float64), np.asarray(after, np.float64)
    paired = ~np.isnan(a - b)
    base = a[paired].mean() if paired.any() else 0.0
    return float(1 - b[paired].mean() / base) if base else nan


def paired_reduction(before: ArrayLike, after: ArrayLike) -> float:
    """Mean over pairs of 1 - after / before (WARP, table 14); pairs with a nan, or with before = 0, are left out."""
    a, b = np.asarray(before, np.float64), np.asarray(after, np.float64)
    paired = ~np.isnan(a - b) & (a != 0)
    return float((1 - b[paired] / a[paired]).mean()) if paired.any() else nan
