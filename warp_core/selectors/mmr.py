"""Maximal marginal relevance (Carbonell and Goldstein 1998)."""

from math import inf, sqrt

import numpy as np

from warp_core.candidates import CandidatePool, Options
from warp_core.distributions import FloatArray, IntArray
from warp_core.greedy import TIE
from warp_core.selectors.base import Selector
from warp_core.selectors.similarity_greedy import CosineRows, Row, take_by_score, take_highest
from warp_core.target import TargetDistribution

_SPARE = 4
"""A front of twice the list and these mostly lasts, and is small enough to be compared in all pairs."""


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
    size = 2 * min(k, len(pool)) + _SPARE
    if options.token_budget is not None or 2 * size > len(pool):
        return take_highest(pool, k, _MarginalRelevance(gain, rows.row), options)
    first = int(pool.relevance.argmax())
    bounds = rows.row(first)
    bounds[first] = -inf
    # From here on scores only fall. Those that are highest now form a front, and the next picks are made among these
    # alone while the best of them lies above what all others had (lazy greedy, Minoux 1978).
    highest = np.argpartition(bounds, -size)[-size:]
    members = np.concatenate([[first], np.sort(highest[1:])])
    matrix = rows.among(members)
    front = _MarginalRelevance(gain[members], matrix.__getitem__)
    front.add(0)
    ahead = take_by_score(pool.relevance[members], k - 1, front, floor=bounds[highest[0]] + TIE)
    picked: list[int] = members[[0, *ahead]].tolist()
    if len(picked) < k:
        running = _MarginalRelevance(gain, rows.row)
        rows.prepare(members[[0, *ahead]])
        for position in picked:
            running.add(position)
        picked += take_by_score(pool.relevance, k - len(picked), running)
    return picked


mmr = Selector(_pick, relevance_weight=0.5, rel_norm="minmax", needs_bins=False, needs=("embeddings",))
"""Each step maximises lambda * relevance - (1 - lambda) * max_j cos(d, j) over the chosen j; first the most relevant.

O(k * N * d) at worst; candidates that cannot win a step are not compared. Carbonell and Goldstein 1998.
"""
