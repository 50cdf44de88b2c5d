"""W1-MMR (WARP, algorithm 4)."""

from warp_core.candidates import CandidatePool, Options
from warp_core.greedy import TIE, TransportCost, take_best
from warp_core.native import Method, compiled
from warp_core.scale import OpinionScale
from warp_core.selectors.base import Selector
from warp_core.target import TargetDistribution
from warp_core.transport import w1_of_counts


@compiled(Method.W1_MMR)
def _pick(pool: CandidatePool, target: TargetDistribution, k: int, options: Options) -> list[int]:
    running = _RelativeGain(target, pool.scale, 1 - options.weight)
    return take_best(pool, k, running, options)


class _RelativeGain:
    """The papers' gain (W_cur - W_new) / W_cur as a cost: weight * W_new / W_cur, up to a constant of the step."""

    def __init__(self, target: TargetDistribution, scale: OpinionScale, weight: float) -> None:
        self._transport = TransportCost(target, scale)
        self._counts = [0] * scale.n_bins
        self._target, self._scale, self._weight = target, scale, weight
        self.tie = TIE

    def of_one_more(self) -> list[float]:
        n = sum(self._counts)
        current = w1_of_counts(self._counts, self._target, self._scale) if n else self._scale.range
        weight = self._weight * self._scale.unit / ((n + 1) * self._target.total * max(current, TIE))
        return [weight * cost for cost in self._transport.of_one_more()]

    def add(self, b: int) -> None:
        self._counts[b] += 1
        self._transport.add(b)


w1_mmr = Selector(_pick, relevance_weight=0.5, rel_norm="minmax", has_redundancy_weight=True)
"""The whole pool; each step maximises lambda * relevance + (1 - lambda) * (W1_cur - W1_new) / W1_cur.

W1_cur of the empty selection is the scale's range; one under 1e-9 counts as 1e-9. O(N log N + k * n_bins).
"""
