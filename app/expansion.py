"""Recovering buried opinions: entity-matched documents of the index that the pool lacks (WARP, algorithms 2 and 3)."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.encoder import Encoder
from app.index import CollectionIndex
from app.pool import Pool
from app.remembered import Remembered
from app.store.base import PoleQueries, Vector
from warp_core import OpinionScale, Policy, TargetDistribution, deficit_bins
from warp_core.distributions import FloatArray, IntArray

GATED_BUDGET = 5
"""Entity-gated expansion adds up to this many times k documents (n2), unless the collection says how many."""
REMEMBERED_POLES = 10_000
"""Entities whose pole queries are kept; at 384 dimensions they take 46 MB."""

NO_POLES: Vector = np.zeros((3, 0), np.float32)
"""The pole queries' vectors where there are none."""

_LARGEST = sys.float_info.max
_BELOW = 0.1
"""Share of the pool's span of relevance, below its lowest, in which found documents are placed."""


@dataclass(frozen=True)
class Tail:
    """The entity's documents beside the pool, all of shape (n,): rows of the index and bins.

    Parameters
    ----------
    scores : similarity to the question, as a pool that we scored has it; else the same as `by_pole`.
    by_pole : similarity to the pole query of the document's own sign.
    compared : whether there were vectors to compare; else both are zero.
    """

    rows: IntArray
    bins: IntArray
    scores: FloatArray
    by_pole: FloatArray
    compared: bool


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


def tail(
    index: CollectionIndex, entity: str, pool: Pool, scale: OpinionScale, poles: Vector, question: Vector | None
) -> Tail:
    """The documents on the entity that the pool lacks, with their similarities.

    Parameters
    ----------
    poles : unit vectors of the pole queries, shape (3, dimension); a dimension of 0 stands for none.
    question : the unit vector whose similarities the pool's scores are, shape (dimension,), if they are one's.
    """
    members = index.members(entity)
    present = index.rows_of([name for name in pool.ids if name is not None])
    missing = ~np.isin(members.rows, present)
    rows, bins = members.rows[missing], members.bins[missing]
    queries = poles if question is None else question[None, :] if not poles.size else np.vstack([poles, question])
    similar = index.similarities(rows, queries)
    signs = np.sign(_from_middle(scale)[bins]).astype(np.intp)
    by_pole = similar[np.arange(len(rows)), signs + 1] if poles.size else similar[:, -1]
    compared = queries.shape[1] > 0 and queries.shape[1] == index.dimension
    return Tail(rows, bins, by_pole if question is None else similar[:, -1], by_pole, compared)


def entity_gated(found: Tail, scale: OpinionScale, k: int, policy: Policy) -> IntArray:
    """Positions in the tail of up to n2 documents, the most extreme opinions first, then by similarity (algorithm 2).

    Documents less similar than tau are left out, where similarities are known.
    """
    extremity = np.abs(_from_middle(scale))[found.bins]
    order = np.lexsort((-found.scores, -extremity))
    if policy.tau is not None and found.compared:
        order = order[found.scores[order] >= policy.tau]
    return order[: GATED_BUDGET * k if policy.n2 is None else policy.n2]


def adaptive(found: Tail, matched: Sequence[int], target: TargetDistribution, k: int, policy: Policy) -> IntArray:
    """Positions in the tail of up to n_exp documents of each short bin, by similarity to its pole query (algorithm 3).

    What is added lowers the shares of the other bins, and may leave one of them short in its turn. So, unlike the
    printed algorithm, this goes on with the grown pool until no bin is short or each that was has had its documents:
    on sparse pools a single pass fills two bins and drowns the rest (`loadtest/expansion.py`).

    Parameters
    ----------
    matched : entity-matched documents of the pool in each bin, length n_bins.
    """
    budget = k if policy.n_exp is None else policy.n_exp
    order = np.argsort(-found.by_pole, kind="stable")
    counts = list(matched)
    chosen = [np.zeros(0, np.intp)]
    served: set[int] = set()
    while short := [b for b in deficit_bins(counts, target, policy.deficit_ratio) if b not in served]:
        for b in short:
            chosen.append(order[found.bins[order] == b][:budget])
            counts[b] += len(chosen[-1])
        served.update(short)
    return np.concatenate(chosen)


def widened(pool: Pool, found: Tail, chosen: IntArray, index: CollectionIndex) -> Pool:
    """The pool with the chosen documents of the tail.

    Their similarities compare with the pool's scores only where we computed those too. Scores from elsewhere have a
    scale of their own, so there the found ones take their places just below the pool, in the order of similarity:
    where the tail of the caller's ranking would stand.
    """
    scores = found.scores[chosen]
    if (pool.query_vector is not None and found.compared) or not len(pool):
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
