"""Recovering buried opinions: entity-matched documents of the index that the pool lacks (WARP, algorithms 2 and 3)."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.encoder import Encoder
from app.index import CollectionIndex
from app.pool import Pool
from app.store.base import PoleQueries, Vector
from warp_core import OpinionScale
from warp_core.distributions import FloatArray, IntArray

GATED_BUDGET = 5
"""Entity-gated expansion adds up to this many times k documents (n2)."""

_LARGEST = sys.float_info.max
_BELOW = 0.1
"""Share of the pool's span of relevance, below its lowest, in which found documents are placed."""


@dataclass(frozen=True)
class Tail:
    """The entity's documents beside the pool, all of shape (n,): rows of the index, bins, similarities."""

    rows: IntArray
    bins: IntArray
    scores: FloatArray


async def pole_vectors(encoder: Encoder | None, queries: PoleQueries, entity: str) -> Vector:
    """Unit vectors of the three pole queries (negative, neutral, positive), shape (3, dimension); kept by the encoder.

    Without an encoder there are none, and the shape is (3, 0).
    """
    if encoder is None:
        return np.zeros((3, 0), np.float32)
    templates = (queries.negative, queries.neutral, queries.positive)
    return await encoder.encode_queries([template.replace("{entity}", entity) for template in templates])


def tail(index: CollectionIndex, entity: str, pool: Pool, scale: OpinionScale, queries: Vector) -> Tail:
    """The documents on the entity that the pool lacks, each scored by the query of its own sign.

    Parameters
    ----------
    queries : unit vectors, shape (3, dimension) for negative, neutral and positive, or (1, dimension) for all alike.
    """
    members = index.members(entity)
    present = index.rows_of([name for name in pool.ids if name is not None])
    missing = ~np.isin(members.rows, present)
    rows, bins = members.rows[missing], members.bins[missing]
    scores = index.similarities(rows, queries)
    by_sign = np.sign(_from_middle(scale)[bins]).astype(np.intp) + 1 if len(queries) > 1 else np.zeros(len(bins), int)
    return Tail(rows, bins, scores[np.arange(len(rows)), by_sign])


def entity_gated(found: Tail, scale: OpinionScale, k: int) -> IntArray:
    """Positions in the tail of up to 5 k documents, the most extreme opinions first, then by similarity."""
    extremity = np.abs(_from_middle(scale))[found.bins]
    return np.lexsort((-found.scores, -extremity))[: GATED_BUDGET * k]


def adaptive(found: Tail, deficit: Sequence[int], k: int) -> IntArray:
    """Positions in the tail of up to k documents of each deficit bin, by similarity to the query of its sign."""
    order = np.argsort(-found.scores, kind="stable")
    return np.concatenate([np.zeros(0, np.intp), *(order[found.bins[order] == b][:k] for b in deficit)])


def widened(pool: Pool, found: Tail, chosen: IntArray, index: CollectionIndex) -> Pool:
    """The pool with the chosen documents of the tail.

    Their similarities compare with the pool's scores only where we computed those too. Scores from elsewhere have a
    scale of their own, so there the found ones take their places just below the pool, in the order of similarity:
    where the tail of the caller's ranking would stand.
    """
    scores = found.scores[chosen]
    if pool.query_vector is not None or not len(pool):
        relevance = scores
    else:
        low, span = min(pool.relevance), max(pool.relevance) - min(pool.relevance)
        ranks = np.argsort(np.argsort(-scores, kind="stable"), kind="stable")
        below = min(span or 1.0, _LARGEST) * _BELOW * (ranks + 1) / max(1, len(ranks))
        with np.errstate(over="ignore"):
            relevance = np.maximum(low - below, -_LARGEST)
    return Pool(
        [*pool.ids, *index.ids(found.rows[chosen])],
        [*pool.indices, *[None] * len(chosen)],
        [*pool.scores, *scores.tolist()],
        [*pool.relevance, *relevance.tolist()],
        [*pool.bins, *found.bins[chosen].tolist()],
        [*pool.matched, *[True] * len(chosen)],
        pool.query_vector,
    )


def _from_middle(scale: OpinionScale) -> FloatArray:
    """Signed distance of each position from the middle of the scale; on the default scale the position itself."""
    return np.array(scale.positions) - (scale.positions[0] + scale.positions[-1]) / 2
