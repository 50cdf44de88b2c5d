"""Facility location: every candidate of the pool should lie near one of the list (Lin and Bilmes 2011)."""

from math import inf

import numpy as np

from warp_core.candidates import CandidatePool, Options
from warp_core.distributions import FloatArray
from warp_core.greedy import TIE
from warp_core.selectors.base import Selector
from warp_core.selectors.similarity_greedy import take_highest, then_by_relevance
from warp_core.target import TargetDistribution


class _Coverage:
    """base_i + weight * sum_j max(0, sim(i, j) - c_j), sim the cosine, at least 0, and c_j what covers j best so far.

    Kept are max(sim(i, j), c_j), which is how well j would be covered with i in the list.
    """

    def __init__(self, base: FloatArray, weight: float, units: FloatArray) -> None:
        self._base, self._weight = base, weight
        self._covered = np.maximum(units @ units.T, 0)
        self.score = base + weight * self._covered.sum(axis=1)

    def add(self, position: int) -> None:
        now = self._covered[position].copy()
        np.maximum(self._covered, now, out=self._covered)
        self._base[position] = -inf
        self.score = self._base + self._weight * (self._covered.sum(axis=1) - now.sum())


def _pick_coverage(pool: CandidatePool, _target: TargetDistribution, k: int, options: Options) -> list[int]:
    picked = take_highest(pool, k, _Coverage(np.zeros(len(pool)), 1, pool.unit_embeddings), options, floor=TIE)
    return then_by_relevance(pool, picked, k, options)


def _pick_mixture(pool: CandidatePool, _target: TargetDistribution, k: int, options: Options) -> list[int]:
    weight = (1 - options.weight) / max(len(pool), 1)
    running = _Coverage(options.weight * options.relevance, weight, pool.unit_embeddings)
    return take_highest(pool, k, running, options)


facility_location = Selector(_pick_coverage, needs_bins=False, needs=("embeddings",))
"""Each step maximises sum_j max(0, cos(d, j) - c_j) over the pool, c_j the best cosine of j to the list so far.

Relevance plays no part until all is covered (no gain above 1e-9); then the rest follows by it. Greedy is within
1 - 1/e of the best list. O(N^2 * (d + k)). Lin and Bilmes 2011; LMVU, "Baseline Definitions".
"""

submix = Selector(_pick_mixture, relevance_weight=0.5, rel_norm="minmax", needs_bins=False, needs=("embeddings",))
"""Each step maximises alpha * relevance + (1 - alpha) * facility-location gain / N; alpha is the relevance weight.

Divided by the pool's size, as LMVU has it, gains are a hundredth of relevance after a few picks, so that at the
default weight the list is nearly top-k; a weight of 0.05 or less lets coverage speak. O(N^2 * (d + k)). Lin
and Bilmes 2011; LMVU, "Baseline Definitions".
"""
