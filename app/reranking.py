"""The re-rank and search use cases: candidates in, a representative selection out, with what was done and why.

One request, top to bottom: entity -> labels and counts -> pool and target -> decision -> expansion -> selection ->
answer.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

from app import expansion
from app.answer import Outcome, answer_to
from app.clock import Stopwatch
from app.columns import columns_of, names_without_text
from app.entities import entity_in
from app.errors import InvalidRequestError, pointing_at
from app.lookups import Found
from app.names import checked_name, entity_key
from app.pool import (
    Columns,
    Pool,
    checked_candidates,
    pool_of_request,
    scores_of,
    stored_label,
    tell_opinions,
    without_duplicates,
)
from app.resources import Resources
from app.schemas import Ask, CandidateInput, EntitySource, RerankRequest, RerankResponse, SearchRequest, TargetInput
from app.store.base import StoredDocument, VectorSpace
from app.targets import Population, population_of, target_for
from warp_core import (
    SELECTORS,
    CandidatePool,
    TargetDistribution,
    attainable_em,
    deficit_bins,
    select,
    top_k,
)
from warp_core.policy import Expansion

AUTO = "auto"
MIN_GAIN = 0.5
"""With adaptive_k, a document has to lower W1 by this much (WARP, appendix C.3)."""
LARGE_POOL = 256
"""Candidates from which comparing them is done beside the event loop."""
POOL_SIZE = 200
"""Documents that /search retrieves when the request does not say (the papers' N)."""


async def rerank(request: RerankRequest, resources: Resources) -> RerankResponse:
    """Choose k of the candidates that the request brought, and of what expansion finds beside them.

    Raises
    ------
    InvalidRequestError : a field breaks a rule.
    StoreUnavailableError : the store cannot be read.
    """
    watch = Stopwatch()
    population = _checked(request, resources)
    candidates = checked_candidates(request, resources.settings.max_candidates)
    with watch.stage("labels"):
        entity, source = await _entity(request, resources)
        told = tell_opinions(candidates)
        bare = [c.id for c, tells in zip(candidates, told, strict=True) if not tells and c.id is not None]
        labelled = [c.id for c, tells in zip(candidates, told, strict=True) if tells and c.id is not None]
        found = await resources.lookups.lookup(request.collection, entity, bare, population.facets, labelled)
    with watch.stage("encode"):
        scores = await scores_of(request, candidates, resources.encoder)
    with watch.stage("labels"):
        pool, dropped = without_duplicates(pool_of_request(candidates, told, scores, found.entity, found.lookup))
    run = _Run(request, resources, watch, found, source, population)
    if dropped:
        run.warnings.append(f"{dropped} candidates share their id with a better-scored one and were dropped")
    return await run.answer(pool, candidates)


async def search(request: SearchRequest, resources: Resources) -> RerankResponse:
    """Retrieve the pool from the local index, then do what `rerank` does.

    Raises
    ------
    InvalidRequestError : a field breaks a rule, or the service has no encoder.
    StoreUnavailableError : the store cannot be read.
    """
    watch = Stopwatch()
    population = _checked(request, resources)
    limit = resources.settings.max_candidates
    pool_size = min(POOL_SIZE, limit) if request.pool_size is None else request.pool_size
    if pool_size > limit:
        raise InvalidRequestError.at("/pool_size", f"must be at most {limit}, got {pool_size}")
    encoder = resources.encoder
    if encoder is None:
        raise InvalidRequestError.at(
            "/query", "this service has no encoder (setting WARP_ENCODER), so it cannot search"
        )
    with watch.stage("labels"):
        entity, source = await _entity(request, resources)
    with watch.stage("encode"):
        (query,) = await encoder.encode_queries([request.query])
    with watch.stage("retrieve"):
        search_index = partial(resources.index[request.collection].search, query, pool_size)
        hits = await asyncio.get_running_loop().run_in_executor(resources.threads, search_index)
    with watch.stage("labels"):
        names = [name for name, _ in hits]
        found = await resources.lookups.lookup(request.collection, entity, names, population.facets)
    lookup = found.lookup
    if lookup.space and lookup.space != VectorSpace(encoder.dimension, lookup.space.encoder and encoder.name):
        raise InvalidRequestError.at(
            "/collection",
            f"its vectors come from {lookup.space.encoder or 'its callers'} and hold {lookup.space.dimension} numbers; "
            f"this service's encoder is {encoder.name} with {encoder.dimension}",
        )
    # What the store no longer holds was deleted after the index was asked.
    hits = [(name, score) for name, score in hits if name in lookup.labels]
    labels = [stored_label(lookup.labels[name]) for name, _ in hits]
    scores = [score for _, score in hits]
    pool = Pool(
        [name for name, _ in hits],
        list(range(len(hits))),
        list(scores),
        scores,
        [b for b, _ in labels],
        [matched for _, matched in labels],
        query,
    )
    run = _Run(request, resources, watch, found, source, population)
    return await run.answer(pool, ())


def _checked(request: Ask, resources: Resources) -> Population:
    """Check what does not depend on the store; the population that the target is about."""
    if request.query is None and request.entity is None:
        raise InvalidRequestError.at("/query", "a query or an entity is needed")
    if request.k > resources.settings.max_k:
        raise InvalidRequestError.at("/k", f"must be at most {resources.settings.max_k}, got {request.k}")
    if request.variant != AUTO and request.variant not in SELECTORS:
        allowed = ", ".join((AUTO, *SELECTORS))
        raise InvalidRequestError.at("/variant", f"must be one of {allowed}, got {request.variant[:40]!r}")
    with pointing_at("/collection"):
        checked_name("collection", request.collection)
    return population_of(request.target or TargetInput())


async def _entity(request: Ask, resources: Resources) -> tuple[str | None, EntitySource]:
    """The entity in question, and where it came from."""
    if request.entity is not None:
        with pointing_at("/entity"):
            return entity_key("entity", request.entity), "request"
    aliases = await resources.lookups.aliases(request.collection)
    found = entity_in(request.query or "", resources.index[request.collection], aliases)
    return found, "query" if found else "none"


class _Run:
    """One request past its lookup: the steps from pool to answer, and what they share."""

    def __init__(
        self,
        request: Ask,
        resources: Resources,
        watch: Stopwatch,
        found: Found,
        source: EntitySource,
        population: Population,
    ) -> None:
        self.request = request
        self.resources = resources
        self.watch = watch
        self.lookup, self.entity, outage = found
        self.scale = self.lookup.settings.scale
        self.source = source
        self.population = population
        self.warnings: list[str] = []
        self.degraded = False
        self.degrade(outage)
        if not self.lookup.known:
            self.warnings.append(f"there is no collection {request.collection!r}")

    def degrade(self, outage: str | None) -> None:
        """Say that the answer lacks what the store would have told, if it could not be reached."""
        if outage and not self.degraded:
            self.degraded = True
            self.warnings.append(f"labels, target and texts are the last known or missing: {outage}")

    async def answer(self, pool: Pool, candidates: Sequence[CandidateInput]) -> RerankResponse:
        """Decide, expand, select, and say so."""
        request, resources, watch = self.request, self.resources, self.watch
        pool = self._without_excluded(pool)
        with watch.stage("target"):
            target = target_for(request.target or TargetInput(), self.lookup, self.population)
        given = pool.in_core(self.scale)
        em_attainable = attainable_em(pool.matched, request.k)
        deficit = self._deficit(given, target)
        expansion_name, reason = self._expansion(em_attainable, bool(deficit))
        with watch.stage("expansion"):
            widened = await self._expanded(pool, expansion_name, deficit)
        variant, why = self._variant(attainable_em(widened.matched, request.k))
        columns = await self._columns(widened, candidates, variant)
        core = given if widened is pool and columns is None else widened.in_core(self.scale, columns)
        choose = partial(
            select,
            variant,
            core,
            target,
            request.k,
            relevance_weight=request.relevance_weight,
            scope=request.scope,
            rel_norm=request.rel_norm,
            fill=request.fill,
            token_budget=request.token_budget,
            min_gain=_min_gain(request.adaptive_k),
            redundancy_weight=request.redundancy_weight,
            query=request.query or "",
            seed=request.seed,
        )
        with watch.stage("rerank"):
            # What compares candidates takes long when they are many. Else it is done before a thread has started, and a
            # thread that runs makes the event loop wait again and again.
            if columns is None or len(core) < LARGE_POOL:
                chosen = choose()
            else:
                chosen = await asyncio.get_running_loop().run_in_executor(resources.threads, choose)
        if request.relevance_weight is not None and SELECTORS[variant].relevance_weight is None:
            self.warnings.append(f"{variant} has no relevance weight; the one given changed nothing")
        if len(chosen) < request.k:
            self.warnings.append(f"only {len(chosen)} of {request.k} documents could be selected")
        outcome = Outcome(
            entity=self.entity,
            entity_source=self.source,
            variant=variant,
            expansion=expansion_name,
            reason=f"{reason}; {why}",
            em_attainable=em_attainable,
            deficit=deficit,
            added=len(widened) - len(pool),
            pool=widened,
            given=given,
            top_k=top_k(given, target, request.k),
            chosen=chosen,
        )
        stored = await self._texts(widened, chosen.indices.tolist())
        answer = answer_to(request, outcome, candidates, stored, watch, self.warnings, self.degraded)
        resources.metrics.observe(answer, watch, resources.settings.sla_ms)
        return answer

    def _without_excluded(self, pool: Pool) -> Pool:
        excluded = {name for name, labels in self.lookup.labels.items() if labels.excluded}
        if not excluded:
            return pool
        kept = pool.take([i for i, name in enumerate(pool.ids) if name not in excluded])
        self.warnings.append(f"{len(pool) - len(kept)} excluded documents were left out")
        return kept

    def _deficit(self, pool: CandidatePool, target: TargetDistribution) -> list[int]:
        if self.entity is None:
            return []
        return deficit_bins(pool.counts(matched_only=True), target, self.resources.settings.deficit_ratio)

    def _expansion(self, em_attainable: float, deficit: bool) -> tuple[Expansion, str]:
        if self.entity is None:
            return "none", "the query names no known entity"
        if self.request.expansion != AUTO:
            return cast(Expansion, self.request.expansion), f"{self.request.expansion} was asked for"
        return self.resources.policy.expansion(em_attainable, deficit)

    def _variant(self, em_attainable: float) -> tuple[str, str]:
        if self.request.variant != AUTO:
            return self.request.variant, f"{self.request.variant} was asked for"
        if self.entity is None:
            return "top_k", "top_k since there are no opinions to represent"
        return self.resources.policy.variant(em_attainable)

    async def _expanded(self, pool: Pool, name: Expansion, deficit: Sequence[int]) -> Pool:
        """The pool with what expansion finds; the same pool when there is nothing to do (self-bypass)."""
        dense = attainable_em(pool.matched, self.request.k) >= self.resources.policy.dense_em
        if name == "none" or self.entity is None or (not deficit and (dense or name == "adaptive")):
            return pool
        index = self.resources.index[self.request.collection]
        if pool.query_vector is not None:
            queries = pool.query_vector[None, :]
        else:
            poles = self.lookup.settings.pole_queries
            queries = await expansion.pole_vectors(self.resources.encoder, poles, self.entity)
        found = expansion.tail(index, self.entity, pool, self.scale, queries)
        if name == "adaptive":
            chosen = expansion.adaptive(found, deficit, self.request.k)
        else:
            chosen = expansion.entity_gated(found, self.scale, self.request.k)
        return expansion.widened(pool, found, chosen, index) if len(chosen) else pool

    async def _columns(self, pool: Pool, candidates: Sequence[CandidateInput], variant: str) -> Columns | None:
        """What this choice needs beyond relevance and bins; None when that is nothing."""
        needs = set(SELECTORS[variant].needs)
        if self.request.redundancy_weight:
            needs.add("embeddings")
        if self.request.token_budget is not None:
            needs.add("tokens")
        if not needs:
            return None
        resources, collection = self.resources, self.request.collection
        index = resources.index[collection]
        missing = names_without_text(pool, candidates)
        stored, outage = await resources.lookups.documents(collection, missing)
        self.degrade(outage)
        return await columns_of(pool, candidates, needs, stored, index, resources.encoder)

    async def _texts(self, pool: Pool, chosen: Sequence[int]) -> Mapping[str, StoredDocument]:
        """The chosen documents that the request did not bring itself."""
        from_store = isinstance(self.request, SearchRequest)
        names = [name for i in chosen if (name := pool.ids[i]) is not None and (from_store or pool.indices[i] is None)]
        stored, outage = await self.resources.lookups.documents(self.request.collection, names)
        self.degrade(outage)
        return stored


def _min_gain(adaptive_k: bool | float) -> float | None:
    if adaptive_k is True:
        return MIN_GAIN
    return None if adaptive_k is False else adaptive_k
