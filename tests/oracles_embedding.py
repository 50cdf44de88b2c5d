"""Selectors over embeddings as the papers define them, in exact fractions: every candidate is scored at every step.

Embeddings are taken from vectors of whole length, so that their cosines are fractions. Ties as in `tests.oracles`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import inf, isqrt

from tests.oracles import TIE

DIRECTIONS = [
    (1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (1, 2, 2), (2, 1, 2), (-2, 2, 1), (2, 3, 6), (6, 2, 3), (3, 6, 2),
    (1, 4, 8), (8, 1, 4), (-4, 8, 1), (4, 4, 7), (2, 6, 9), (6, 6, 7), (-6, 7, 6), (0, 3, 4), (4, 0, 3), (3, -4, 0),
]  # fmt: skip
"""Vectors whose length is a whole number."""


@dataclass(frozen=True)
class EmbeddingProblem:
    """A candidate pool as plain numbers; relevance is what the method blends, and what breaks ties."""

    relevance: Sequence[Fraction]
    vectors: Sequence[tuple[int, ...]]
    tokens: Sequence[int]
    token_budget: float = inf

    @cached_property
    def cosine(self) -> list[list[Fraction]]:
        units = [[Fraction(x, isqrt(sum(y * y for y in v))) for x in v] for v in self.vectors]
        return [[sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0)) for v in units] for u in units]

    @cached_property
    def clipped(self) -> list[list[Fraction]]:
        return [[max(cosine, Fraction(0)) for cosine in row] for row in self.cosine]

    def __len__(self) -> int:
        return len(self.relevance)

    def fitting(self, chosen: Sequence[int]) -> list[int]:
        left = self.token_budget - sum(self.tokens[d] for d in chosen)
        return [d for d in range(len(self)) if d not in chosen and self.tokens[d] <= left]

    def by_relevance(self, candidates: Iterable[int]) -> list[int]:
        return sorted(candidates, key=lambda d: (-self.relevance[d], d))

    def best(self, scores: dict[int, Fraction]) -> int:
        highest = max(scores.values())
        return self.by_relevance(d for d, score in scores.items() if highest - score < TIE)[0]

    def in_turn(self, ranking: Iterable[int], k: int) -> list[int]:
        """The first k of a ranking, without what the budget does not cover when its turn comes."""
        chosen: list[int] = []
        for d in ranking:
            if len(chosen) < k and d in self.fitting(chosen):
                chosen.append(d)
        return chosen


def greedy(
    problem: EmbeddingProblem, k: int, gain: Callable[[list[int], int], Fraction], floor: float = -inf
) -> list[int]:
    """Each time the best of those that fit, and by relevance from where no gain is above the floor."""
    chosen: list[int] = []
    while len(chosen) < k and (fitting := problem.fitting(chosen)):
        gains = {d: gain(chosen, d) for d in fitting}
        if max(gains.values()) <= floor:
            return problem.in_turn([*chosen, *problem.by_relevance(fitting)], k)
        chosen.append(problem.best(gains))
    return chosen


def mmr(problem: EmbeddingProblem, k: int, weight: Fraction) -> list[int]:
    """Carbonell and Goldstein 1998."""

    def score(chosen: list[int], d: int) -> Fraction:
        nearest = max((problem.cosine[d][j] for j in chosen), default=Fraction(0))
        return weight * problem.relevance[d] - (1 - weight) * nearest

    return greedy(problem, k, score)


def determinant(matrix: Sequence[Sequence[Fraction]]) -> Fraction:
    """By elimination."""
    rows, product = [list(row) for row in matrix], Fraction(1)
    for i in range(len(rows)):
        pivot = next((r for r in range(i, len(rows)) if rows[r][i]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != i:
            rows[i], rows[pivot], product = rows[pivot], rows[i], -product
        product *= rows[i][i]
        for r in range(i + 1, len(rows)):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [x - factor * y for x, y in zip(rows[r], rows[i], strict=True)]
    return product


def dpp(problem: EmbeddingProblem, k: int, similarity: Sequence[Sequence[Fraction]]) -> list[int]:
    """Greedy MAP inference by the determinants themselves (Kulesza and Taskar 2012)."""
    quality = [1 + r for r in problem.relevance]
    top = max(quality, default=Fraction(1))
    quality = [q / top for q in quality]

    def minor(chosen: Sequence[int]) -> Fraction:
        return determinant([[quality[i] * similarity[i][j] * quality[j] for j in chosen] for i in chosen])

    return greedy(problem, k, lambda chosen, d: minor([*chosen, d]) / minor(chosen), floor=TIE)


def coverage_gain(problem: EmbeddingProblem, chosen: Sequence[int], d: int) -> Fraction:
    """What d adds to the facility-location value of the chosen."""
    gain = Fraction(0)
    for j in range(len(problem)):
        covered = max((problem.clipped[i][j] for i in chosen), default=Fraction(0))
        gain += max(Fraction(0), problem.clipped[d][j] - covered)
    return gain


def facility_location(problem: EmbeddingProblem, k: int) -> list[int]:
    """Lin and Bilmes 2011."""
    return greedy(problem, k, lambda chosen, d: coverage_gain(problem, chosen, d), floor=TIE)


def submix(problem: EmbeddingProblem, k: int, weight: Fraction) -> list[int]:
    """LMVU's mixture of relevance and coverage."""

    def score(chosen: list[int], d: int) -> Fraction:
        return weight * problem.relevance[d] + (1 - weight) * coverage_gain(problem, chosen, d) / len(problem)

    return greedy(problem, k, score)


def xquad(problem: EmbeddingProblem, k: int, weight: Fraction, aspects: Sequence[int]) -> list[int]:
    """Santos et al. 2010, with aspects that a candidate either has or has not."""
    p_aspect = Fraction(1, len(set(aspects)) or 1)

    def score(chosen: list[int], d: int) -> Fraction:
        novelty = sum(
            (
                p_aspect * int(aspects[d] == aspect) * int(all(aspects[j] != aspect for j in chosen))
                for aspect in set(aspects)
            ),
            Fraction(0),
        )
        return weight * problem.relevance[d] + (1 - weight) * novelty

    return greedy(problem, k, score)


def round_robin(problem: EmbeddingProblem, k: int, clusters: Sequence[int]) -> list[int]:
    """LMVU's CLUSTER: the clusters by their best member, each time the next best of the next cluster."""
    queues = [problem.by_relevance(d for d in range(len(problem)) if clusters[d] == c) for c in sorted(set(clusters))]
    queues.sort(key=lambda queue: (-problem.relevance[queue[0]], queue[0]))
    longest = max(map(len, queues), default=0)
    return problem.in_turn((queue[i] for i in range(longest) for queue in queues if i < len(queue)), k)


def adagres(problem: EmbeddingProblem, k: int) -> list[int]:
    """Peng et al. 2025, without the stop."""
    n = len(problem)
    pairs = [problem.cosine[i][j] for i, j in combinations(range(n), 2)]
    length = Fraction(min(k, n))
    if problem.token_budget < inf and any(problem.tokens):
        length = min(length, Fraction(int(problem.token_budget) * n, sum(problem.tokens)))
    beta = Fraction(0)
    if pairs and sum(pairs) / len(pairs) > TIE:
        mean_relevance = sum(problem.relevance, Fraction(0)) / n
        beta = mean_relevance / ((max(length, 2) - 1) / 2 * sum(pairs) / len(pairs))

    def score(chosen: list[int], d: int) -> Fraction:
        return problem.relevance[d] - beta * sum((problem.cosine[d][j] for j in chosen), Fraction(0))

    return greedy(problem, k, score)


def near_duplicates(problem: EmbeddingProblem) -> list[int]:
    """For each candidate the first of its group: whom it reaches over cosines of at least 0.82."""
    leader = list(range(len(problem)))
    for _ in leader:
        for i, j in combinations(range(len(problem)), 2):
            if problem.cosine[i][j] >= Fraction(82, 100):
                leader[i] = leader[j] = min(leader[i], leader[j])
    return leader


def highest_load(problem: EmbeddingProblem, k: int) -> Fraction:
    """The most relevance that k candidates of different groups hold within the budget, over all subsets."""
    leader = near_duplicates(problem)
    return max(
        sum((problem.relevance[d] for d in some), Fraction(0))
        for size in range(min(k, len(problem)) + 1)
        for some in combinations(range(len(problem)), size)
        if len({leader[d] for d in some}) == size and sum(problem.tokens[d] for d in some) <= problem.token_budget
    )


def page_rank(cosine: Sequence[Sequence[float]]) -> list[float]:
    """Erkan and Radev 2004, continuous, as LMVU sets it: threshold 0.1, damping 0.85, 50 iterations."""
    n = len(cosine)
    weights = [[1.0 if i == j else w * (w >= 0.1) for j, w in enumerate(row)] for i, row in enumerate(cosine)]
    rank = [1 / n] * n
    for _ in range(50):
        rank = [0.15 / n + 0.85 * sum(rank[j] * weights[j][i] / sum(weights[j]) for j in range(n)) for i in range(n)]
    return rank
