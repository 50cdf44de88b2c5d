"""The papers' algorithms as they are printed, in exact fractions and without warp_core: what its fast selectors equal.

Tie rule of all of them: scores closer than 1e-9 are equal, the higher relevance wins, then the lower position.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, combinations, pairwise

TIE = Fraction(1, 10**9)


@dataclass(frozen=True)
class Problem:
    """A candidate pool and a target, as plain numbers."""

    positions: Sequence[float]
    relevance: Sequence[float]
    bins: Sequence[int]
    matched: Sequence[bool]
    weights: Sequence[float]

    @cached_property
    def gaps(self) -> list[Fraction]:
        return [Fraction(str(b)) - Fraction(str(a)) for a, b in pairwise(self.positions)]

    @cached_property
    def cdf(self) -> list[Fraction]:
        total = sum(map(Fraction, self.weights))
        return [share / total for share in accumulate(map(Fraction, self.weights))]

    def eligible(self, scope: str) -> list[int]:
        return [d for d, b in enumerate(self.bins) if b >= 0 and (scope == "pool" or self.matched[d])]

    def total_relevance(self, chosen: Iterable[int]) -> Fraction:
        return sum((Fraction(self.relevance[d]) for d in chosen), Fraction(0))

    def w1(self, chosen: Sequence[int]) -> Fraction:
        cost = Fraction(0)
        for i, gap in enumerate(self.gaps):
            at_most_i = sum(self.bins[d] <= i for d in chosen)
            cost += abs(Fraction(at_most_i, len(chosen)) - self.cdf[i]) * gap
        return cost

    def best(self, scores: dict[int, Fraction]) -> int:
        highest = max(scores.values())
        equal = [d for d, score in scores.items() if highest - score < TIE]
        return min(equal, key=lambda d: (-self.relevance[d], d))


def w1_minimizer(problem: Problem, k: int) -> list[int]:
    """WARP, algorithm 1."""
    left, chosen = problem.eligible("entity"), list[int]()
    while len(chosen) < k and left:
        chosen.append(problem.best({d: -problem.w1([*chosen, d]) for d in left}))
        left.remove(chosen[-1])
    return chosen


def w1_mmr(problem: Problem, k: int, relevance_weight: float) -> list[int]:
    """WARP, algorithm 4."""
    weight = Fraction(relevance_weight)
    left, chosen = problem.eligible("pool"), list[int]()
    while len(chosen) < k and left:
        current = max(problem.w1(chosen), TIE) if chosen else sum(problem.gaps)
        scores = {}
        for d in left:
            gain = (current - problem.w1([*chosen, d])) / current
            scores[d] = weight * Fraction(problem.relevance[d]) + (1 - weight) * gain
        chosen.append(problem.best(scores))
        left.remove(chosen[-1])
    return chosen


def subsets(problem: Problem, k: int, scope: str) -> list[tuple[int, ...]]:
    """All that a selector might choose: k eligible candidates, or as many as there are."""
    eligible = problem.eligible(scope)
    return list(combinations(eligible, min(k, len(eligible))))


def least_w1(problem: Problem, k: int, scope: str) -> tuple[Fraction, Fraction]:
    """The minimum W1 of all subsets, and the maximum total relevance of those that reach it."""
    costs = {chosen: problem.w1(chosen) for chosen in subsets(problem, k, scope)}
    lowest = min(costs.values())
    return lowest, max(problem.total_relevance(chosen) for chosen, cost in costs.items() if cost - lowest < TIE)


def blended(problem: Problem, chosen: Sequence[int], relevance_weight: float) -> Fraction:
    """(1 - w) * W1 / range - w * mean relevance."""
    weight = Fraction(relevance_weight)
    mean = problem.total_relevance(chosen) / len(chosen)
    return (1 - weight) * problem.w1(chosen) / sum(problem.gaps) - weight * mean


def least_blended(problem: Problem, k: int, scope: str, relevance_weight: float) -> Fraction:
    """The minimum of `blended` over all subsets."""
    return min(blended(problem, chosen, relevance_weight) for chosen in subsets(problem, k, scope))
