"""The records that every selector shares: what it is given, and what it gives back."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from warp_core import arguments
from warp_core.distributions import BoolArray, FloatArray, IntArray
from warp_core.errors import InvalidInputError
from warp_core.scale import SENTIMENT_INTENSITY, OpinionScale
from warp_core.target import TargetDistribution
from warp_core.transport import w1_of_counts, w1_of_prefixes

Scope = Literal["pool", "entity"]
RelevanceNorm = Literal["none", "minmax", "rank"]
SCOPES: tuple[str, ...] = get_args(Scope)
RELEVANCE_NORMS: tuple[str, ...] = get_args(RelevanceNorm)

_SMALL = 1000
"""Up to this many candidates more than needed, sorting all is quicker than finding those that are needed."""


class CandidatePool:
    """N candidates, checked once, on construction. Arrays are taken over, not copied: do not change them after.

    Parameters
    ----------
    relevance : shape (N,), finite; higher is better.
    bins : shape (N,), 0 .. n_bins - 1, or -1 where the opinion is unknown.
    matched : shape (N,), whether the candidate holds an opinion on the queried entity; all, when left out.
    scale : the axis of the bins.
    embeddings : shape (N, d), finite; for selectors that compare candidates. Only directions count: rows too long or
        too short to be squared are rescaled.
    tokens : shape (N,), what each candidate costs of a token budget; whole and at least 0.
    texts : N texts, for lexical selectors.

    Raises
    ------
    InvalidInputError : shapes differ, a number is not finite, or a bin or a cost is out of range.
    """

    def __init__(
        self,
        relevance: ArrayLike,
        bins: ArrayLike,
        matched: ArrayLike | None = None,
        scale: OpinionScale = SENTIMENT_INTENSITY,
        *,
        embeddings: ArrayLike | None = None,
        tokens: ArrayLike | None = None,
        texts: Sequence[str] | None = None,
    ) -> None:
        self.scale = scale
        self.relevance: FloatArray = _vector("relevance", relevance, np.float64, "fiu")
        self.bins: IntArray = _vector("bins", bins, np.intp, "iuf")
        n = len(self.relevance)
        self.matched: BoolArray = (
            np.ones(n, np.bool_) if matched is None else _vector("matched", matched, np.bool_, "biuf")
        )
        self.embeddings: FloatArray | None = None
        self.lengths: FloatArray | None = None
        if embeddings is not None:
            self.embeddings, self.lengths = _vectors_and_lengths("embeddings", embeddings)
        self.tokens: IntArray | None = None if tokens is None else _vector("tokens", tokens, np.intp, "iuf")
        self.texts: Sequence[str] | None = texts
        self._queue_orders: dict[int, tuple[IntArray, IntArray]] = {}  # by k: several selections ask for the same
        if not np.isfinite(self.relevance).all():
            raise InvalidInputError("relevance", "must be finite numbers")
        for argument in ("bins", "matched", "embeddings", "tokens", "texts"):
            values = getattr(self, argument)
            if values is not None and len(values) != n:
                raise InvalidInputError(argument, f"{n} values are needed, got {len(values)}")
        if n and (self.bins.min() < -1 or self.bins.max() >= scale.n_bins):
            raise InvalidInputError("bins", f"must lie in -1 .. {scale.n_bins - 1}")
        if self.tokens is not None and n and self.tokens.min() < 0:
            raise InvalidInputError("tokens", f"must not be negative, got {self.tokens.min()}")

    def __len__(self) -> int:
        return len(self.relevance)

    def take(self, positions: IntArray) -> "CandidatePool":
        """The pool of some of these candidates, in the order given; shape of `positions`: (M,)."""
        part = copy(self)
        part._queue_orders = {}
        for derived in ("by_relevance", "directions", "unit_embeddings", "_all_counts", "_matched_counts"):
            part.__dict__.pop(derived, None)
        part.relevance, part.bins = self.relevance[positions], self.bins[positions]
        part.matched = self.matched[positions]
        part.embeddings = None if self.embeddings is None else self.embeddings[positions]
        part.lengths = None if self.lengths is None else self.lengths[positions]
        part.tokens = None if self.tokens is None else self.tokens[positions]
        part.texts = None if self.texts is None else [self.texts[p] for p in positions.tolist()]
        return part

    @cached_property
    def by_relevance(self) -> IntArray:
        """Positions from the most relevant down, equals in input order; shape (N,)."""
        return np.argsort(-self.relevance, kind="stable")

    @cached_property
    def directions(self) -> tuple[FloatArray, FloatArray]:
        """The embeddings, shape (N, d), and the factor that brings each to length 1, shape (N,); of a zero one any."""
        if self.embeddings is None or self.lengths is None:  # a selector that needs them has checked
            raise InvalidInputError("embeddings", "are needed, and the pool has none")
        return self.embeddings, 1 / np.maximum(self.lengths, _SQUARABLE[0])

    @cached_property
    def unit_embeddings(self) -> FloatArray:
        """The embeddings at length 1, shape (N, d); zero stays zero. Inner products are cosines."""
        vectors, factors = self.directions
        units: FloatArray = vectors * factors[:, None]
        return units

    def queue_order(self, k: int) -> tuple[IntArray, IntArray]:
        """Positions by bin, inside a bin most relevant first and equals in input order, and where the bins end.

        Inside one bin every candidate moves the distribution alike, so no selection of k needs more than the k most
        relevant of each: the others, and those of unknown bin, are left out.

        Returns
        -------
        order : shape (M,), M <= min(N, k * n_bins).
        ends : shape (n_bins + 1,); bin b is order[ends[b]:ends[b + 1]].
        """
        if k not in self._queue_orders:
            self._queue_orders[k] = self._queue_order(k)
        return self._queue_orders[k]

    def _queue_order(self, k: int) -> tuple[IntArray, IntArray]:
        bins, n_bins = self.bins, self.scale.n_bins
        if len(self) > _SMALL + 2 * k * n_bins:
            contenders = np.concatenate([self._most_relevant(b, k) for b in range(n_bins)])
            order = contenders[np.lexsort((-self.relevance[contenders], bins[contenders]))]
            return order, _ends(bins[order], n_bins)
        order = np.lexsort((-self.relevance, bins))
        ends = _ends(bins, n_bins)
        return order[ends[0] :], ends - ends[0]

    def _most_relevant(self, b: int, k: int) -> IntArray:
        """Positions of a bin's k most relevant candidates, of equals the earliest, in input order."""
        members = np.flatnonzero(self.bins == b)
        if len(members) <= k:
            return members
        relevance = self.relevance[members]
        least = np.partition(relevance, len(members) - k)[len(members) - k]
        above, equal = members[relevance > least], members[relevance == least]
        return np.sort(np.concatenate([above, equal[: k - len(above)]]))

    def queues(self, k: int) -> list[list[int]]:
        """`queue_order` as one list a bin."""
        order, ends = self.queue_order(k)
        listed = order.tolist()
        return [listed[start:end] for start, end in pairwise(ends.tolist())]

    def counts(self, positions: Sequence[int] | IntArray | None = None, *, matched_only: bool = False) -> list[int]:
        """Documents in each bin among `positions` (all, when left out); unknown bins count nowhere."""
        if positions is None:
            return list(self._matched_counts if matched_only else self._all_counts)
        bins = self.bins[positions]
        return self._counted(bins[self.matched[positions]] if matched_only else bins)

    @cached_property
    def _all_counts(self) -> list[int]:
        return self._counted(self.bins)

    @cached_property
    def _matched_counts(self) -> list[int]:
        return self._counted(self.bins[self.matched])

    def _counted(self, bins: IntArray) -> list[int]:
        counted: list[int] = np.bincount(bins + 1, minlength=self.scale.n_bins + 1)[1:].tolist()
        return counted


def normalised(relevance: FloatArray, rel_norm: RelevanceNorm) -> FloatArray:
    """Relevance, shape (N,), as given (`none`), stretched to 0 .. 1 (`minmax`), or by rank in 0 .. 1 (`rank`).

    Equal relevances stay equal; a constant one becomes 0.

    Raises
    ------
    InvalidInputError : no such normalisation.
    """
    arguments.one_of("rel_norm", rel_norm, RELEVANCE_NORMS)
    if rel_norm == "none" or not len(relevance):
        return relevance
    if rel_norm == "rank":
        relevance = np.unique(relevance, return_inverse=True)[1].astype(np.float64)
    low, high = relevance.min(), relevance.max()
    spread = high / 2 - low / 2  # halved first: the spread of two finite numbers may not be finite
    stretched: FloatArray = (relevance / 2 - low / 2) / (spread if spread > 0 else 1.0)
    return stretched


def _vector(argument: str, values: ArrayLike, dtype: type[np.generic], kinds: str) -> NDArray[Any]:
    """Values as a vector of `dtype`, without loss; `kinds` are the NumPy kinds that they may be of."""
    if isinstance(values, np.ndarray) and values.dtype == dtype and values.ndim == 1:
        return values
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(argument, f"must be a list of numbers ({error})") from error
    if array.ndim != 1:
        raise InvalidInputError(argument, f"must be one-dimensional, got shape {array.shape}")
    if not array.size:
        return np.zeros(0, dtype)
    if array.dtype.kind not in kinds:
        raise InvalidInputError(argument, f"must be of another kind than {array.dtype}")
    with np.errstate(invalid="ignore"):
        vector = array.astype(dtype, copy=False)
    if dtype is not np.float64 and vector is not array and (vector != array).any():
        raise InvalidInputError(argument, "must be whole numbers; a match is true or false")
    return vector


def _ends(bins: IntArray, n_bins: int) -> IntArray:
    """How many entries lie in a bin below each of 0 .. n_bins; shape (n_bins + 1,)."""
    return np.bincount(bins + 1, minlength=n_bins + 1).cumsum()


_SQUARABLE = 1e-280, 1e300
"""Squared lengths in this range are neither rounded off nor infinite."""


def _vectors_and_lengths(argument: str, values: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Values as vectors, shape (N, d), and their lengths, shape (N,)."""
    try:
        vectors = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(argument, f"must be vectors of one length ({error})") from error
    if vectors.ndim != 2:
        raise InvalidInputError(argument, f"must be finite vectors of one length, got shape {vectors.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        squares: FloatArray = np.vecdot(vectors, vectors)
    low, high = _SQUARABLE
    if len(squares) and not (squares.min() > low and squares.max() < high):  # neither holds of nan
        if not np.isfinite(vectors).all():
            raise InvalidInputError(argument, f"must be finite vectors of one length, got shape {vectors.shape}")
        peaks = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
        ordinary = (squares > low) & (squares < high)
        vectors = vectors / np.where(ordinary[:, None] | (peaks == 0), 1, peaks)
        squares = np.vecdot(vectors, vectors)
    return vectors, np.sqrt(squares)


def matched_share(matched: BoolArray) -> float:
    """Share of the candidates that match the entity, shape (N,); 0 when there are none."""
    return int(np.count_nonzero(matched)) / len(matched) if len(matched) else 0.0


@dataclass(frozen=True, eq=False)
class Options:
    """What a selector is told beside pool, target and k, once it is checked.

    Parameters
    ----------
    weight : the papers' lambda, 0 .. 1; 1 is relevance alone. 0 for a method without one.
    relevance : normalised relevance of the eligible candidates, shape (N,), for methods that blend it. Ties are broken
        by the pool's own relevance all the same.
    redundancy_weight : how far novelty, not relevance alone, decides inside a bin, 0 .. 1.
    token_budget : what the tokens of all chosen candidates may sum to, or None.
    query : the question, for lexical methods.
    seed : of whatever is random.
    """

    weight: float
    relevance: FloatArray
    redundancy_weight: float = 0.0
    token_budget: int | None = None
    query: str = ""
    seed: int = 0


Pick = Callable[[CandidatePool, TargetDistribution, int, Options], list[int]]
"""(eligible candidates, target, k, options) -> positions among them, in selection order."""


@dataclass(frozen=True, eq=False)
class Selection:
    """What a selector chose.

    Parameters
    ----------
    indices : positions in the pool, in selection order, distinct; shape (k,) or shorter.
    pool, target : what it was chosen from, and toward.
    """

    indices: IntArray
    pool: CandidatePool
    target: TargetDistribution

    def __len__(self) -> int:
        return len(self.indices)

    @cached_property
    def counts(self) -> list[int]:
        """Chosen documents in each bin; those of unknown bin count nowhere."""
        return self.pool.counts(self.indices)

    @cached_property
    def w1(self) -> float:
        """W1 of the selection to the target, in scale units; nan when no chosen document has a known bin."""
        return w1_of_counts(self.counts, self.target, self.pool.scale)

    @cached_property
    def w1_matched(self) -> float:
        """W1 of the entity-matched part of the selection alone; nan when it is empty."""
        if self.em == 1:
            return self.w1
        return w1_of_counts(self.pool.counts(self.indices, matched_only=True), self.target, self.pool.scale)

    @cached_property
    def w1_after(self) -> list[float]:
        """W1 after each document, in selection order."""
        return w1_of_prefixes(self.pool.bins[self.indices].tolist(), self.target, self.pool.scale)

    @cached_property
    def em(self) -> float:
        """Share of the selection that matches the entity (the papers' EM); 0 for an empty one."""
        return matched_share(self.pool.matched[self.indices])
