"""W1 Minimizer (WARP, algorithm 1)."""

from warp_core.candidates import CandidatePool, Options
from warp_core.greedy import TransportCost, take_best
from warp_core.native import Method, compiled
from warp_core.selectors.base import Selector
from warp_core.target import TargetDistribution


@compiled(Method.W1_MINIMIZER)
def _pick(pool: CandidatePool, target: TargetDistribution, k: int, options: Options) -> list[int]:
    return take_best(pool, k, TransportCost(target, pool.scale), options)


w1_minimizer = Selector(_pick, scope="entity", has_redundancy_weight=True)
"""Entity-matched candidates only; each step adds the one whose addition gives the smallest W1 to the target.

The same output as the literal algorithm, in O(N log N + k * n_bins) instead of O(N * k * n_bins).
"""
