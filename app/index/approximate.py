"""Nearest neighbours without looking at every vector: an inverted file over a segment whose rows are in list order.

Vectors are grouped by their nearest centroid, and a search looks into the groups whose centroids are most like the
query. FAISS's own inverted file would hold all vectors a second time, in memory that processes do not share; here the
segment's rows lie in the order of the groups, so the matrix is the inverted file.

How many groups are looked into is decided by each query, since a fixed number that finds nearly all in one collection
finds half in another. The search ends when another round brought almost nothing new, or when no further group is likely
to hold anything better (Li, Zhang, Andersen and He, 2020, on why this beats a fixed number).
"""

from collections.abc import Callable

import faiss
import numpy as np
from numpy.typing import NDArray

from app.index.products import Rows, Scores, every_product, inner_products
from app.index.ragged import positions
from app.index.segment import Segment
from app.store.base import Vector

LISTS_A_ROOT = 2
"""Lists of n documents: this many times the root of n."""
SAMPLE = 48
"""Training vectors a list."""
ROUNDS = 8
"""Of k-means."""
FIRST = 2
"""The first round looks into lists that hold this many times k documents."""
ROUND = 4
"""Least number of lists in a further round, which else is a third of those before it."""
NEAR = 128
"""Lists that are put in order at first; most searches look no further."""
ENOUGH = 0.01
"""A round that brings fewer than this share of k was the last."""
UNLIKELY = 4.0
"""Standard deviations above what a centroid lets expect, beyond which no document of its list is looked for."""
SPREAD_QUERIES, SPREAD_LISTS = 64, 8


def n_lists(n: int) -> int:
    """Number of lists for n documents."""
    return max(1, round(LISTS_A_ROOT * float(np.sqrt(n))))


def trained(sample: Vector, lists: int, checkpoint: Callable[[], None]) -> Vector:
    """Unit centroids of vectors, shape (n, d), n >= lists -> (lists, d): spherical k-means, always the same."""
    centroids: Vector | None = None
    for _ in range(ROUNDS):
        checkpoint()
        means = faiss.Kmeans(
            sample.shape[1],
            lists,
            niter=1,
            spherical=True,
            seed=1,
            min_points_per_centroid=1,
            max_points_per_centroid=len(sample),
        )
        means.train(sample, init_centroids=centroids)
        centroids = means.centroids
    return np.asarray(centroids)


def nearest_list(vectors: Vector, centroids: Vector) -> NDArray[np.int64]:
    """Number of the list that each vector belongs to; the list after the last centroid for those that are zero."""
    _, found = faiss.knn(vectors, centroids, 1, metric=faiss.METRIC_INNER_PRODUCT)
    numbers: NDArray[np.int64] = found[:, 0].astype(np.int64)
    numbers[~vectors.any(axis=1)] = len(centroids)
    return numbers


def spread_of(vectors: Vector, lists: NDArray[np.int64], centroids: Vector) -> float:
    """Standard deviation of the similarities inside a list, over sampled queries and the lists near them."""
    spreads = []
    for query in vectors[:: max(1, len(vectors) // SPREAD_QUERIES)]:
        similarities = every_product(vectors, query)
        near = np.argsort(-every_product(centroids, query))[:SPREAD_LISTS]
        spreads += [similarities[lists == number].std() for number in near if (lists == number).sum() > 1]
    return float(np.mean(spreads)) if spreads else 1.0


def nearest(segment: Segment, query: Vector, k: int, living: Callable[[Rows], Rows]) -> tuple[Scores, Rows]:
    """Nearly the k living documents nearest to a unit vector, in no order; what equals the last of them comes too.

    Parameters
    ----------
    living : those of the rows whose document is alive.
    """
    similar = every_product(segment.centroids, query)
    order = _most_similar(similar, NEAR)
    sizes = _lengths(segment, order).cumsum()
    scores, rows = np.zeros(0, np.float32), np.zeros(0, np.int64)
    done = 0
    while done < len(similar):
        full = len(scores) >= k
        if not full:
            held = int(sizes[done - 1]) if done else 0
            upto = int(np.searchsorted(sizes, held + FIRST * k)) + 1
        elif done < len(order) and similar[order[done]] + UNLIKELY * float(segment.spread[0]) < scores.min():
            break
        else:
            upto = done + max(ROUND, done // 3)
        if upto > len(order) < len(similar):  # this search looks further than most
            order = np.concatenate([order, _others(similar, order)])
            sizes = _lengths(segment, order).cumsum()
            continue
        found = living(positions(segment.list_ends, order[done:upto])[0])
        new = inner_products(segment.matrix, found, query)
        better = int((new > scores.min()).sum()) if full else k
        scores, rows = best(np.concatenate([scores, new]), np.concatenate([rows, found]), k)
        if better <= ENOUGH * k:
            break
        done = upto
    return scores, rows


def _most_similar(similar: Scores, n: int) -> Rows:
    """Positions of the n largest, and of all that equal the last of them, from the largest down."""
    chosen = highest(similar, n)
    return chosen[np.argsort(-similar[chosen])]


def _others(similar: Scores, known: Rows) -> Rows:
    """Positions of all but the known ones, from the largest down."""
    others = np.setdiff1d(np.arange(len(similar)), known)
    return others[np.argsort(-similar[others])]


def _lengths(segment: Segment, lists: Rows) -> Rows:
    lengths: Rows = segment.list_ends[lists + 1] - segment.list_ends[lists]
    return lengths


def best(scores: Scores, rows: Rows, k: int) -> tuple[Scores, Rows]:
    """The k highest scores, and all that equal the last of them, with their rows; in no order."""
    kept = highest(scores, k)
    return scores[kept], rows[kept]


def highest(scores: Scores, k: int) -> Rows:
    """Positions of the k highest scores, and of all that equal the last of them, in ascending order."""
    if not 0 < k < len(scores):
        return np.arange(len(scores) if k > 0 else 0)
    return np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
