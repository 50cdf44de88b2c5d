"""MMKP: one candidate of each group of near-duplicates, as a multiple-choice knapsack (Xu et al.; LMVU's baselines)."""

import numpy as np
import scipy  # loads its parts when they are first used: a quarter of a second, once

from warp_core.candidates import CandidatePool, Options
from warp_core.distributions import FloatArray, IntArray
from warp_core.greedy import TIE
from warp_core.selectors.base import Selector
from warp_core.selectors.ranking import most_relevant_first
from warp_core.selectors.similarity_greedy import then_by_relevance
from warp_core.target import TargetDistribution

THRESHOLD = 0.82
"""Candidates whose cosine is at least this say the same (LMVU, "Baseline Definitions")."""


def near_duplicates(units: FloatArray) -> IntArray:
    """The group of each unit vector, shape (N,): chains of neighbours with a cosine of at least the threshold."""
    neighbours = scipy.sparse.csr_array(units @ units.T >= THRESHOLD)
    groups: IntArray = scipy.sparse.csgraph.connected_components(neighbours, directed=False)[1]
    return groups


def best_load(value: FloatArray, tokens: IntArray, groups: IntArray, k: int, budget: int) -> list[int]:
    """At most k items, at most one a group, within the budget, of the highest total value; in no particular order.

    Groups are gone through from the one with the highest value down. A state is what a choice among the groups so far
    costs, how many items it has, and what they are worth. Kept are the states that no other dominates (Pareto pruning)
    and that can still reach the best known.

    Parameters
    ----------
    value, tokens, groups : shape (N,); what is worth nothing is left out.

    Returns
    -------
    Indices of the items; of equal totals those of fewer items, then of fewer tokens.

    Notes
    -----
    Exact. At worst O(N * k * budget) states in all; as a rule some hundreds a group.
    """
    useful = np.flatnonzero((value > 0) & (tokens <= budget))
    stages = _by_group(useful[np.argsort(-value[useful], kind="stable")], groups)
    worth = np.concatenate([[0.0], np.cumsum([value[stage[0]] for stage in stages])])
    most = min(len(stages), int(np.searchsorted(np.cumsum(np.sort(tokens[useful])), budget, side="right")))
    one, k = int(k < most), min(k, most)  # where k cannot bind, items count nothing, and fewer states differ
    cost, count, total = np.zeros(1, np.intp), np.zeros(1, np.intp), np.zeros(1)
    steps: list[tuple[IntArray, IntArray]] = []
    for done, stage in enumerate(stages, 1):
        items = np.array([*stage, -1])  # each state goes on with one of the group, or with none
        cost = np.add.outer([*tokens[stage], 0], cost)
        count = np.add.outer([one] * len(stage) + [0], count)
        total = np.add.outer([*value[stage], 0.0], total)
        shape, cost, count, total = cost.shape, cost.ravel(), count.ravel(), total.ravel()
        allowed = np.flatnonzero((cost <= budget) & (count <= k))
        last = np.minimum(done + k - count[allowed], len(stages))
        reachable = total[allowed] + (worth[last] - worth[done])
        hopeful = allowed[reachable >= total[allowed].max() - TIE]
        kept = hopeful[_undominated(cost[hopeful], count[hopeful], total[hopeful])]
        choice, parent = np.unravel_index(kept, shape)
        steps.append((items[choice], parent))
        cost, count, total = cost[kept], count[kept], total[kept]
    chosen: list[int] = []
    state = total.argmax()
    for taken, parent in reversed(steps):
        if taken[state] >= 0:
            chosen.append(int(taken[state]))
        state = parent[state]
    return chosen


def _by_group(items: IntArray, groups: IntArray) -> list[list[int]]:
    """Items of each group, both in the order in which they come."""
    stages: dict[int, list[int]] = {}
    for item in items.tolist():
        stages.setdefault(int(groups[item]), []).append(item)
    return list(stages.values())


def _undominated(cost: IntArray, count: IntArray, total: FloatArray) -> IntArray:
    """Indices of the states of which no other with as many items has as much value for as little."""
    order = np.lexsort((-total, cost, count))
    lifted = total[order] + count[order] * (total.max() + 1)  # so that each count starts anew
    highest = np.maximum.accumulate(lifted)
    keep: IntArray = order[np.append(True, lifted[1:] > highest[:-1])]
    return keep


def _pick(pool: CandidatePool, _target: TargetDistribution, k: int, options: Options) -> list[int]:
    if not len(pool):
        return []
    groups, budget, tokens = near_duplicates(pool.unit_embeddings), options.token_budget, pool.tokens
    picked = [members[0] for members in _by_group(pool.by_relevance, groups)][:k]
    if budget is not None and tokens is not None and tokens[picked].sum() > budget:
        picked = most_relevant_first(pool, best_load(options.relevance, tokens, groups, k, budget))
    return then_by_relevance(pool, picked, k, options)


mmkp = Selector(_pick, rel_norm="minmax", needs_bins=False, needs=("embeddings",))
"""At most one candidate of each group of near-duplicates, so that total relevance is highest; ordered by relevance.

Groups are the connected components of cosines of at least 0.82. Without a token budget that is the most relevant of
each group; with one, a multiple-choice knapsack, solved exactly by a Pareto-pruned dynamic programme over normalised
relevance. When all groups, or the budget for what they offer, are used up, the most relevant of the rest follow, as far
as the budget covers them. O(N^2 * d), and the knapsack's states. Xu et al.; LMVU, "Baseline Definitions".
"""
