"""The selectors, one algorithm a file, and `SELECTORS`, the only list of them."""

from collections.abc import Mapping
from types import MappingProxyType

from numpy.typing import ArrayLike

from warp_core.candidates import CandidatePool, RelevanceNorm, Scope, Selection
from warp_core.errors import InvalidInputError
from warp_core.selectors.base import Selector
from warp_core.selectors.top_k import top_k
from warp_core.selectors.w1_exact import reachable_w1, w1_exact
from warp_core.selectors.w1_minimizer import w1_minimizer
from warp_core.selectors.w1_mmr import w1_mmr
from warp_core.target import TargetDistribution

SELECTORS: Mapping[str, Selector] = MappingProxyType(
    {
        "top_k": top_k,
        "w1_minimizer": w1_minimizer,
        "w1_mmr": w1_mmr,
        "w1_exact": w1_exact,
    }
)

__all__ = ["SELECTORS", "Selector", "reachable_w1", "select", "top_k", "w1_exact", "w1_minimizer", "w1_mmr"]


def select(
    name: str,
    pool: CandidatePool,
    target: TargetDistribution | ArrayLike,
    k: int,
    *,
    relevance_weight: float | None = None,
    scope: Scope | None = None,
    rel_norm: RelevanceNorm | None = None,
    fill: bool = False,
) -> Selection:
    """Choose k candidates with the selector of that name; see `Selector.__call__` for the arguments.

    Raises
    ------
    InvalidInputError : no selector has that name, or as `Selector.__call__`.
    """
    selector = SELECTORS.get(name)
    if selector is None:
        raise InvalidInputError("variant", f"must be one of {', '.join(SELECTORS)}, got {name!r}")
    return selector(pool, target, k, relevance_weight=relevance_weight, scope=scope, rel_norm=rel_norm, fill=fill)
