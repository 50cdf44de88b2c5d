"""LexRank (Erkan and Radev 2004): what many others resemble comes first."""

import numpy as np

from warp_core.candidates import CandidatePool, Options
from warp_core.distributions import FloatArray
from warp_core.selectors.base import Selector
from warp_core.selectors.ranking import affordable, best_first
from warp_core.target import TargetDistribution

DAMPING = 0.85
"""How often the random walk follows an edge rather than starting anew (LMVU, "Baseline Definitions")."""
ITERATIONS = 50
THRESHOLD = 0.1
"""Cosines below this are no edge (same source)."""


def centrality(units: FloatArray) -> FloatArray:
    """PageRank of unit vectors in their cosine-similarity graph, shape (N,), sums to 1.

    p_i = (1 - DAMPING) / N + DAMPING * sum_j p_j * w_ji / sum_i w_ji, repeated from the uniform p. An edge weighs its
    cosine (Erkan and Radev's continuous form: in a pool of one topic nearly all cosines pass the threshold, and edges
    of one weight would tell nothing). As theirs, a vector has an edge to itself. O(N^2 * (d + ITERATIONS)).
    """
    weights = units @ units.T
    weights[weights < THRESHOLD] = 0
    np.fill_diagonal(weights, 1)
    weights /= weights.sum(axis=1, keepdims=True)
    rank = uniform = np.full(len(units), 1 / max(len(units), 1))
    for _ in range(ITERATIONS):
        rank = (1 - DAMPING) * uniform + DAMPING * (rank @ weights)
    return rank


def _pick(pool: CandidatePool, _target: TargetDistribution, k: int, options: Options) -> list[int]:
    return affordable(pool, best_first(pool, centrality(pool.unit_embeddings)), k, options.token_budget)


lexrank = Selector(_pick, needs_bins=False, needs=("embeddings",))
"""The k most central candidates of the pool's cosine-similarity graph, which is PageRank with damping 0.85 and 50
iterations over cosines of at least 0.1. Relevance decides only between equals.

O(N^2 * (d + 50)). Erkan and Radev 2004; LMVU, "Baseline Definitions".
"""
