"""The papers' algorithms as they are printed, in exact fractions and without warp_core: what its fast selectors equal.

Tie rule of all of them: scores closer than 1e-9 are equal, the higher relevance wins, then the lower position.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate, combinations, pairwise, permutations
from math import inf

TIE = Fraction(1, 10**9)
DIGITS = Context(prec=40)


@dataclass(frozen=True)
class Problem:
    """A candidate pool and a target, as plain numbers; perhaps with what a candidate costs, and a budget."""

    positions: Sequence[float]
    relevance: Sequence[float]
    bins: Sequence[int]
    matched: Sequence[bool]
    weights: Sequence[float]
    tokens: Sequence[int] = ()
    token_budget: float = inf

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

    def jensen_shannon(self, chosen: Sequence[int]) -> Fraction:
        """In bits, right to some 40 digits."""
        bits = Fraction(0)
        for i, (low, high) in enumerate(pairwise([Fraction(0), *self.cdf])):
            p, q = Fraction(sum(self.bins[d] == i for d in chosen), len(chosen)), high - low
            bits += sum(share * log2(2 * share / (p + q)) for share in (p, q) if share) / 2
        return bits

    def similarity(self, d: int, other: int) -> Fraction:
        apart = abs(Fraction(str(self.positions[self.bins[d]])) - Fraction(str(self.positions[self.bins[other]])))
        return 1 - apart / sum(self.gaps)

    def fits(self, chosen: Sequence[int]) -> bool:
        return self.token_budget == inf or sum(self.tokens[d] for d in chosen) <= self.token_budget

    def best(self, scores: dict[int, Fraction]) -> int:
        highest = max(scores.values())
        equal = [d for d, score in scores.items() if highest - score < TIE]
        return min(equal, key=lambda d: (-self.relevance[d], d))


@cache
def log2(x: Fraction) -> Fraction:
    ln = Decimal(x.numerator).ln(DIGITS) - Decimal(x.denominator).ln(DIGITS)
    return Fraction(DIGITS.divide(ln, Decimal(2).ln(DIGITS)))


Scores = Callable[[list[int], list[int]], dict[int, Fraction]]
"""(chosen so far, what may be chosen now) -> the score of each of the latter."""


def greedy(problem: Problem, k: int, scope: str, scores: Scores) -> list[int]:
    """One at a time the best of those that the rest of the token budget still covers."""
    left, chosen = problem.eligible(scope), list[int]()
    while len(chosen) < k and (fitting := [d for d in left if problem.fits([*chosen, d])]):
        chosen.append(problem.best(scores(chosen, fitting)))
        left.remove(chosen[-1])
    return chosen


def least(distance: Callable[[Sequence[int]], Fraction]) -> Scores:
    return lambda chosen, left: {d: -distance([*chosen, d]) for d in left}


def relative_gain(
    problem: Problem, relevance_weight: float, distance: Callable[[Sequence[int]], Fraction], largest: Fraction
) -> Scores:
    weight = Fraction(relevance_weight)

    def scores(chosen: list[int], left: list[int]) -> dict[int, Fraction]:
        current = max(distance(chosen), TIE) if chosen else largest
        gains = {d: (current - distance([*chosen, d])) / current for d in left}
        return {d: weight * Fraction(problem.relevance[d]) + (1 - weight) * gain for d, gain in gains.items()}

    return scores


def w1_minimizer(problem: Problem, k: int) -> list[int]:
    """WARP, algorithm 1."""
    return greedy(problem, k, "entity", least(problem.w1))


def w1_mmr(problem: Problem, k: int, relevance_weight: float) -> list[int]:
    """WARP, algorithm 4."""
    return greedy(problem, k, "pool", relative_gain(problem, relevance_weight, problem.w1, sum(problem.gaps)))


def js_minimizer(problem: Problem, k: int) -> list[int]:
    """WARP, algorithm 1 with Jensen-Shannon divergence."""
    return greedy(problem, k, "entity", least(problem.jensen_shannon))


def js_mmr(problem: Problem, k: int, relevance_weight: float) -> list[int]:
    """WARP, algorithm 4 with Jensen-Shannon divergence, whose maximum is 1 bit."""
    gain = relative_gain(problem, relevance_weight, problem.jensen_shannon, Fraction(1))
    return greedy(problem, k, "pool", gain)


def opinion_mmr(problem: Problem, k: int, relevance_weight: float) -> list[int]:
    """WARP, 3.2."""
    weight = Fraction(relevance_weight)

    def score(chosen: list[int], d: int) -> Fraction:
        nearest = max((problem.similarity(d, j) for j in chosen), default=Fraction(0))
        return weight * Fraction(problem.relevance[d]) - (1 - weight) * nearest

    return greedy(problem, k, "pool", lambda chosen, left: {d: score(chosen, d) for d in left})


def assignment_cost(problem: Problem, assigned: Sequence[int], slots: Sequence[int], weight: float) -> Fraction:
    """WARP, 3.4: candidates to the slots at these bins, one each, in order."""
    w, cost = Fraction(weight), Fraction(0)
    for d, slot in zip(assigned, slots, strict=True):
        apart = abs(Fraction(str(problem.positions[problem.bins[d]])) - Fraction(str(problem.positions[slot])))
        cost += (1 - w) * apart / sum(problem.gaps) + w * (1 - Fraction(problem.relevance[d]))
    return cost


def cheapest_assignment(problem: Problem, eligible: Sequence[int], slots: Sequence[int], weight: float) -> Fraction:
    """The minimum of `assignment_cost` over all ways to fill the slots."""
    return min(assignment_cost(problem, way, slots, weight) for way in permutations(eligible, len(slots)))


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
