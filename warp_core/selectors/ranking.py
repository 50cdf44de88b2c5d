"""What methods share that rank all candidates once, and take from the top."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import islice

import numpy as np

from warp_core.candidates import CandidatePool
from warp_core.distributions import FloatArray
from warp_core.greedy import TIE


def most_relevant_first(pool: CandidatePool, chosen: Iterable[int]) -> list[int]:
    """The chosen positions by relevance, equals in input order."""
    return sorted(chosen, key=lambda position: (-pool.relevance[position], position))


def best_first(pool: CandidatePool, scores: FloatArray) -> Iterator[int]:
    """Positions from the highest score down; of those within 1e-9 of the highest left, the most relevant comes first.

    `scores` : shape (N,). O(N log N).
    """
    by_relevance = pool.by_relevance.tolist()
    rank = np.argsort(pool.by_relevance).tolist()
    listed = scores.tolist()
    descending = np.argsort(-scores, kind="stable").tolist()
    equal: list[int] = []  # ranks by relevance of all that are left and within the tie of the highest score left
    taken: set[int] = set()
    entered = 0
    for highest in descending:
        while entered < len(listed) and listed[highest] - listed[descending[entered]] < TIE:
            heappush(equal, rank[descending[entered]])
            entered += 1
        while highest not in taken:
            position = by_relevance[heappop(equal)]
            taken.add(position)
            yield position


def affordable(pool: CandidatePool, ranking: Iterable[int], k: int, token_budget: int | None) -> list[int]:
    """The first k positions of a ranking, passing over each that the rest of the token budget does not cover."""
    if token_budget is None or pool.tokens is None:
        return list(islice(ranking, min(k, len(pool))))
    picked: list[int] = []
    for position in ranking:
        if len(picked) == k:
            break
        cost = int(pool.tokens[position])
        if cost <= token_budget:
            picked.append(position)
            token_budget -= cost
    return picked
