"""The records that every selector shares: what it is given, and what it gives back."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from warp_core.distributions import BoolArray, FloatArray, IntArray
from warp_core.errors import InvalidInputError
from warp_core.scale import SENTIMENT_INTENSITY, OpinionScale
from warp_core.target import TargetDistribution
from warp_core.transport import w1_of_counts, w1_of_prefixes

Scope = Literal["pool", "entity"]
RelevanceNorm = Literal["none", "minmax", "rank"]


class CandidatePool:
    """N candidates, checked once, on construction. Arrays are taken over, not copied: do not change them after.

    Parameters
    ----------
    relevance : shape (N,), finite; higher is better.
    bins : shape (N,), 0 .. n_bins - 1, or -1 where the opinion is unknown.
    matched : shape (N,), whether the candidate holds an opinion on the queried entity; all, when left out.
    scale : the axis of the bins.

    Raises
    ------
    InvalidInputError : shapes differ, a relevance is not finite, or a bin is out of range.
    """

    def __init__(
        self,
        relevance: ArrayLike,
        bins: ArrayLike,
        matched: ArrayLike | None = None,
        scale: OpinionScale = SENTIMENT_INTENSITY,
    ) -> None:
        self.scale = scale
        self.relevance: FloatArray = _vector("relevance", relevance, np.float64, "fiu")
        self.bins: IntArray = _vector("bins", bins, np.intp, "iuf")
        n = len(self.relevance)
        self.matched: BoolArray = (
            np.ones(n, np.bool_) if matched is None else _vector("matched", matched, np.bool_, "biuf")
        )
        if not np.isfinite(self.relevance).all():
            raise InvalidInputError("relevance", "must be finite numbers")
        for argument, values in (("bins", self.bins), ("matched", self.matched)):
            if len(values) != n:
                raise InvalidInputError(argument, f"{n} values are needed, got {len(values)}")
        if n and (self.bins.min() < -1 or self.bins.max() >= scale.n_bins):
            raise InvalidInputError("bins", f"must lie in -1 .. {scale.n_bins - 1}")

    def __len__(self) -> int:
        return len(self.relevance)

    def take(self, positions: IntArray) -> "CandidatePool":
        """The pool of some of these candidates, in the order given; shape of `positions`: (M,)."""
        part = copy(self)
        part.__dict__.pop("by_relevance", None)
        part.relevance, part.bins = self.relevance[positions], self.bins[positions]
        part.matched = self.matched[positions]
        return part

    @cached_property
    def by_relevance(self) -> IntArray:
        """Positions from the most relevant down, equals in input order; shape (N,)."""
        return np.argsort(-self.relevance, kind="stable")

    def queues(self) -> list[list[int]]:
        """For each bin its candidates' positions, most relevant first; candidates of unknown bin are in none.

        Inside one bin every candidate moves the distribution alike, so a selector only ever needs the front.
        """
        order: list[int] = np.lexsort((-self.relevance, self.bins)).tolist()
        ends: list[int] = np.bincount(self.bins + 1, minlength=self.scale.n_bins + 1).cumsum().tolist()
        return [order[start:end] for start, end in pairwise(ends)]

    def counts(self, positions: Sequence[int] | IntArray | None = None, *, matched_only: bool = False) -> list[int]:
        """Documents in each bin among `positions` (all, when left out); unknown bins count nowhere."""
        bins = self.bins if positions is None else self.bins[positions]
        if matched_only:
            bins = bins[self.matched if positions is None else self.matched[positions]]
        counted: list[int] = np.bincount(bins + 1, minlength=self.scale.n_bins + 1)[1:].tolist()
        return counted


def _vector(argument: str, values: ArrayLike, dtype: type[np.generic], kinds: str) -> NDArray[Any]:
    """Values as a vector of `dtype`, without loss; `kinds` are the NumPy kinds that they may be of."""
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


@dataclass(frozen=True, eq=False)
class Blend:
    """How a method trades relevance against its own aim.

    Parameters
    ----------
    weight : the papers' lambda, 0 .. 1; 1 is relevance alone.
    relevance : normalised, shape (N,); ties are broken by the pool's own relevance all the same.
    """

    weight: float
    relevance: FloatArray


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
    def w1(self) -> float:
        """W1 of the selection to the target, in scale units; nan when no chosen document has a known bin."""
        return w1_of_counts(self.pool.counts(self.indices), self.target, self.pool.scale)

    @cached_property
    def w1_matched(self) -> float:
        """W1 of the entity-matched part of the selection alone; nan when it is empty."""
        return w1_of_counts(self.pool.counts(self.indices, matched_only=True), self.target, self.pool.scale)

    @cached_property
    def w1_after(self) -> list[float]:
        """W1 after each document, in selection order."""
        return w1_of_prefixes(self.pool.bins[self.indices].tolist(), self.target, self.pool.scale)

    @cached_property
    def em(self) -> float:
        """Share of the selection that matches the entity (the papers' EM); 0 for an empty one."""
        return float(self.pool.matched[self.indices].mean()) if len(self.indices) else 0.0
