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
from app.store.base import PoleQueries, Vector
from warp_core import OpinionScale
from warp_core.distributions import FloatArray

GATED_BUDGET = 5
"""Entity-gated expansion adds up to this many times k documents (n2)."""

_LARGEST = sys.float_info.max
_BELOW = 0.1
"""Share of the pool's span of relevance, below its lowest, in which found documents are placed."""


class Source(Protocol):
    """Where the entity's documents beside the pool are found."""

    async def held(self, bins: Sequence[int], limit: int) -> Pool:
        """The best documents of each of the bins, up to `limit` a bin, best first."""


@dataclass(frozen=True)
class FromIndex:
    """Documents of the index, each scored by the query of its own sign.

    Parameters
    ----------
    queries : unit vectors, shape (3, dimension) for negative, neutral and positive, or (1, dimension) for all alike.
    without : ids of the pool.
    """

    index: CollectionIndex
    entity: str
    scale: OpinionScale
    queries: Vector
    without: Collection[str]

    async def held(self, bins: Sequence[int], limit: int) -> Pool:
        signs = _signs(self.scale)
        wanted = [
            Wanted(b, self.scale.positions[b], self.queries[signs[b] + 1 if len(self.queries) > 1 else 0]) for b in bins
        ]
        found = await self.index.held(self.entity, wanted, limit, self.without)
        n = len(found.ids)
        return Pool([*found.ids], [None] * n, [*found.scores], found.scores, found.bins, [True] * n, [None] * n)


@dataclass(frozen=True)
class FromTail:
    """The candidates on the entity that the caller's ranking has beyond the pool."""

    tail: Pool

    async def held(self, bins: Sequence[int], limit: int) -> Pool:
        order = sorted(
            (i for i in range(len(self.tail)) if self.tail.matched[i]), key=lambda i: -self.tail.relevance[i]
        )
        return self.tail.take([i for b in bins for i in [j for j in order if self.tail.bins[j] == b][:limit]])


async def pole_vectors(encoder: Encoder | None, queries: PoleQueries, entity: str) -> Vector:
    """Unit vectors of the three pole queries (negative, neutral, positive), shape (3, dimension); kept by the encoder.

    Without an encoder there are none, and the shape is (3, 0).
    """
    if encoder is None:
        return np.zeros((3, 0), np.float32)
    templates = (queries.negative, queries.neutral, queries.positive)
    return await encoder.encode_queries([template.replace("{entity}", entity) for template in templates])


async def entity_gated(source: Source, scale: OpinionScale, k: int) -> Pool:
    """Up to 5 k documents, the most extreme opinions first, then by relevance."""
    found = Pool([], [], [], [], [], [], [])
    for bins in _levels(scale):
        wanted = GATED_BUDGET * k - len(found)
        if not wanted:
            break
        held = await source.held(bins, wanted)
        order = sorted(range(len(held)), key=lambda i: -held.relevance[i])
        found = found.joined(held.take(order[:wanted]))
    return found


async def adaptive(source: Source, deficit: Sequence[int], k: int) -> Pool:
    """Up to k documents of each deficit bin, by relevance."""
    return await source.held(deficit, k)


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
