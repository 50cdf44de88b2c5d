"""AdaGReS (Peng et al. 2025): relevance less a penalty on all pairwise redundancy, which the pool itself sets."""

from math import inf, sqrt

import numpy as np

from warp_core.candidates import CandidatePool, Options
from warp_core.distributions import FloatArray
from warp_core.greedy import TIE
from warp_core.selectors.base import Selector
from warp_core.selectors.similarity_greedy import CosineRows, Row, take_highest
from warp_core.target import TargetDistribution


def redundancy_penalty(pool: CandidatePool, relevance: FloatArray, k: int, token_budget: int | None) -> float:
    """The paper's beta, at least 0: at this price a list of random candidates costs in pairs what it is worth.

    beta = mean relevance / ((n - 1) / 2 * mean cosine of two candidates), where n is the length to expect: k, or what
    the token budget holds of candidates of mean cost; at least 2. 0 where the mean cosine is not above 1e-9.

    relevance : as blended, shape (N,), N > 0.
    """
    n = float(min(k, len(pool)))
    if token_budget is not None and pool.tokens is not None and pool.tokens.any():
        n = min(n, token_budget / float(pool.tokens.mean()))
    mean_cosine = _mean_cosine(pool.unit_embeddings)
    if mean_cosine <= TIE:
        return 0.0
    return max(0.0, float(relevance.mean())) * 2 / ((max(n, 2.0) - 1) * mean_cosine)


def _mean_cosine(units: FloatArray) -> float:
    """Over all pairs of different candidates; |sum of units|^2 holds them twice, and each with itself."""
    n, total = len(units), units.sum(axis=0)
    return float(total @ total - np.vecdot(units, units).sum()) / (n * (n - 1)) if n > 1 else 0.0


class _Net:
    """relevance_i - sum_j penalty(i, j) over what is taken."""

    def __init__(self, relevance: FloatArray, penalty: Row) -> None:
        self.score = relevance.copy()
        self._penalty = penalty

    def add(self, position: int) -> None:
        self.score -= self._penalty(position)
        self.score[position] = -inf


def _pick(pool: CandidatePool, _target: TargetDistribution, k: int, options: Options) -> list[int]:
    if not len(pool):
        return []
    beta = redundancy_penalty(pool, options.relevance, k, options.token_budget)
    rows = CosineRows(pool, sqrt(beta), lambda products, _: products)
    return take_highest(pool, k, _Net(options.relevance, rows.row), options)


adagres = Selector(_pick, rel_norm="minmax", needs_bins=False, needs=("embeddings",))
"""Each step maximises relevance - beta * sum_j cos(d, j) over the chosen j, with beta from the pool's means.

The paper stops where no candidate has a positive gain. Here k is asked for, so the list goes on, by the same score,
with the candidate that loses least; what the paper would have chosen is its beginning. O(k * N * d). Peng et al. 2025;
LMVU, "Baseline Definitions".
"""
