"""Determinantal point processes (Kulesza and Taskar 2012): greedy MAP inference by Chen et al. 2018, algorithm 1."""

from math import inf, sqrt

import numpy as np

from warp_core.candidates import CandidatePool, Options
from warp_core.distributions import FloatArray, IntArray
from warp_core.greedy import TIE
from warp_core.selectors.base import Selector
from warp_core.selectors.similarity_greedy import CosineRows, Row, take_highest, then_by_relevance
from warp_core.target import TargetDistribution


class _Residual:
    """d_i^2: by how much candidate i multiplies the determinant of the kernel over what is taken.

    Row t of the incremental Cholesky factor holds, for pick j, e_ti = (L_ji - sum_s<t e_sj * e_si) / d_j; then d_i^2
    falls by e_ti^2.

    Parameters
    ----------
    diagonal : L_ii, shape (N,).
    k : how many picks to make room for.
    kernel : j -> L_j.
    """

    def __init__(self, diagonal: FloatArray, k: int, kernel: Row) -> None:
        self.score = diagonal.copy()
        self._kernel = kernel
        self._factor = np.empty((min(k, len(diagonal)), len(diagonal)))
        self._length = 0

    def add(self, position: int) -> None:
        known = self._factor[: self._length]
        new = self._factor[self._length]
        np.subtract(self._kernel(position), known[:, position] @ known, out=new)
        new /= sqrt(self.score[position])
        self._length += 1
        self.score -= new * new
        self.score[position] = -inf


def _quality(relevance: FloatArray) -> FloatArray:
    """1 + relevance, counted from the lowest, scaled so that the highest is 1; shape (N,).

    The least relevant is then worth half of the most relevant, and can still be chosen. L and its determinants stay
    within 0 .. 1, where a tie of 1e-9 means the same in every pool.
    """
    if not len(relevance):
        return relevance
    halved = relevance / 2  # the spread of two finite numbers may not be finite
    quality: FloatArray = halved - halved.min() + 0.5
    quality /= quality.max()
    return quality


def _pick_positions(pool: CandidatePool, _target: TargetDistribution, k: int, options: Options) -> list[int]:
    quality = _quality(options.relevance)
    positions = np.array(pool.scale.positions)
    similarity = 1 - np.abs(positions[:, None] - positions) / pool.scale.range

    def kernel(position: int) -> FloatArray:
        row: FloatArray = similarity[pool.bins[position], pool.bins]
        row *= quality * quality[position]
        return row

    residual = _Residual(quality**2, pool.scale.n_bins, kernel)  # a second candidate of a bin has no residual
    return then_by_relevance(pool, take_highest(pool, k, residual, options, floor=TIE), k, options)


def _pick_embeddings(pool: CandidatePool, _target: TargetDistribution, k: int, options: Options) -> list[int]:
    quality = _quality(options.relevance)

    def clipped(products: FloatArray, _members: IntArray | slice) -> FloatArray:
        kernel: FloatArray = np.maximum(products, 0, out=products)
        return kernel

    rows = CosineRows(pool, quality, clipped)
    rows.prepare(pool.by_relevance[:k])  # many of these are picked
    residual = _Residual(quality**2, k, rows.row)
    return then_by_relevance(pool, take_highest(pool, k, residual, options, floor=TIE), k, options)


dpp = Selector(_pick_positions, rel_norm="minmax")
"""Greedy MAP of the L-ensemble L_ij = q_i * q_j * (1 - |s_i - s_j| / range) over opinion positions s (WARP's baseline).

q is 1 + relevance. The similarity is OpinionMMR's: a triangular kernel, which is positive definite over distinct
positions and, unlike a Gaussian one, has no width to tune. Each step takes the candidate that multiplies det L most.
Two documents of one bin have determinant 0, so after one of each bin all gains are 0 (below 1e-9) and the rest follows
by relevance. O(N * n_bins^2 + N log N). Kulesza and Taskar 2012; Chen et al. 2018.
"""

kdpp = Selector(_pick_embeddings, rel_norm="minmax", needs_bins=False, needs=("embeddings",))
"""The same over embeddings: L_ij = q_i * q_j * max(0, cos(i, j)) (LMVU, "Baseline Definitions").

A clipped cosine kernel need not be positive semi-definite, and near-duplicates use up its residual: when no gain is
above 1e-9 any more, the rest follows by relevance. At worst O(k * N * (d + k)).
"""
