"""WassRank OT (WARP, 3.4): k slots in proportion to the target, filled by the cheapest assignment of candidates.

Along a line the cheapest way to assign one list to another of the same length pairs them in order, at the cost of
length * W1 between their shares. So the minimum-cost assignment, for which WARP solves the rectangular assignment
problem in O(k^2 * N) (Crouse 2016), is what `w1_exact` finds with the slots as the target:

    sum_d (1 - w) * |s_d - s_slot(d)| / range + w * (1 - relevance_d)
        = k * ((1 - w) * W1(chosen, slots) / range - w * mean(relevance) + w),    w = relevance_weight
"""

from dataclasses import replace
from functools import partial

import numpy as np

from warp_core.candidates import CandidatePool, Options
from warp_core.greedy import TIE
from warp_core.quotas import Apportionment, largest_remainder, rounded_cumulative
from warp_core.selectors.base import Selector
from warp_core.selectors.ranking import most_relevant_first
from warp_core.selectors.w1_exact import w1_exact
from warp_core.target import TargetDistribution


def _pick(
    apportion: Apportionment, pool: CandidatePool, target: TargetDistribution, k: int, options: Options
) -> list[int]:
    matched = np.flatnonzero(pool.matched)
    if k <= len(matched) < len(pool):
        part = replace(options, relevance=options.relevance[matched])
        picked: list[int] = matched[_pick(apportion, pool.take(matched), target, k, part)].tolist()
        return picked
    size = min(k, len(pool))
    slots = TargetDistribution.of_counts(apportion(target.weights, size))
    # Equal costs differ by rounding, which would settle ties; a part of a tie, larger than that, settles them by rank.
    handicap = TIE / (len(pool) + 1) * np.argsort(pool.by_relevance)
    ranked = replace(options, relevance=options.relevance - handicap)
    return most_relevant_first(pool, w1_exact.pick(pool, slots, size, ranked))


wassrank_ot = Selector(partial(_pick, largest_remainder), relevance_weight=0.5, rel_norm="minmax")
"""k slots by largest remainder of k * P_pop, filled at minimum cost; ordered by relevance.

Entity-matched candidates only when there are k of them, else the whole pool. Of assignments of equal cost, that of the
more relevant candidates wins, then that of the earlier ones. O(N log N + n_bins * k log k).
"""

wassrank_ot_cumulative = Selector(partial(_pick, rounded_cumulative), relevance_weight=0.5, rel_norm="minmax")
"""The same with slots by rounding k times the cumulative target, which have the least W1 that k slots can have.

Ours: the rounding of the slots is most of what `wassrank_ot` loses against `w1_exact`.
"""
