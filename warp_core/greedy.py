"""The one take-the-best loop over bins.

Inside a bin all candidates move the distribution alike, so only the most relevant one left can win a step: a step
compares n_bins fronts instead of N candidates, with the same outcome as the papers' loops over the whole pool.
"""

from itertools import accumulate
from math import inf
from typing import Protocol

from warp_core.candidates import CandidatePool, Options
from warp_core.scale import OpinionScale
from warp_core.target import TargetDistribution

TIE = 1e-9
"""Scores closer than this are equal; the more relevant candidate wins, then the earlier one."""


class RunningCost(Protocol):
    """The cost of a list that grows by one document at a time.

    `tie`: costs of the next step within this distance of the lowest are equal.
    """

    tie: float

    def of_one_more(self) -> list[float]:
        """For each bin, the cost of the list with one document of it more, up to a constant of the step."""

    def add(self, b: int) -> None:
        """The document taken after the last `of_one_more` was of bin b."""


def take_best(pool: CandidatePool, k: int, running: RunningCost, options: Options | None = None) -> list[int]:
    """Take k candidates, each time the one with the lowest cost - options.weight * options.relevance.

    Parameters
    ----------
    running : the cost of a list that is still empty.

    Returns
    -------
    Positions in the pool, in picking order; fewer than k when the bins run out.

    Notes
    -----
    O(N log N + k * n_bins).
    """
    queues = [queue[::-1] for queue in pool.queues()]  # the best last, so that taking it is a pop
    closed = [b for b, queue in enumerate(queues) if not queue]
    relevance = pool.relevance.tolist()
    weight, blended = (options.weight, options.relevance.tolist()) if options else (0.0, relevance)

    def front(b: int) -> tuple[float, int, int]:
        position = queues[b][-1]
        return -relevance[position], position, b  # sorts as the tie rule wants

    fronts = [front(b) if queue else (0.0, -1, b) for b, queue in enumerate(queues)]
    picked: list[int] = []
    for _ in range(min(k, sum(map(len, queues)))):
        cost = running.of_one_more()
        if options:
            cost = [c - weight * blended[f[1]] for c, f in zip(cost, fronts, strict=True)]
        for b in closed:
            cost[b] = inf
        if running.tie:
            lowest = min(cost)
            within = lowest + running.tie
            cost = [lowest if c <= within else c for c in cost]
        _, (_, position, b) = min(zip(cost, fronts, strict=True))
        picked.append(position)
        running.add(b)
        queues[b].pop()
        if queues[b]:
            fronts[b] = front(b)
        else:
            closed.append(b)
    return picked


class TransportCost:
    """W1 as a `RunningCost`, in whole numbers, relative to adding the document to the lowest bin.

    With B_i = C_i * D - T_i * (n + 1), a document of bin b makes every B_i, i >= b, larger by D, so bin b + 1 costs
    gap_b * (|B_b| - |B_b + D|) more than bin b, which is -gap_b * (2 B_b + D) cut to -D .. D: one pass serves all
    bins (for D, T_i, C_i and n see `warp_core.transport`).
    """

    def __init__(self, target: TargetDistribution, scale: OpinionScale) -> None:
        self._total = target.total
        self._length = 0
        self._slide = [2 * aim for aim in target.cumulative[:-1]]
        self._balance = [target.total] * len(self._slide)  # 2 B_i + D
        self._gaps = None if set(scale.gaps) == {1} else scale.gaps
        self._tie_per_document = TIE * target.total / scale.unit
        self.tie: float = 0  # grows with the list as costs do; below 1, whole numbers that differ are never equal

    def of_one_more(self) -> list[float]:
        total = self._total
        self._length += 1
        self.tie = int(self._tie_per_document * self._length)
        self._balance = [v - s for v, s in zip(self._balance, self._slide, strict=True)]
        turns = [-total if v > total else total if v < -total else -v for v in self._balance]
        if self._gaps:
            turns = [gap * turn for gap, turn in zip(self._gaps, turns, strict=True)]
        return list(accumulate(turns, initial=0))

    def add(self, b: int) -> None:
        balance, double = self._balance, 2 * self._total
        for i in range(b, len(balance)):
            balance[i] += double
