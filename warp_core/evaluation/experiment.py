"""Queries x methods x settings: one pool, retrieved once a query, and the lists that the selectors choose from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from warp_core import arguments
from warp_core.candidates import CandidatePool, RelevanceNorm, Selection
from warp_core.distributions import FloatArray
from warp_core.evaluation.measures import ListMeasures, measure
from warp_core.selectors import SELECTORS, select
from warp_core.target import TargetDistribution

RELEVANCE_WEIGHTS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""The papers' sweep over lambda (WARP, F.3)."""
NORMS: tuple[RelevanceNorm, ...] = get_args(RelevanceNorm)
"""As given, as the paper has it; stretched to 0 .. 1; by rank."""


@dataclass(frozen=True)
class Setting:
    """One way to choose a list.

    Parameters
    ----------
    method : a selector's name. k : the list's length. n : the pool's size.
    weight : the relevance weight (the papers' lambda), and norm : how relevance is scaled before it is blended; None is
        the method's own.
    """

    method: str
    k: int
    n: int
    weight: float | None = None
    norm: RelevanceNorm | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """One query: its candidates, best first, with every column that a method needs; what they are to look like."""

    pool: CandidatePool
    target: TargetDistribution
    query: str = ""
    seed: int = 0

    def cut_to(self, n: int) -> CandidatePool:
        """The n best candidates, as a pool of their own that nothing has been worked out for yet."""
        return self.pool.take(np.arange(min(n, len(self.pool))))


def settings_of(
    methods: Sequence[str], ks: Sequence[int], sizes: Sequence[int], weights: Sequence[float] = RELEVANCE_WEIGHTS
) -> list[Setting]:
    """What is varied: each k at the largest pool, each pool size and each weight at the largest k; and the norm.

    Each setting once; weights and norms only for methods that blend relevance.
    """
    k, n = max(ks), max(sizes)
    found = {Setting(method, one, n): None for method in methods for one in sorted(ks)}
    found |= {Setting(method, k, one): None for method in methods for one in sorted(sizes)}
    blending = [method for method in methods if SELECTORS[method].relevance_weight is not None]
    found |= {Setting(method, k, n, weight): None for method in blending for weight in weights}
    found |= {Setting(method, k, n, norm=norm): None for method in blending for norm in NORMS}
    return list(found)


def choose(case: Case, setting: Setting, pool: CandidatePool | None = None) -> Selection:
    """The list that a setting chooses in a case; `pool` is `case.cut_to(setting.n)`, where it is at hand.

    Raises
    ------
    InvalidInputError : as the selector.
    """
    pool = case.cut_to(setting.n) if pool is None else pool
    return select(
        setting.method,
        pool,
        case.target,
        setting.k,
        relevance_weight=setting.weight,
        rel_norm=setting.norm,
        query=case.query,
        seed=case.seed,
    )


def measures_of(selection: Selection) -> ListMeasures:
    """The measures of a selection against the target that it was chosen toward."""
    pool, chosen = selection.pool, selection.indices
    return measure(pool.bins[chosen], pool.matched[chosen], selection.target, pool.scale)


def w1_curve(case: Case, method: str, most: int, n: int) -> FloatArray:
    """W1 of the lists of 1, 2 .. `most` documents, shape (most,), each chosen anew for its length (WARP, figure 2)."""
    arguments.whole_number("most", most, 1)
    pool = case.cut_to(n)
    return np.array([choose(case, Setting(method, k, n), pool).w1 for k in range(1, most + 1)])


def converged_at(curve: FloatArray, min_gain: float) -> int:
    """The papers' k*: the length after which one more document lowers W1 by less than `min_gain` (WARP, C.3).

    Parameters
    ----------
    curve : W1 of lists of 1, 2 .. documents, shape (n,), n >= 1, in scale units.

    Returns
    -------
    1 .. n; n when every document gained as much.
    """
    small = np.flatnonzero(curve[:-1] - curve[1:] < min_gain)
    return int(small[0]) + 1 if len(small) else len(curve)
