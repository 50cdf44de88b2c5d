"""The selectors, one family a file, and `SELECTORS`, the only list of them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypedDict, Unpack

from numpy.typing import ArrayLike

from warp_core import arguments
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

__all__ = [
    "SELECTORS",
    "Choice",
    "Selector",
    "reachable_w1",
    "select",
    "select_many",
    "top_k",
    "w1_exact",
    "w1_minimizer",
    "w1_mmr",
]


class Choice(TypedDict, total=False):
    """The keyword arguments of a selector; see `Selector.__call__`."""

    relevance_weight: float | None
    scope: Scope | None
    rel_norm: RelevanceNorm | None
    fill: bool
    token_budget: int | None
    min_gain: float | None
    redundancy_weight: float
    query: str
    seed: int


def select(
    name: str, pool: CandidatePool, target: TargetDistribution | ArrayLike, k: int, **choice: Unpack[Choice]
) -> Selection:
    """Choose k candidates with the selector of that name; see `Selector.__call__` for the arguments.

    Raises
    ------
    InvalidInputError : no selector has that name, or as `Selector.__call__`.
    """
    arguments.one_of("variant", name, SELECTORS)
    return SELECTORS[name](pool, target, k, **choice)


def select_many(
    name: str,
    pools: Sequence[CandidatePool],
    targets: Sequence[TargetDistribution | ArrayLike],
    k: int,
    **choice: Unpack[Choice],
) -> list[Selection]:
    """`select` for many queries: one pool and one target each, in order.

    Raises
    ------
    InvalidInputError : pools and targets differ in number, or as `select`.
    """
    if len(pools) != len(targets):
        raise InvalidInputError("targets", f"{len(pools)} are needed, one a pool, got {len(targets)}")
    return [select(name, pool, target, k, **choice) for pool, target in zip(pools, targets, strict=True)]
