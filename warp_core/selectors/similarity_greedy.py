"""The one take-the-best loop over candidates that are compared with each other.

In the loop over bins (`warp_core.greedy`) a few fronts compete; here every candidate has a score of its own, which
changes with what is taken. What these methods cost is the similarity of each pick to all candidates.
"""

from collections.abc import Callable
from math import inf
from typing import Protocol

import numpy as np

from warp_core.candidates import CandidatePool, Options
from warp_core.distributions import FloatArray, IntArray
from warp_core.greedy import TIE
from warp_core.selectors.ranking import affordable


class RunningScore(Protocol):
    """The score of each candidate for a list that grows by one at a time, from nothing; good for one loop."""

    @property
    def score(self) -> FloatArray:
        """Shape (N,); -inf for what is taken."""

    def add(self, position: int) -> None:
        """A candidate was taken: bring the scores up to date."""


def take_highest(
    pool: CandidatePool, k: int, running: RunningScore, options: Options, floor: float = -inf
) -> list[int]:
    """Take k candidates, each time the one with the highest score that the rest of the token budget covers.

    Parameters
    ----------
    floor : stop at a highest score that is not above this.

    Returns
    -------
    Positions in the pool, in picking order.
    """
    if options.token_budget is not None and pool.tokens is not None:
        running = _Affordable(running, pool.tokens, options.token_budget)
    return take_by_score(pool.relevance, k, running, floor)


def take_by_score(relevance: FloatArray, k: int, running: RunningScore, floor: float = -inf) -> list[int]:
    """`take_highest` among candidates of these relevances, which break ties; shape (N,)."""
    picked: list[int] = []
    for _ in range(min(k, len(relevance))):
        score = running.score
        best = int(score.argmax())
        highest = float(score[best])
        if highest <= floor:
            break
        equal = score > highest - TIE
        if np.count_nonzero(equal) > 1:
            best = int(np.where(equal, relevance, -inf).argmax())
        picked.append(best)
        running.add(best)
    return picked


class _Affordable:
    """A running score by which only what the rest of a token budget covers can be taken."""

    def __init__(self, running: RunningScore, tokens: IntArray, budget: int) -> None:
        self._running, self._tokens, self._left = running, tokens, budget
        self._shut = np.where(tokens > budget, -inf, 0.0)

    @property
    def score(self) -> FloatArray:
        return self._running.score + self._shut

    def add(self, position: int) -> None:
        self._running.add(position)
        self._left -= int(self._tokens[position])
        self._shut[self._tokens > self._left] = -inf


def then_by_relevance(pool: CandidatePool, picked: list[int], k: int, options: Options) -> list[int]:
    """The picks and, up to k, the most relevant of the rest, as far as the token budget covers them."""
    if len(picked) == k:
        return picked
    return affordable(pool, dict.fromkeys([*picked, *pool.by_relevance.tolist()]), k, options.token_budget)


Row = Callable[[int], FloatArray]
"""A matrix over pairs of candidates, one row at a time, shape (N,), so that nobody needs all N * N."""

Form = Callable[[FloatArray, IntArray | slice], FloatArray]
"""(weighted cosines to some candidates, shape (..., M), these candidates) -> the matrix that a method needs.

It may be written over the cosines.
"""


class CosineRows:
    """A matrix over pairs of candidates that is made from weight_i * weight_j * cos(i, j).

    Parameters
    ----------
    weights : shape (N,), or one for all. They join the factors that bring the embeddings to length 1, at no cost.
    """

    def __init__(self, pool: CandidatePool, weights: FloatArray | float, form: Form) -> None:
        self._vectors, factors = pool.directions
        self._factors: FloatArray = factors * weights
        self._form = form
        self._prepared: dict[int, FloatArray] = {}

    def row(self, position: int) -> FloatArray:
        """A `Row`; O(N * d)."""
        if position in self._prepared:
            return self._prepared[position]
        cosines: FloatArray = self._vectors @ (self._vectors[position] * self._factors[position])
        cosines *= self._factors
        return self._form(cosines, slice(None))

    def prepare(self, positions: IntArray) -> None:
        """Make rows that are likely to be asked for, at once: that takes a third of the time that they take singly."""
        some, of_some = self._vectors[positions], self._factors[positions]
        rows = self._form(_products(some, of_some, self._vectors, self._factors), slice(None))
        self._prepared.update(zip(positions.tolist(), rows, strict=True))

    def among(self, members: IntArray) -> FloatArray:
        """The whole matrix over these candidates, shape (M, M); O(M^2 * d)."""
        vectors, factors = self._vectors[members], self._factors[members]
        return self._form(_products(vectors, factors, vectors, factors), members)


def _products(some: FloatArray, of_some: FloatArray, vectors: FloatArray, factors: FloatArray) -> FloatArray:
    """Inner products of the vectors times their factors, shape (len(some), len(vectors))."""
    # Four rows at a time: one alone is slow, since it waits for memory, and BLAS shares out large products among
    # threads, whose waking costs more than they save.
    fours, dimension = len(some) // 4, some.shape[1]
    products = np.empty((len(some), len(vectors)))
    np.matmul(
        some[: 4 * fours].reshape(fours, 4, dimension),
        vectors.T,
        out=products[: 4 * fours].reshape(fours, 4, len(vectors)),
    )
    np.matmul(some[4 * fours :], vectors.T, out=products[4 * fours :])
    products *= factors
    products *= of_some[:, None]
    return products
