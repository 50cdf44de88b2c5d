"""OpinionMMR (WARP, 3.2): maximal marginal relevance whose similarity is nearness of opinion."""

from warp_core.candidates import CandidatePool, Options
from warp_core.greedy import TIE, take_best
from warp_core.scale import OpinionScale
from warp_core.selectors.base import Selector
from warp_core.target import TargetDistribution


def _pick(pool: CandidatePool, _target: TargetDistribution, k: int, options: Options) -> list[int]:
    return take_best(pool, k, _NearestOpinion(pool.scale, 1 - options.weight), options)


class _NearestOpinion:
    """weight * similarity to the nearest opinion taken so far, as a `RunningCost`; 0 before the first."""

    def __init__(self, scale: OpinionScale, weight: float) -> None:
        self._positions = scale.positions
        self._weight, self._per_distance = weight, weight / scale.range
        self._cost = [0.0] * scale.n_bins
        self.tie = TIE

    def of_one_more(self) -> list[float]:
        return self._cost.copy()

    def add(self, b: int) -> None:
        taken = self._positions[b]
        to_taken = [self._weight - self._per_distance * abs(position - taken) for position in self._positions]
        self._cost = list(map(max, self._cost, to_taken))


opinion_mmr = Selector(_pick, relevance_weight=0.5, rel_norm="minmax")
"""Each step maximises lambda * relevance - (1 - lambda) * max_j (1 - |s_d - s_j| / range) over the chosen j.

The target plays no part. Only bins matter for similarity, so O(N log N + k * n_bins).
"""
