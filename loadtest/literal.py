"""What the benchmarks compare with: the papers' algorithms as they are printed, and the usual NumPy form of them.

The literal forms score every remaining candidate of every step with a distance between two distributions, as in
algorithms 1 and 4; the vectorised ones score all candidates of a step at once. All work on even scales of gap 10.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import linear_sum_assignment

Array = np.ndarray
Distance = Callable[[Array, Array], float]

GAP, LAMBDA, FLOOR = 10.0, 0.5, 1e-9


def w1(p: Array, q: Array) -> float:
    return float(np.abs(np.cumsum(p) - np.cumsum(q))[:-1].sum() * GAP)


def js(p: Array, q: Array) -> float:
    middle = (p + q) / 2
    return (_kl(p, middle) + _kl(q, middle)) / 2


def _kl(p: Array, q: Array) -> float:
    held = p > 0
    return float((p[held] * np.log2(p[held] / q[held])).sum())


def _shares(bins: Array, chosen: list[int], m: int) -> Array:
    counts = np.bincount(bins[chosen], minlength=m)
    return counts / counts.sum()


def _minimizer(relevance: Array, bins: Array, target: Array, k: int, distance: Distance) -> list[int]:
    """Algorithm 1: each step adds the candidate with the smallest distance, ties by relevance."""
    chosen: list[int] = []
    left = list(range(len(bins)))
    while len(chosen) < k:
        best = min(left, key=lambda d: (distance(_shares(bins, [*chosen, d], len(target)), target), -relevance[d]))
        chosen.append(best)
        left.remove(best)
    return chosen


def _mmr(relevance: Array, bins: Array, target: Array, k: int, distance: Distance, furthest: float) -> list[int]:
    """Algorithm 4: each step maximises lambda * relevance + (1 - lambda) * relative gain."""
    chosen: list[int] = []
    left = list(range(len(bins)))
    while len(chosen) < k:
        current = max(distance(_shares(bins, chosen, len(target)), target) if chosen else furthest, FLOOR)

        def score(d: int, now: float = current) -> float:
            new = distance(_shares(bins, [*chosen, d], len(target)), target)
            return LAMBDA * relevance[d] + (1 - LAMBDA) * (now - new) / now

        best = max(left, key=score)
        chosen.append(best)
        left.remove(best)
    return chosen


def w1_minimizer(relevance: Array, bins: Array, target: Array, k: int) -> list[int]:
    return _minimizer(relevance, bins, target, k, w1)


def js_minimizer(relevance: Array, bins: Array, target: Array, k: int) -> list[int]:
    return _minimizer(relevance, bins, target, k, js)


def w1_mmr(relevance: Array, bins: Array, target: Array, k: int) -> list[int]:
    return _mmr(relevance, bins, target, k, w1, GAP * (len(target) - 1))


def js_mmr(relevance: Array, bins: Array, target: Array, k: int) -> list[int]:
    return _mmr(relevance, bins, target, k, js, 1.0)


def wassrank_ot(relevance: Array, bins: Array, target: Array, k: int) -> list[int]:
    """The whole rectangular assignment of all candidates to k proportional slots."""
    quota = np.floor(k * target).astype(int)
    rest = np.argsort(-(k * target - quota), kind="stable")[: k - quota.sum()]
    quota[rest] += 1
    slots = np.repeat(np.arange(len(target)), quota)
    spread = relevance.max() - relevance.min()
    penalty = 1 - (relevance - relevance.min()) / spread
    cost = np.empty((len(bins), k))
    for d in range(len(bins)):
        for slot in range(k):
            cost[d, slot] = (1 - LAMBDA) * abs(bins[d] - slots[slot]) / (len(target) - 1) + LAMBDA * penalty[d]
    rows, _ = linear_sum_assignment(cost)
    return sorted(rows.tolist(), key=lambda d: -relevance[d])


def _vectorised(
    relevance: Array, bins: Array, target: Array, k: int, distances: Callable[[Array, Array], Array], furthest: float
) -> list[int]:
    """Each step measures all candidates' lists at once. `furthest` > 0: blended with relevance as in algorithm 4."""
    unit = np.eye(len(target))[bins]
    counts, current = np.zeros(len(target)), furthest
    free = np.ones(len(bins), bool)
    chosen: list[int] = []
    for n in range(1, k + 1):
        new = distances((counts + unit) / n, target)
        scores = LAMBDA * relevance + (1 - LAMBDA) * (current - new) / current if furthest else -new
        scores[~free] = -np.inf
        tied = np.flatnonzero(scores >= scores.max() - FLOOR)
        best = int(tied[np.argmax(relevance[tied])])
        chosen.append(best)
        free[best] = False
        counts += unit[best]
        current = max(float(new[best]), FLOOR)
    return chosen


def _w1_all(shares: Array, target: Array) -> Array:
    return np.abs(np.cumsum(shares, 1)[:, :-1] - np.cumsum(target)[:-1]).sum(1) * GAP


def _js_all(shares: Array, target: Array) -> Array:
    middle = (shares + target) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(shares > 0, shares * np.log2(shares / middle), 0).sum(1)
        q = np.where(target > 0, target * np.log2(target / middle), 0).sum(1)
    return (p + q) / 2


def w1_minimizer_vectorised(relevance: Array, bins: Array, target: Array, k: int) -> list[int]:
    return _vectorised(relevance, bins, target, k, _w1_all, 0)


def w1_mmr_vectorised(relevance: Array, bins: Array, target: Array, k: int) -> list[int]:
    return _vectorised(relevance, bins, target, k, _w1_all, GAP * (len(target) - 1))


def js_minimizer_vectorised(relevance: Array, bins: Array, target: Array, k: int) -> list[int]:
    return _vectorised(relevance, bins, target, k, _js_all, 0)


def js_mmr_vectorised(relevance: Array, bins: Array, target: Array, k: int) -> list[int]:
    return _vectorised(relevance, bins, target, k, _js_all, 1.0)
