"""Recovering buried opinions: entity-matched documents that the pool lacks (WARP, algorithms 2 and 3).

They come from the index, or from the tail of the ranking, when the caller sent it.
"""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from app.encoder import Encoder
from app.index.base import CollectionIndex, Wanted
from app.pool import Pool
from app.remembered import Remembered
from app.store.base import PoleQueries, Vector
from warp_core import OpinionScale, Policy, TargetDistribution, deficit_bins
from warp_core.distributions import FloatArray

GATED_BUDGET = 5
"""Entity-gated expansion adds up to this many times k documents (n2), unless the collection says how many."""
REMEMBERED_POLES = 10_000
"""Entities whose pole queries are kept; at 384 dimensions they take 46 MB."""

NOTHING = Pool([], [], [], [], [], [], [])
NO_POLES: Vector = np.zeros((3, 0), np.float32)
"""The pole queries' vectors where there are none."""

_LARGEST = sys.float_info.max
_BELOW = 0.1
"""Share of the pool's span of relevance, below its lowest, in which found documents are placed."""


class Source(Protocol):
    """Where the entity's documents beside the pool are found."""

    @property
    def compares(self) -> bool:
        """Whether relevance says how near a document is to the question; else it is only some order."""

    async def held(self, bins: Sequence[int], limit: int, together: bool = False) -> Pool:
        """The best documents of the bins, best first: up to `limit` a bin, or, `together`, of all of them."""


@dataclass(frozen=True)
class FromIndex:
    """Documents of the index, the best of a bin by the query of its sign, where there are pole queries.

    Without them, and for the best of several bins together, they are the best by the question.

    Parameters
    ----------
    poles : unit vectors of the pole queries, shape (3, dimension) for negative, neutral and positive; a dimension of 0
        stands for none.
    question : the unit vector whose similarities the pool's scores are, shape (dimension,), if they are one's. It
        scores what is found.
    without : ids of the pool.
    """

    index: CollectionIndex
    entity: str
    scale: OpinionScale
    poles: Vector
    question: Vector | None
    without: Collection[str]

    @property
    def compares(self) -> bool:
        return self.question is not None or self.poles.size > 0

    async def held(self, bins: Sequence[int], limit: int, together: bool = False) -> Pool:
        signs = _signs(self.scale)
        by_question = self.question if together or not self.poles.size else None
        queries = [self.poles[signs[b] + 1] if by_question is None else by_question for b in bins]
        wanted = [Wanted(b, self.scale.positions[b], query) for b, query in zip(bins, queries, strict=True)]
        found = await self.index.held(self.entity, wanted, limit, self.without, together)
        scores, n = found.scores, len(found.ids)
        if self.question is not None and by_question is None:
            vectors = await self.index.vectors(found.ids)
            scores = [float(vectors[name] @ self.question) if name in vectors else 0.0 for name in found.ids]
        return Pool(list(found.ids), [None] * n, [*scores], scores, found.bins, [True] * n, [None] * n)


@dataclass(frozen=True)
class FromTail:
    """The candidates on the entity that the caller's ranking has beyond the pool."""

    tail: Pool

    @property
    def compares(self) -> bool:
        return True

    async def held(self, bins: Sequence[int], limit: int, together: bool = False) -> Pool:
        matched, relevance = self.tail.matched, self.tail.relevance
        order = sorted((i for i, match in enumerate(matched) if match), key=lambda i: -relevance[i])
        groups = [bins] if together else [[b] for b in bins]
        return self.tail.take([i for group in groups for i in [j for j in order if self.tail.bins[j] in group][:limit]])


class PoleVectors:
    """Unit vectors of the pole queries of an entity, each computed once and kept: a hot request runs no model."""

    def __init__(self, encoder: Encoder | None) -> None:
        self._encoder = encoder
        self._known: Remembered[tuple[PoleQueries, str], Vector] = Remembered(REMEMBERED_POLES)

    async def of(self, queries: PoleQueries, entity: str) -> Vector:
        """The vectors for negative, neutral and positive, shape (3, dimension); without an encoder (3, 0)."""
        if self._encoder is None:
            return NO_POLES
        known = self._known.get((queries, entity))
        if known is None:
            templates = (queries.negative, queries.neutral, queries.positive)
            known = await self._encoder.encode_queries([one.replace("{entity}", entity) for one in templates])
            self._known.put((queries, entity), known)
        return known


async def entity_gated(source: Source, scale: OpinionScale, k: int, policy: Policy) -> Pool:
    """Up to n2 documents, the most extreme opinions first, then by relevance (algorithm 2).

    Documents of a relevance below tau are left out, where it says how near they are to the question.
    """
    budget = GATED_BUDGET * k if policy.n2 is None else policy.n2
    tau = policy.tau if source.compares else None
    found = NOTHING
    for bins in _levels(scale):
        wanted = budget - len(found)
        if wanted <= 0:
            break
        held = await source.held(bins, wanted, together=True)
        if tau is not None:
            held = held.take([i for i, relevance in enumerate(held.relevance) if relevance >= tau])
        found = found.joined(held)
    return found


async def adaptive(source: Source, matched: Sequence[int], target: TargetDistribution, k: int, policy: Policy) -> Pool:
    """Up to n_exp documents of each short bin, by similarity to its pole query (algorithm 3).

    What is added lowers the shares of the other bins, and may leave one of them short in its turn. So, unlike the
    printed algorithm, this goes on with the grown pool until no bin is short or each that was has had its documents:
    on sparse pools a single pass fills two bins and drowns the rest (`loadtest/expansion.py`).

    Parameters
    ----------
    matched : entity-matched documents of the pool in each bin, length n_bins.
    """
    counts, found = list(matched), NOTHING
    served: set[int] = set()
    while short := [b for b in deficit_bins(counts, target, policy.deficit_ratio) if b not in served]:
        held = await source.held(short, k if policy.n_exp is None else policy.n_exp)
        for b in held.bins:
            counts[b] += 1
        found = found.joined(held)
        served.update(short)
    return found


def widened(pool: Pool, found: Pool, comparable: bool) -> Pool:
    """The pool with what was found.

    Similarities that we computed do not compare with scores from elsewhere, which have a scale of their own. Where
    they are not `comparable`, the found ones take their places just below the pool, in the order of similarity: where
    the tail of the caller's ranking would stand.
    """
    if not comparable:
        found = replace(found, relevance=_below(pool.relevance, np.array(found.relevance)).tolist())
    return pool.joined(found)


def _below(given: Sequence[float], scores: FloatArray) -> FloatArray:
    low, span = min(given), max(given) - min(given)
    ranks = np.argsort(np.argsort(-scores, kind="stable"), kind="stable")
    below = min(span or 1.0, _LARGEST) * _BELOW * (ranks + 1) / max(1, len(ranks))
    with np.errstate(over="ignore"):
        placed: FloatArray = np.maximum(low - below, -_LARGEST)
    return placed


@lru_cache(maxsize=256)
def _signs(scale: OpinionScale) -> list[int]:
    """Of each bin: on which side of the middle of the scale it lies."""
    signs: list[int] = np.sign(_from_middle(scale)).astype(int).tolist()
    return signs


@lru_cache(maxsize=256)
def _levels(scale: OpinionScale) -> list[list[int]]:
    """Bins by their distance from the middle of the scale, the most extreme first; those of one distance together."""
    extremity = np.abs(_from_middle(scale))
    return [np.flatnonzero(extremity == level).tolist() for level in np.unique(extremity)[::-1]]


def _from_middle(scale: OpinionScale) -> FloatArray:
    """Signed distance of each position from the middle of the scale; on the default scale the position itself."""
    return np.array(scale.positions) - (scale.positions[0] + scale.positions[-1]) / 2
