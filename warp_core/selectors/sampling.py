"""Sampling baselines (WARP, G): blind to the target, and with the target as an oracle."""

import numpy as np

from warp_core.candidates import CandidatePool, Options
from warp_core.quotas import within_capacity
from warp_core.selectors.base import Selector
from warp_core.selectors.ranking import affordable, most_relevant_first
from warp_core.target import TargetDistribution


def _sample(pool: CandidatePool, _target: TargetDistribution, k: int, options: Options) -> list[int]:
    order = np.random.default_rng(options.seed).permutation(len(pool)).tolist()
    return most_relevant_first(pool, affordable(pool, order, k, options.token_budget))


def _fill_quotas(pool: CandidatePool, target: TargetDistribution, k: int, _options: Options) -> list[int]:
    quotas = within_capacity(target.weights, pool.counts(), min(k, len(pool)))
    queues = pool.queues(k)
    return most_relevant_first(pool, (p for queue, quota in zip(queues, quotas, strict=True) for p in queue[:quota]))


random = Selector(_sample, needs_bins=False)
"""A uniform sample of k, drawn with `seed`, ordered by relevance. O(N log N)."""

stratified = Selector(_fill_quotas, scope="entity")
"""The oracle stratified sampler: of each bin the most relevant, as many as its largest-remainder share of k places.

Entity-matched candidates only; ordered by relevance. A quota that its bin cannot fill is shared out again among the
bins that still can (`within_capacity`). O(N log N + n_bins^2 log n_bins).
"""
