"""What all selectors share: checks, scope, relevance normalisation, filling up. An algorithm is only its `pick`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from warp_core import arguments
from warp_core.candidates import Blend, CandidatePool, RelevanceNorm, Scope, Selection
from warp_core.distributions import FloatArray, IntArray
from warp_core.errors import InvalidInputError
from warp_core.target import TargetDistribution

Pick = Callable[[CandidatePool, TargetDistribution, int, Blend], list[int]]
"""(eligible candidates, target, k, blend) -> positions among them, in selection order."""


@dataclass(frozen=True)
class Selector:
    """A selection method: its algorithm and its defaults. Call it like a function.

    Parameters
    ----------
    pick : the algorithm; it sees eligible candidates only.
    scope : whether all of the pool or only entity-matched candidates are eligible.
    relevance_weight : the papers' lambda (1 is relevance alone), or None for a method that has none.
    rel_norm : how relevance is scaled before the method blends it.
    needs_bins : whether candidates of unknown bin are ineligible.
    """

    pick: Pick
    scope: Scope = "pool"
    relevance_weight: float | None = None
    rel_norm: RelevanceNorm = "none"
    needs_bins: bool = True

    def __call__(
        self,
        pool: CandidatePool,
        target: TargetDistribution | ArrayLike,
        k: int,
        *,
        relevance_weight: float | None = None,
        scope: Scope | None = None,
        rel_norm: RelevanceNorm | None = None,
        fill: bool = False,
    ) -> Selection:
        """Choose k candidates.

        Parameters
        ----------
        pool : N candidates.
        target : a `TargetDistribution`, or non-negative weights over the scale's bins, shape (n_bins,).
        k : at least 1; more than what is eligible gives all that is eligible.
        relevance_weight : 0 .. 1; left out, or for a method without one, the method's own.
        scope : `pool` or `entity`; left out, the method's own.
        rel_norm : `none`, `minmax` or `rank`; left out, the method's own.
        fill : top up a selection shorter than k with the most relevant of the rest.

        Returns
        -------
        Selection with distinct indices in selection order.

        Raises
        ------
        InvalidInputError : an argument is out of range, or target and scale disagree on the bins.
        """
        aim = target if isinstance(target, TargetDistribution) else TargetDistribution.of_weights(target)
        if aim.n_bins != pool.scale.n_bins:
            raise InvalidInputError("target", f"{pool.scale.n_bins} weights are needed, got {aim.n_bins}")
        k = arguments.whole_number("k", k, 1)
        weight = self._weight(relevance_weight)
        blended = normalised(pool.relevance, self.rel_norm if rel_norm is None else rel_norm)
        eligible = eligible_positions(pool, self.scope if scope is None else scope, self.needs_bins)
        if eligible is None:
            picked = self.pick(pool, aim, k, Blend(weight, blended))
        else:
            chosen = self.pick(pool.take(eligible), aim, k, Blend(weight, blended[eligible]))
            picked = eligible[chosen].tolist()
        if fill and len(picked) < k:
            taken = set(picked)
            rest = (position for position in pool.by_relevance.tolist() if position not in taken)
            picked += [position for position, _ in zip(rest, range(k - len(picked)), strict=False)]
        return Selection(np.array(picked, np.intp), pool, aim)

    def _weight(self, asked: float | None) -> float:
        own = self.relevance_weight
        weight = own if asked is None else arguments.share("relevance_weight", asked)
        return 0.0 if own is None or weight is None else weight


def eligible_positions(pool: CandidatePool, scope: Scope, needs_bins: bool = True) -> IntArray | None:
    """Positions of the candidates that a selector may choose; None when that is the whole pool.

    Raises
    ------
    InvalidInputError : no such scope.
    """
    arguments.one_of("scope", scope, get_args(Scope))
    mask = pool.matched if scope == "entity" else np.ones(len(pool), np.bool_)
    if needs_bins:
        mask = mask & (pool.bins >= 0)
    return None if mask.all() else np.flatnonzero(mask)


def normalised(relevance: FloatArray, rel_norm: RelevanceNorm) -> FloatArray:
    """Relevance, shape (N,), as given (`none`), stretched to 0 .. 1 (`minmax`), or by rank in 0 .. 1 (`rank`).

    Equal relevances stay equal; a constant one becomes 0.

    Raises
    ------
    InvalidInputError : no such normalisation.
    """
    arguments.one_of("rel_norm", rel_norm, get_args(RelevanceNorm))
    if rel_norm == "none" or not len(relevance):
        return relevance
    if rel_norm == "rank":
        relevance = np.unique(relevance, return_inverse=True)[1].astype(np.float64)
    low, high = relevance.min(), relevance.max()
    spread = high / 2 - low / 2  # halved first: the spread of two finite numbers may not be finite
    stretched: FloatArray = (relevance / 2 - low / 2) / (spread if spread > 0 else 1.0)
    return stretched
