"""Calibration by Jensen-Shannon divergence (Steck 2018; WARP, 3.2 and C.1): the W1 selectors with another measure.

The divergence knows no order of the bins: it charges a confusion of -30 with +30 no more than one of neighbours.
"""

from math import log2

from warp_core.candidates import CandidatePool, Options
from warp_core.distributions import entropy
from warp_core.greedy import TIE, take_best
from warp_core.native import Method, compiled
from warp_core.selectors.base import Selector
from warp_core.target import TargetDistribution

LARGEST_DIVERGENCE = 1.0
"""In bits, that of distributions without a bin in common; it stands for the divergence of an empty list."""


@compiled(Method.JS_MINIMIZER)
def _minimize(pool: CandidatePool, target: TargetDistribution, k: int, options: Options) -> list[int]:
    return take_best(pool, k, DivergenceCost(target), options)


@compiled(Method.JS_MMR)
def _blend(pool: CandidatePool, target: TargetDistribution, k: int, options: Options) -> list[int]:
    return take_best(pool, k, _RelativeGain(target, 1 - options.weight), options)


class DivergenceCost:
    """Jensen-Shannon divergence to the target in bits, as a `RunningCost`.

    With c_i documents in bin i, n in all, target shares q_i and g(x) = x * log2(x), the divergence is

        1 + log2(n) / 2 - H(q) / 2 + sum_i (g(c_i) - g(c_i + n * q_i)) / (2 * n)

    so one document more in a bin, at the new n, exchanges one term of the sum. O(n_bins) a step.
    """

    def __init__(self, target: TargetDistribution) -> None:
        self._shares = target.shares.tolist()
        self._counts = [0] * target.n_bins
        self._length = 0
        self._constant = 1 - entropy(self._shares) / 2
        self._own = 0.0  # sum_i g(c_i)
        self._own_growth = [0.0] * target.n_bins  # g(c_i + 1) - g(c_i)
        self._of_one_more = [LARGEST_DIVERGENCE] * target.n_bins
        self.current = LARGEST_DIVERGENCE
        self.tie = TIE

    def of_one_more(self) -> list[float]:
        self._length = n = self._length + 1
        mixed = [c + n * q for c, q in zip(self._counts, self._shares, strict=True)]
        terms = [x * log2(x or 1) for x in mixed]
        grown = [(x + 1) * log2(x + 1) for x in mixed]
        before = self._constant + log2(n) / 2 + (self._own - sum(terms)) / (2 * n)
        self._of_one_more = [
            before + (own - (g - t)) / (2 * n) for own, g, t in zip(self._own_growth, grown, terms, strict=True)
        ]
        return self._of_one_more.copy()

    def add(self, b: int) -> None:
        self.current = self._of_one_more[b]
        self._own += self._own_growth[b]
        self._counts[b] = count = self._counts[b] + 1
        self._own_growth[b] = (count + 1) * log2(count + 1) - count * log2(count)


class _RelativeGain:
    """The gain (J_cur - J_new) / J_cur as a cost: weight * J_new / J_cur, up to a constant of the step."""

    def __init__(self, target: TargetDistribution, weight: float) -> None:
        self._divergence = DivergenceCost(target)
        self._weight = weight
        self.tie = TIE

    def of_one_more(self) -> list[float]:
        weight = self._weight / max(self._divergence.current, TIE)
        return [weight * cost for cost in self._divergence.of_one_more()]

    def add(self, b: int) -> None:
        self._divergence.add(b)


js_minimizer = Selector(_minimize, scope="entity")
"""Entity-matched candidates only; each step adds the one whose addition gives the smallest Jensen-Shannon divergence.

O(N log N + k * n_bins).
"""

js_mmr = Selector(_blend, relevance_weight=0.5, rel_norm="minmax")
"""The whole pool; each step maximises lambda * relevance + (1 - lambda) * (J_cur - J_new) / J_cur.

J_cur of the empty selection is 1 bit; one under 1e-9 counts as 1e-9. O(N log N + k * n_bins).
"""
