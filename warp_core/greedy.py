"""The one take-the-best loop over bins.

Inside a bin all candidates move the distribution alike, so only the most relevant one left can win a step: a step
compares n_bins fronts instead of N candidates, with the same outcome as the papers' loops over the whole pool.
"""

from collections.abc import Sequence
from itertools import accumulate
from math import inf
from typing import Protocol

import numpy as np

from warp_core.candidates import CandidatePool, Options, normalised
from warp_core.scale import OpinionScale
from warp_core.target import TargetDistribution

TIE = 1e-9
"""Scores closer than this are equal; the more relevant candidate wins, then the earlier one."""


GRID = 2**40
"""Blended costs that are summed are rounded to multiples of 1 / GRID first, far below a tie, so that sums are exact."""


class RunningCost(Protocol):
    """The cost of a list that grows by one document at a time.

    `tie`: costs of the next step within this distance of the lowest are equal.
    """

    tie: float

    def of_one_more(self) -> list[float]:
        """For each bin, the cost of the list with one document of it more, up to a constant of the step."""

    def add(self, b: int) -> None:
        """The document taken after the last `of_one_more` was of bin b."""


def take_best(
    pool: CandidatePool, k: int, running: RunningCost, options: Options, room: Sequence[int] | None = None
) -> list[int]:
    """Take k candidates, each time the one with the lowest cost - weight * relevance (both from `options`).

    Parameters
    ----------
    running : the cost of a list that is still empty.
    room : how many candidates each bin may give, length n_bins; no limit when left out.

    Returns
    -------
    Positions in the pool, in picking order; fewer than k when the bins run out.

    Notes
    -----
    O(N log N + k * n_bins); with a redundancy weight O(k * N * d).
    """
    fronts = NovelFronts(pool, k, options) if options.redundancy_weight else Fronts(pool, k)
    left = [k] * pool.scale.n_bins if room is None else list(room)
    closed = [b for b, size in enumerate(fronts.sizes) if not min(size, left[b])]
    weight, blended = options.weight, options.relevance.tolist()
    picked: list[int] = []
    while len(closed) < len(left) and len(picked) < k:
        cost = running.of_one_more()
        if weight:
            cost = [c - weight * blended[f[1]] for c, f in zip(cost, fronts.best, strict=True)]
        for b in closed:
            cost[b] = inf
        if running.tie:
            lowest = min(cost)
            within = lowest + running.tie
            cost = [lowest if c <= within else c for c in cost]
        _, (_, _, b) = min(zip(cost, fronts.best, strict=True))
        picked.append(fronts.take(b))
        running.add(b)
        left[b] -= 1
        if not min(left[b], fronts.sizes[b]):
            closed.append(b)
    return picked


Front = tuple[float, int, int]
"""(-relevance, position, bin) of a bin's best candidate: sorts as the tie rule wants."""


class Fronts:
    """The best remaining candidate of each bin: the most relevant, of equals the earliest.

    `best`: one a bin; of an emptied bin it means nothing. `sizes`: how many each bin has left.
    """

    def __init__(self, pool: CandidatePool, k: int) -> None:
        self._relevance = pool.relevance.tolist()
        self._queues = [queue[::-1] for queue in pool.queues(k)]  # the best last, so that taking it is a pop
        self.sizes = [len(queue) for queue in self._queues]
        self.best: list[Front] = [self._front(b) for b in range(len(self._queues))]

    def _front(self, b: int) -> Front:
        if not self._queues[b]:
            return 0.0, -1, b
        position = self._queues[b][-1]
        return -self._relevance[position], position, b

    def take(self, b: int) -> int:
        """Take the best of bin b, whose next one becomes the best; returns its position."""
        position = self._queues[b].pop()
        self.sizes[b] -= 1
        self.best[b] = self._front(b)
        return position


class NovelFronts(Fronts):
    """The same bins in the same order, but inside a bin relevance is traded against redundancy.

    Taken is the candidate that maximises (1 - r) * relevance - r * (largest cosine to what is taken), with relevance
    stretched to 0 .. 1 over the pool. `best` stays what it would be without, so that no W1 differs.
    """

    def __init__(self, pool: CandidatePool, k: int, options: Options) -> None:
        super().__init__(pool, k)
        self._pool = pool
        self._weight = options.redundancy_weight
        self._gain = (1 - self._weight) * normalised(pool.relevance, "minmax")
        self._similarity = np.zeros(len(pool))
        self._left = pool.bins.copy()  # -1 once taken

    def take(self, b: int) -> int:
        super().take(b)
        members = np.flatnonzero(self._left == b)
        score = self._gain[members] - self._weight * self._similarity[members]
        tied = members[score >= score.max() - TIE]
        position = int(tied[np.argmax(self._pool.relevance[tied])])
        self._left[position] = -1
        units = self._pool.unit_embeddings
        np.maximum(self._similarity, units @ units[position], out=self._similarity)
        return position


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
