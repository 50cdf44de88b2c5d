"""Distributions over ordered bins: shares of a list, entropy, Jensen-Shannon divergence."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


def bin_counts(bins: ArrayLike, n_bins: int) -> NDArray[np.int64]:
    """How many entries of `bins` fall in each bin, shape (n_bins,); -1 (unknown) counts nowhere."""
    known: NDArray[Any] = np.asarray(bins, dtype=np.int64)
    return np.bincount(known[known >= 0], minlength=n_bins)


def shares(counts: ArrayLike) -> FloatArray:
    """Counts as shares that sum to 1, same shape; all zero when there is nothing to share."""
    weights: FloatArray = np.asarray(counts, dtype=np.float64)
    total = weights.sum()
    return weights / total if total > 0 else weights


def entropy(p: ArrayLike) -> float:
    """Shannon entropy of shares `p` in bits; an empty bin adds nothing."""
    mass: FloatArray = np.asarray(p, dtype=np.float64)
    mass = mass[mass > 0]
    return float(-(mass * np.log2(mass)).sum())


def jensen_shannon(p: ArrayLike, q: ArrayLike) -> float:
    """Jensen-Shannon divergence of shares `p` and `q` in bits, 0 .. 1 (Lin 1991)."""
    a: FloatArray = np.asarray(p, dtype=np.float64)
    b: FloatArray = np.asarray(q, dtype=np.float64)
    return max(0.0, entropy((a + b) / 2) - (entropy(a) + entropy(b)) / 2)
