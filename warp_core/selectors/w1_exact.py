"""The provably best selection under W1, at the cost of the greedy one. Ours; no peer has it.

Inside a bin only the most relevant candidates can be chosen, so a selection is a count for each bin. With C_i the
cumulative counts, the objective is sum_i |C_i * D - T_i * k| * gap_i, convex in each C_i, minus one concave reward a
bin (the sum of its best relevances). So the best cost of filling the first bins with C documents, f(C), is convex in
C, and adding a bin is an infimal convolution of convex functions: the increments of f and the bin's own are merged in
order. Each increment carries its candidate, and the first C of them are the optimal set of C documents.

For relevance weight 0 the order is lexicographic (W1, then relevance): increments are (whole number, -relevance).
"""

from dataclasses import replace

from warp_core import arguments
from warp_core.candidates import CandidatePool, Options, Scope
from warp_core.greedy import GRID, TransportCost, take_best
from warp_core.native import Method, compiled
from warp_core.selectors.base import Selector
from warp_core.target import TargetDistribution
from warp_core.transport import w1_of_counts

_LARGEST_ON_GRID = 2.0**60
"""Larger relevances have no digits that a grid could round off."""

Increment = tuple[int, float, int]
"""(cost, -relevance, position) of one document more; the cost is a whole number, so that equals are equal."""


@compiled(Method.W1_EXACT)
def _pick(pool: CandidatePool, target: TargetDistribution, k: int, options: Options) -> list[int]:
    best = best_set(pool, target, k, options)
    # In the order in which the minimizer would take from the same bins, so that prefixes are good selections too.
    return take_best(
        pool, len(best), TransportCost(target, pool.scale), replace(options, weight=0.0), pool.counts(best)
    )


def best_set(pool: CandidatePool, target: TargetDistribution, k: int, options: Options) -> list[int]:
    """Positions of the k candidates of known bin that minimise (1 - w) * W1 / range - w * mean(relevance).

    With w = 0: minimum W1, then maximum total relevance. In no particular order.
    O(N log N + n_bins * k log k).
    """
    queues = pool.queues(k)
    size = min(k, sum(map(len, queues)))
    total, unit = target.total, pool.scale.unit
    transport, reward = 1.0, 0.0
    relevance = pool.relevance.tolist()
    blended = options.relevance.tolist()
    if options.weight and size:
        transport = (1 - options.weight) * unit / (pool.scale.range * size * total)
        reward = options.weight / size
    grid = GRID if max(map(abs, blended), default=0) < _LARGEST_ON_GRID else 1
    best: list[Increment] = []
    for b, queue in enumerate(queues):
        own = [(-round(reward * blended[p] * grid) if reward else 0, -relevance[p], p) for p in queue]
        best = sorted(best + own)[:size]
        if b < len(pool.scale.gaps):
            aim, gap = target.cumulative[b] * size, pool.scale.gaps[b]
            slope = [gap * (abs((c + 1) * total - aim) - abs(c * total - aim)) for c in range(len(best))]
            if reward:
                slope = [round(transport * step * grid) for step in slope]
            best = [(cost + s, rel, p) for (cost, rel, p), s in zip(best, slope, strict=True)]
    return [position for _, _, position in best]


w1_exact = Selector(_pick, scope="entity", relevance_weight=0.0, rel_norm="none", has_redundancy_weight=True)
"""Over all k-subsets of the eligible candidates: minimum W1, then maximum total relevance; or, with a relevance
weight w above 0, minimum of (1 - w) * W1 / range - w * mean(relevance). Exact; O(N log N + n_bins * k log k)."""


def reachable_w1(pool: CandidatePool, target: TargetDistribution, k: int, scope: Scope = "entity") -> float:
    """The lowest W1 that any k eligible candidates of known bin have, in scale units; nan when there are none.

    With fewer than k eligible: that of all of them.

    Notes
    -----
    Each |C_i * D - T_i * k| is smallest where C_i is T_i * k / D to the nearest whole number, and these C_i never fall
    with i. So where each bin has as many candidates as they ask for, that is the lowest of all; only else `w1_exact`
    has to look for it.
    """
    counts = pool.counts(matched_only=scope == "entity")
    total = target.total
    size = min(arguments.whole_number("k", k, 1), sum(counts))
    nearest = [(2 * aim * size + total) // (2 * total) for aim in target.cumulative]
    ideal = [upper - lower for lower, upper in zip([0, *nearest], nearest, strict=False)]
    if size and all(wanted <= there for wanted, there in zip(ideal, counts, strict=True)):
        return w1_of_counts(ideal, target, pool.scale)
    return w1_exact(pool, target, k, scope=scope).w1
