"""The outcome of a re-ranking -> the answer that a caller reads."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import UNSET

from app.clock import Stopwatch
from app.pool import UNKNOWN, Pool
from app.presentation import by_position, finite, position, target_output
from app.schemas import Ask, CandidateInput, Decision, Distributions, EntitySource, Quality, RerankResponse, Result
from app.store.base import StoredDocument
from warp_core import SELECTORS, CandidatePool, Selection, reachable_w1
from warp_core.distributions import shares
from warp_core.transport import w1_of_counts


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
            em_pool=round(float(outcome.given.matched.mean()), 4) if len(outcome.given) else 0.0,
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
    results = []
    before = scale.range  # the papers' W1 of an empty list
    for rank, (i, w1_after) in enumerate(zip(chosen.indices.tolist(), chosen.w1_after, strict=True)):
        name, index, brought = pool.ids[i], pool.indices[i], pool.brought[i]
        result = Result(
            id=name,
            index=index,
            rank=rank,
            score=pool.scores[i],
            si=position(pool.bins[i], scale) if pool.bins[i] != UNKNOWN else None,
            entity_match=pool.matched[i],
            origin="expansion" if index is None else "pool",
            w1_after=finite(w1_after),
        )
        if brought is not None:
            _return_as_given(result, brought)
        elif name is not None and name in stored:
            content = stored[name].content
            result.text, result.metadata, result.attributes = content.text, content.metadata, content.attributes
        if request.explain:
            result.w1_gain = finite(before - w1_after)
        before = before if math.isnan(w1_after) else w1_after
        results.append(result)
    return results


def _return_as_given(result: Result, candidate: CandidateInput) -> None:
    if candidate.text is not None:
        result.text = candidate.text
    if candidate.metadata is not None:
        result.metadata = candidate.metadata
    if candidate.attributes is not None:
        result.attributes = candidate.attributes


def _quality(request: Ask, outcome: Outcome) -> Quality:
    given, chosen, target = outcome.given, outcome.chosen, outcome.chosen.target
    with_bin = sum(chosen.pool.counts(chosen.indices))
    scope = "pool" if request.fill else request.scope or SELECTORS[outcome.variant].scope
    brought = [outcome.pool.brought[i] for i in chosen.indices.tolist()]
    tokens = [one.tokens for one in brought if one is not None]
    return Quality(
        w1=finite(chosen.w1),
        w1_matched=finite(chosen.w1_matched),
        w1_best=finite(reachable_w1(chosen.pool, target, with_bin, scope)) if with_bin else None,
        w1_top_k=finite(outcome.top_k.w1),
        w1_pool=finite(w1_of_counts(given.counts(), target, given.scale)),
        em=round(chosen.em, 4),
        selected=len(chosen),
        requested=request.k,
        tokens=sum(t for t in tokens if t is not None) if any(t is not None for t in tokens) else None,
    )


def _distributions(outcome: Outcome) -> Distributions:
    scale = outcome.given.scale
    lists = (
        outcome.given.counts(),
        outcome.given.counts(outcome.top_k.indices),
        outcome.chosen.pool.counts(outcome.chosen.indices),
    )
    return Distributions(*(by_position(shares(counts).tolist(), scale) for counts in lists))
