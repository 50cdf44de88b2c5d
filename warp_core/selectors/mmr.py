"""Maximal marginal relevance (Carbonell and Goldstein 1998)."""

from math import inf, sqrt

import numpy as np

from warp_core.candidates import CandidatePool, Options
from warp_core.distributions import FloatArray, IntArray
from warp_core.greedy import TIE
from warp_core.selectors.base import Selector
from warp_core.selectors.similarity_greedy import CosineRows, Row, take_by_score, take_highest
from warp_core.target import TargetDistribution


class _MarginalRelevance:
    """The gain alone before the first pick, then the lowest, over all i that are taken, of `after(i)`.

    after : i -> the scores of all when i, and nothing nearer, is taken: gain - (1 - lambda) * cos(i, .).
    """

    def __init__(self, gain: FloatArray, after: Row) -> None:
        self.score = gain
        self._after = after
        self._lowest = np.full(len(gain), inf)

    def add(self, position: int) -> None:
        np.minimum(self._lowest, self._after(position), out=self._lowest)
        self._lowest[position] = -inf
        self.score = self._lowest


def _pick(pool: CandidatePool, _target: TargetDistribution, k: int, options: Options) -> list[int]:
    gain = options.weight * options.relevance

    def after(redundancy: FloatArray, members: IntArray | slice) -> FloatArray:
        scores: FloatArray = np.subtract(gain[members], redundancy, out=redundancy)
        return scores

    rows = CosineRows(pool, sqrt(1 - options.weight), after)
    running = _MarginalRelevance(gain, rows.row)
    if options.token_budget is not None or len(pool) < 4 * k + 2 * _SPARE:
        return take_highest(pool, k, running, options)
    picked = [int(pool.relevance.argmax())]
    running.add(picked[0])
    # From here on scores only fall. Those that are highest now form a front, and the next picks are made among these
    # alone while the best of them lies above what all others had (lazy greedy, Minoux 1978).
    bounds = running.score.copy()
    left, found = k - 1, k
    while left and 4 * found > left:
        highest = np.argpartition(bounds, -2 * left - _SPARE)[-2 * left - _SPARE :]
        members = np.concatenate([picked, np.sort(highest[1:])])
        matrix = rows.among(members)
        front = _MarginalRelevance(gain[members], matrix.__getitem__)
        for taken in range(len(picked)):
            front.add(taken)
        ahead = take_by_score(pool.relevance[members], left, front, floor=bounds[highest[0]] + TIE)
        bounds[members] = front.score
        picked += members[ahead].tolist()
        left, found = left - len(ahead), len(ahead)
    if left:
        rows.prepare(np.array(picked[1:], np.intp))
        for position in picked[1:]:
            running.add(position)
        picked += take_by_score(pool.relevance, left, running)
    return picked


_SPARE = 8
"""A front of twice what is left to pick and these is mostly enough, and small enough to compare in all pairs."""

mmr = Selector(_pick, relevance_weight=0.5, rel_norm="minmax", needs_bins=False, needs=("embeddings",))
"""Each step maximises lambda * relevance - (1 - lambda) * max_j cos(d, j) over the chosen j; first the most relevant.

O(k * N * d) at worst; candidates that cannot win a step are not compared. Carbonell and Goldstein 1998.
"""
