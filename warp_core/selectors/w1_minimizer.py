"""W1 Minimizer (WARP, algorithm 1)."""

from warp_core.candidates import CandidatePool
from warp_core.greedy import TIE, TransportCost, take_best
from warp_core.selectors.base import Selector
from warp_core.target import TargetDistribution


def _pick(pool: CandidatePool, target: TargetDistribution, k: int, _relevance_weight: float) -> list[int]:
    # Costs are whole numbers that grow with the list, so its full length gives the widest tie; that is still 0, an
    # exact comparison, unless the target's total times k reaches 1e9.
    tie = int(TIE * target.total * k / pool.scale.unit)
    return take_best(pool, k, TransportCost(target, pool.scale), tie=tie)


w1_minimizer = Selector(_pick, scope="entity")
"""Entity-matched candidates only; each step adds the one whose addition gives the smallest W1 to the target.

The same output as the literal algorithm, in O(N log N + k * n_bins) instead of O(N * k * n_bins).
"""
