"""The selectors, one family a file, and `SELECTORS`, the only list of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypedDict, Unpack

from numpy.typing import ArrayLike

from warp_core import arguments
from warp_core.candidates import CandidatePool, RelevanceNorm, Scope, Selection
from warp_core.errors import InvalidInputError
from warp_core.selectors.adagres import adagres
from warp_core.selectors.base import Selector
from warp_core.selectors.bm25 import bm25
from warp_core.selectors.clusters import cluster, xquad
from warp_core.selectors.dpp import dpp, kdpp
from warp_core.selectors.facility_location import facility_location, submix
from warp_core.selectors.jensen_shannon import js_minimizer, js_mmr
from warp_core.selectors.lexrank import lexrank
from warp_core.selectors.mmkp import mmkp
from warp_core.selectors.mmr import mmr
from warp_core.selectors.opinion_mmr import opinion_mmr
from warp_core.selectors.sampling import random, stratified
from warp_core.selectors.top_k import top_k
from warp_core.selectors.w1_exact import reachable_w1, w1_exact
from warp_core.selectors.w1_minimizer import w1_minimizer
from warp_core.selectors.w1_mmr import w1_mmr
from warp_core.selectors.wassrank import wassrank_ot, wassrank_ot_cumulative
from warp_core.target import TargetDistribution

entity_top_k = replace(top_k, scope="entity")
entity_mmr = replace(mmr, scope="entity")
entity_dpp = replace(dpp, scope="entity")

SELECTORS: Mapping[str, Selector] = MappingProxyType(
    {
        "top_k": top_k,
        "w1_minimizer": w1_minimizer,
        "w1_mmr": w1_mmr,
        "w1_exact": w1_exact,
        "wassrank_ot": wassrank_ot,
        "wassrank_ot_cumulative": wassrank_ot_cumulative,
        "js_minimizer": js_minimizer,
        "js_mmr": js_mmr,
        "opinion_mmr": opinion_mmr,
        "entity_top_k": entity_top_k,
        "random": random,
        "stratified": stratified,
        "bm25": bm25,
        "mmr": mmr,
        "dpp": dpp,
        "entity_mmr": entity_mmr,
        "entity_dpp": entity_dpp,
        "kdpp": kdpp,
        "facility_location": facility_location,
        "submix": submix,
        "cluster": cluster,
        "xquad": xquad,
        "lexrank": lexrank,
        "adagres": adagres,
        "mmkp": mmkp,
    }
)

__all__ = [
    "SELECTORS",
    "Choice",
    "Selector",
    "adagres",
    "bm25",
    "cluster",
    "dpp",
    "entity_dpp",
    "entity_mmr",
    "entity_top_k",
    "facility_location",
    "js_minimizer",
    "js_mmr",
    "kdpp",
    "lexrank",
    "mmkp",
    "mmr",
    "opinion_mmr",
    "random",
    "reachable_w1",
    "select",
    "select_many",
    "stratified",
    "submix",
    "top_k",
    "w1_exact",
    "w1_minimizer",
    "w1_mmr",
    "wassrank_ot",
    "wassrank_ot_cumulative",
    "xquad",
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
