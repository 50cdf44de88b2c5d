"""Baselines over clusters of the pool: round robin, and xQuAD with clusters as aspects (LMVU's baselines)."""

from itertools import chain, zip_longest
from math import ceil, inf, sqrt

import numpy as np

from warp_core.candidates import CandidatePool, Options
from warp_core.distributions import FloatArray, IntArray
from warp_core.greedy import TIE
from warp_core.selectors.base import Selector
from warp_core.selectors.ranking import affordable
from warp_core.selectors.similarity_greedy import take_highest
from warp_core.target import TargetDistribution

ITERATIONS = 25
"""Rounds of k-means at most (LMVU, "Baseline Definitions")."""
MOST_CLUSTERS = 12
MOST_ASPECTS = 10
"""No more clusters than these, however large the pool (same source)."""


def spherical_kmeans(units: FloatArray, n_clusters: int, seed: int) -> IntArray:
    """The cluster of each unit vector, 0 .. n_clusters - 1, so that cosines to the clusters' means are high.

    Parameters
    ----------
    units : shape (N, d), of length 1 or 0.
    n_clusters : at most N.
    seed : of the draw of the first centres, which are vectors of the pool.

    Returns
    -------
    Shape (N,). Some clusters may be empty; of cosines within 1e-9 of the best the lower number counts.

    Notes
    -----
    O(N * n_clusters * d) a round. Dhillon and Modha 2001.
    """
    labels = np.full(len(units), -1, np.intp)
    if not len(units):
        return labels
    rng = np.random.default_rng(seed)
    centres = units[rng.choice(len(units), n_clusters, replace=False)]
    for _ in range(ITERATIONS):
        cosines = units @ centres.T
        nearest = (cosines > cosines.max(axis=1, keepdims=True) - TIE).argmax(axis=1)
        if (nearest == labels).all():
            break
        labels = nearest
        sums = (labels == np.arange(n_clusters)[:, None]) @ units
        centres = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), TIE)  # 0 where a cluster is empty
    return labels


def _clusters(pool: CandidatePool, most: int, seed: int) -> IntArray:
    """As many clusters as the root of the pool's size, at least 2, at most `most`."""
    n = len(pool)
    return spherical_kmeans(pool.unit_embeddings, min(n, most, max(2, ceil(sqrt(n)))), seed)


def _pick_round_robin(pool: CandidatePool, _target: TargetDistribution, k: int, options: Options) -> list[int]:
    labels = _clusters(pool, MOST_CLUSTERS, options.seed).tolist()
    queues: dict[int, list[int]] = {}  # made on the way down from the most relevant, so in the order wanted
    for position in pool.by_relevance.tolist():
        queues.setdefault(labels[position], []).append(position)
    rounds = chain.from_iterable(zip_longest(*queues.values()))
    return affordable(pool, (position for position in rounds if position is not None), k, options.token_budget)


class _AspectCoverage:
    """gain_i + bonus while the aspect of i is not yet in the list."""

    def __init__(self, gain: FloatArray, bonus: float, aspects: IntArray) -> None:
        self.score = gain + bonus
        self._bonus, self._aspects = bonus, aspects
        self._seen: set[int] = set()

    def add(self, position: int) -> None:
        aspect = int(self._aspects[position])
        if aspect not in self._seen:
            self._seen.add(aspect)
            self.score[self._aspects == aspect] -= self._bonus
        self.score[position] = -inf


def _pick_aspects(pool: CandidatePool, _target: TargetDistribution, k: int, options: Options) -> list[int]:
    aspects = _clusters(pool, MOST_ASPECTS, options.seed)
    bonus = (1 - options.weight) / max(len(np.unique(aspects)), 1)
    return take_highest(pool, k, _AspectCoverage(options.weight * options.relevance, bonus, aspects), options)


cluster = Selector(_pick_round_robin, needs_bins=False, needs=("embeddings",))
"""Round robin over the clusters of a spherical k-means, ordered by their most relevant member: of each the next most
relevant. The first centres are drawn with `seed`; min(12, max(2, sqrt N)) clusters, 25 rounds at most.

O(25 * N^1.5 * d). LMVU, "Baseline Definitions".
"""

xquad = Selector(_pick_aspects, relevance_weight=0.5, rel_norm="minmax", needs_bins=False, needs=("embeddings",))
"""xQuAD: each step maximises w * relevance + (1 - w) * sum_a P(a) * P(d|a) * prod_j (1 - P(j|a)) over the chosen j.

The aspects a are the clusters of a spherical k-means, all of equal weight; P(d|a) is 1 inside the cluster and 0
outside, so an aspect counts until it has one document. w is 1 less the paper's lambda. min(10, max(2, sqrt N)) aspects,
`seed` as for `cluster`. O(25 * N^1.5 * d + k * N). Santos et al. 2010; LMVU, "Baseline Definitions".
"""
