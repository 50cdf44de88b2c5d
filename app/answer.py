"""The outcome of a re-ranking -> the answer that a caller reads."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from msgspec import UNSET, UnsetType

from app.clock import Stopwatch
from app.pool import Pool
from app.presentation import by_position, finite, position, target_output
from app.schemas import (
    Ask,
    CandidateInput,
    Decision,
    Distributions,
    EntitySource,
    Quality,
    RerankResponse,
    Result,
)
from app.store.base import StoredDocument
from warp_core import SELECTORS, CandidatePool, Selection, reachable_w1
from warp_core.candidates import matched_share
from warp_core.distributions import shares
from warp_core.transport import w1_of_counts

Content: TypeAlias = tuple[str | UnsetType, dict[str, Any] | UnsetType, dict[str, str] | UnsetType]


@dataclass(frozen=True)
class Outcome:
    """What was decided and chosen.

    Parameters
    ----------
    given : the pool before expansion; `top_k` is the plain selection from it.
    pool : the pool after expansion, which `chosen` is a selection of.
    """

    entity: str | None
    entity_source: EntitySource
    variant: str
    expansion: str
    reason: str
    em_attainable: float
    deficit: Sequence[int]
    added: int
    pool: Pool
    given: CandidatePool
    top_k: Selection
    chosen: Selection


def answer_to(
    request: Ask,
    outcome: Outcome,
    stored: Mapping[str, StoredDocument],
    watch: Stopwatch,
    warnings: list[str],
    degraded: bool,
) -> RerankResponse:
    """The answer to a request; `stored` holds the chosen documents that the request did not bring itself."""
    scale, target = outcome.given.scale, outcome.chosen.target
    return RerankResponse(
        results=_results(request, outcome, stored),
        decision=Decision(
            entity=outcome.entity,
            entity_source=outcome.entity_source,
            variant=outcome.variant,
            expansion=outcome.expansion,
            em_top_k=round(outcome.top_k.em, 4),
            em_pool=round(matched_share(outcome.given.matched), 4),
            em_attainable=round(outcome.em_attainable, 4),
            deficit=[position(b, scale) for b in outcome.deficit],
            added=outcome.added,
            reason=outcome.reason,
        ),
        target=target_output(target, scale),
        quality=_quality(request, outcome),
        distributions=_distributions(outcome) if request.explain else UNSET,
        degraded=degraded,
        warnings=warnings,
        timings_ms=watch.timings_ms(),
    )


def _results(request: Ask, outcome: Outcome, stored: Mapping[str, StoredDocument]) -> list[Result]:
    pool, chosen, scale = outcome.pool, outcome.chosen, outcome.given.scale
    shown: list[float | None] = [*(position(b, scale) for b in range(scale.n_bins)), None]  # the last is UNKNOWN's
    results = []
    for rank, (i, w1) in enumerate(zip(chosen.indices.tolist(), chosen.w1_after, strict=True)):
        name, index = pool.ids[i], pool.indices[i]
        results.append(
            Result(
                name,
                index,
                rank,
                pool.scores[i],
                shown[pool.bins[i]],
                pool.matched[i],
                "expansion" if index is None else "pool",
                finite(w1),
                *_content(pool.brought[i], stored.get(name or "")),
            )
        )
    if request.explain:
        _tell_gains(results, chosen.w1_after, scale.range)
    return results


def _tell_gains(results: Sequence[Result], path: Sequence[float], empty: float) -> None:
    """By how much each document lowers W1; `empty` is the papers' W1 of an empty list."""
    before = empty
    for result, w1 in zip(results, path, strict=True):
        result.w1_gain = finite(before - w1)
        before = before if math.isnan(w1) else w1


def _content(brought: CandidateInput | None, stored: StoredDocument | None) -> Content:
    """Text, metadata and attributes: as the request told them, else as they are stored; UNSET what nobody told."""
    if brought is not None:
        return (
            UNSET if brought.text is None else brought.text,
            UNSET if brought.metadata is None else brought.metadata,
            UNSET if brought.attributes is None else brought.attributes,
        )
    return (UNSET,) * 3 if stored is None else (stored.content.text, stored.content.metadata, stored.content.attributes)


def _quality(request: Ask, outcome: Outcome) -> Quality:
    given, chosen, target = outcome.given, outcome.chosen, outcome.chosen.target
    with_bin = sum(chosen.counts)
    scope = "pool" if request.fill else request.scope or SELECTORS[outcome.variant].scope
    return Quality(
        w1=finite(chosen.w1),
        w1_matched=finite(chosen.w1_matched),
        w1_best=finite(reachable_w1(chosen.pool, target, with_bin, scope)) if with_bin else None,
        w1_top_k=finite(outcome.top_k.w1),
        w1_pool=finite(w1_of_counts(given.counts(), target, given.scale)),
        em=round(chosen.em, 4),
        selected=len(chosen),
        requested=request.k,
        tokens=_tokens(outcome),
    )


def _tokens(outcome: Outcome) -> int | None:
    """What the chosen cost, as far as the request told; None where it told nothing."""
    brought = [outcome.pool.brought[i] for i in outcome.chosen.indices.tolist()]
    told = [one.tokens for one in brought if one is not None and one.tokens is not None]
    return sum(told) if told else None


def _distributions(outcome: Outcome) -> Distributions:
    scale = outcome.given.scale
    lists = (
        outcome.given.counts(),
        outcome.top_k.counts,
        outcome.chosen.counts,
    )
    return Distributions(*(by_position(shares(counts).tolist(), scale) for counts in lists))
