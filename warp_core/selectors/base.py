"""What all selectors share: checks, scope, normalisation, budget, early stop, filling up. A method is its `pick`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np
from numpy.typing import ArrayLike

from warp_core import arguments
from warp_core.candidates import SCOPES, CandidatePool, Options, Pick, RelevanceNorm, Scope, Selection, normalised
from warp_core.distributions import IntArray
from warp_core.errors import InvalidInputError
from warp_core.selectors.ranking import affordable
from warp_core.target import TargetDistribution


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
    needs : columns that the pool must have: `embeddings`, `texts`, `tokens`.
    has_redundancy_weight : whether novelty may decide inside a bin.
    """

    pick: Pick
    scope: Scope = "pool"
    relevance_weight: float | None = None
    rel_norm: RelevanceNorm = "none"
    needs_bins: bool = True
    needs: tuple[str, ...] = ()
    has_redundancy_weight: bool = False

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
        token_budget: int | None = None,
        min_gain: float | None = None,
        redundancy_weight: float = 0.0,
        query: str = "",
        seed: int = 0,
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
        fill : top up a selection shorter than k with the most relevant of the rest, within the token budget.
        token_budget : what the tokens of the chosen may sum to; candidates are taken whole or not at all.
        min_gain : stop before the first document that lowers W1 by less than this (adaptive k: WARP, appendix C.3).
        redundancy_weight : 0 .. 1; for the W1 selectors, how far novelty decides inside a bin.
        query : the question, for lexical methods.
        seed : of whatever is random.

        Returns
        -------
        Selection with distinct indices in selection order.

        Raises
        ------
        InvalidInputError : an argument is out of range, a column is missing, or target and scale disagree on the bins.
        """
        aim = target if isinstance(target, TargetDistribution) else TargetDistribution.of_weights(target)
        if aim.n_bins != pool.scale.n_bins:
            raise InvalidInputError("target", f"{pool.scale.n_bins} weights are needed, got {aim.n_bins}")
        k = arguments.whole_number("k", k, 1)
        redundancy_weight = arguments.share("redundancy_weight", redundancy_weight)
        if redundancy_weight and not self.has_redundancy_weight:
            raise InvalidInputError("redundancy_weight", "this method has none")
        self._check_columns(pool, token_budget is not None, redundancy_weight > 0)
        options = Options(
            weight=self._weight(relevance_weight),
            relevance=normalised(pool.relevance, self.rel_norm if rel_norm is None else rel_norm),
            redundancy_weight=redundancy_weight,
            token_budget=None if token_budget is None else arguments.whole_number("token_budget", token_budget, 0),
            query=query,
            seed=arguments.whole_number("seed", seed, 0),
        )
        eligible = eligible_positions(pool, self.scope if scope is None else scope, self.needs_bins)
        picked = self._picked(pool, aim, k, options, eligible)
        if fill:
            picked += _rest(pool, picked, k, options.token_budget)
        selection = Selection(np.array(picked, np.intp), pool, aim)
        return selection if min_gain is None else _stopped(selection, min_gain)

    def _check_columns(self, pool: CandidatePool, budgeted: bool, novel: bool) -> None:
        for column in (*self.needs, *(["tokens"] * budgeted), *(["embeddings"] * novel)):
            if getattr(pool, column) is None:
                raise InvalidInputError(column, "are needed, and the pool has none")

    def _weight(self, asked: float | None) -> float:
        own = self.relevance_weight
        weight = own if asked is None else arguments.share("relevance_weight", asked)
        return 0.0 if own is None or weight is None else weight

    def _picked(
        self, pool: CandidatePool, target: TargetDistribution, k: int, options: Options, eligible: IntArray | None
    ) -> list[int]:
        """Picks among the eligible positions (all, when None), within the token budget.

        A pick that does not fit is struck out with all others that are as large, and the method runs again: what it
        took before stays, since those were not chosen then either, and what comes after is chosen knowing the list. A
        method whose choice depends on more of the pool than that spends `options.token_budget` itself.
        """
        while True:
            if eligible is None:
                picked = self.pick(pool, target, k, options)
            else:
                part = replace(options, relevance=options.relevance[eligible])
                picked = eligible[self.pick(pool.take(eligible), target, k, part)].tolist()
            fits = _fitting(pool, picked, options.token_budget)
            if fits == len(picked):
                return picked
            assert pool.tokens is not None and options.token_budget is not None  # noqa: S101, PT018 - else all fit
            left = options.token_budget - int(pool.tokens[picked[:fits]].sum())
            keep = pool.tokens <= left
            keep[picked[:fits]] = True
            eligible = np.flatnonzero(keep) if eligible is None else eligible[keep[eligible]]


def _fitting(pool: CandidatePool, picked: Sequence[int], token_budget: int | None) -> int:
    """How many of the first picks fit the budget."""
    if token_budget is None or pool.tokens is None:
        return len(picked)
    return int(np.searchsorted(np.cumsum(pool.tokens[picked]), token_budget, side="right"))


def _rest(pool: CandidatePool, picked: Sequence[int], k: int, token_budget: int | None) -> list[int]:
    """The most relevant candidates that are not picked, as many as k and the token budget still allow."""
    taken = set(picked)
    others = (position for position in pool.by_relevance.tolist() if position not in taken)
    spent = 0 if pool.tokens is None else int(pool.tokens[list(picked)].sum())
    return affordable(pool, others, k - len(picked), None if token_budget is None else token_budget - spent)


def _stopped(selection: Selection, min_gain: float) -> Selection:
    """The selection up to the last document before one that lowers W1 by less than `min_gain`."""
    arguments.number_between("min_gain", min_gain, 0, selection.pool.scale.range)
    furthest = selection.pool.scale.range  # what a list without a known opinion counts as, as an empty one does
    path = [furthest if isnan(w1) else w1 for w1 in selection.w1_after]
    for n in range(1, len(path)):
        if path[n - 1] - path[n] < min_gain:
            return Selection(selection.indices[:n], selection.pool, selection.target)
    return selection


def eligible_positions(pool: CandidatePool, scope: Scope, needs_bins: bool = True) -> IntArray | None:
    """Positions of the candidates that a selector may choose; None when that is the whole pool.

    Raises
    ------
    InvalidInputError : no such scope.
    """
    arguments.one_of("scope", scope, SCOPES)
    if scope == "pool" and not needs_bins:
        return None
    mask = pool.bins >= 0 if needs_bins else pool.matched
    if needs_bins and scope == "entity":
        mask = mask & pool.matched
    return None if mask.all() else np.flatnonzero(mask)
