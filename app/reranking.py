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
from app.asking import Asked, asked_of, labels_of_texts, notes_on_cold_start
from app.clock import Stopwatch
from app.columns import columns_of, names_without_text
from app.encoder import Encoder
from app.errors import IndexUnavailableError, InvalidRequestError, pointing_at
from app.names import checked_name
from app.pool import (
    Columns,
    Pool,
    checked_candidates,
    pool_of_request,
    scores_of,
    silent,
    stored_label,
    tail_beyond,
    without_duplicates,
)
from app.resources import Resources
from app.schemas import AUTO, Ask, RerankRequest, RerankResponse, SearchRequest, TargetInput
from app.store.base import StoredDocument
from app.targets import Population, population_of, target_for
from warp_core import (
    SELECTORS,
    CandidatePool,
    Selection,
    TargetDistribution,
    attainable_em,
    deficit_bins,
    select,
    top_k,
)
from warp_core.policy import Expansion

MIN_GAIN = 0.5
"""With adaptive_k, a document has to lower W1 by this much (WARP, appendix C.3)."""
LARGE_POOL = 256
"""Candidates from which comparing them is done beside the event loop."""
POOL_SIZE = 200
"""Documents that /search retrieves when the request does not say (the papers' N)."""


async def rerank(request: RerankRequest, resources: Resources, typical_k: int | None = None) -> RerankResponse:
    """Choose k of the candidates that the request brought, and of what expansion finds beside them.

    Parameters
    ----------
    typical_k : the length that the policy goes by, where k documents are only put in order, and fewer will be read.

    Raises
    ------
    InvalidRequestError : a field breaks a rule.
    StoreUnavailableError : the store cannot be read.
    """
    watch = Stopwatch()
    population = _checked(request, resources)
    brought = checked_candidates(request, resources.settings.max_candidates)
    unsaid = silent(brought)
    wanted = [name for i in unsaid if (name := brought[i].id) is not None]
    asked = await asked_of(request, resources, watch, population, wanted, brought.named)
    with watch.stage("encode"):
        scores = await scores_of(request, brought, resources.encoder)
    with watch.stage("labels"):
        by_labeller = await labels_of_texts(brought, unsaid, asked)
        given = pool_of_request(brought, unsaid, scores, asked.entity, asked.lookup, by_labeller)
        n = brought.n_candidates
        pool, dropped = without_duplicates(given if n == len(given) else given.take(range(n)))
        tail = None if request.tail is None else tail_beyond(pool, given.take(range(n, len(given))))
    run = _Run(request, resources, watch, asked, typical_k)
    if by_labeller:
        run.notes.append(f"{len(by_labeller)} candidates were labelled by {asked.lookup.settings.labeller}")
    if dropped:
        run.warnings.append(f"{dropped} candidates share their id with a better-scored one and were dropped")
    return await run.answer(pool, tail)


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
    with watch.stage("encode"):
        (query,) = await encoder.encode_queries([request.query])
    with watch.stage("retrieve"):
        hits = await resources.index[request.collection].search(query, pool_size)
    asked = await asked_of(request, resources, watch, population, [name for name, _ in hits])
    lookup = asked.lookup
    if lookup.space and not encoder.compares_with(lookup.space):
        raise InvalidRequestError.at("/collection", encoder.refusal(lookup.space))
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
        [None] * len(hits),
        query,
    )
    return await _Run(request, resources, watch, asked).answer(pool)


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


class _Run:
    """One request past its lookup: the steps from pool to answer, and what they share."""

    def __init__(
        self, request: Ask, resources: Resources, watch: Stopwatch, asked: Asked, typical_k: int | None = None
    ) -> None:
        self.request = request
        self.typical_k = min(request.k, typical_k or request.k)
        self.resources = resources
        self.watch = watch
        self.lookup = asked.lookup
        self.scale = asked.lookup.settings.scale
        self.asked = asked
        self.entity = asked.entity
        self.policy = asked.policy
        self.population = asked.population
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.degraded: list[str] = []
        """What the answer lacks something of: `store`, `index`."""
        self.degrade(asked.outage)
        if not asked.lookup.known:
            self.warnings.append(f"there is no collection {request.collection!r}")

    def degrade(self, outage: str | None) -> None:
        """Say that the answer lacks what the store would have told, if it could not be reached."""
        if outage and "store" not in self.degraded:
            self.degraded.append("store")
            self.warnings.append(f"labels, target and texts are the last known or missing: {outage}")

    async def answer(self, pool: Pool, tail: Pool | None = None) -> RerankResponse:
        """Decide, expand (from the tail, when one was sent), select, and say so."""
        request, resources, watch = self.request, self.resources, self.watch
        pool = self._without_excluded(pool)
        with watch.stage("target"):
            target = target_for(request.target or TargetInput(), self.lookup, self.population)
        self.notes += notes_on_cold_start(self.asked, request.target, target)
        given = pool.in_core(self.scale)
        em_attainable = attainable_em(pool.matched, self.typical_k)
        deficit = self._deficit(given, target)
        expansion_name, reason = self._expansion(em_attainable, bool(deficit))
        with watch.stage("expansion"):
            widened = await self._expanded(pool, tail, given, target, expansion_name, deficit)
        variant, why = self._variant(attainable_em(widened.matched, self.typical_k))
        columns = await self._columns(widened, variant)
        core = given if widened is pool and columns is None else widened.in_core(self.scale, columns)
        chosen = await self._chosen(core, target, variant, at_once=columns is None or len(core) < LARGE_POOL)
        outcome = Outcome(
            entity=self.entity,
            entity_source=self.asked.source,
            variant=variant,
            expansion=expansion_name,
            reason="; ".join([*self.notes, reason, why]),
            em_attainable=em_attainable,
            deficit=deficit,
            added=len(widened) - len(pool),
            pool=widened,
            given=given,
            top_k=top_k(given, target, request.k),
            chosen=chosen,
        )
        stored = await self._texts(widened, chosen.indices.tolist())
        answer = answer_to(request, outcome, stored, watch, self.warnings, bool(self.degraded))
        resources.metrics.observe(answer, watch, resources.settings.sla_ms, self.degraded)
        return answer

    async def _chosen(self, pool: CandidatePool, target: TargetDistribution, variant: str, at_once: bool) -> Selection:
        """What the selector picks.

        What compares candidates takes long when they are many. Else it is done before a thread has started, and a
        thread that runs makes the event loop wait again and again.
        """
        request = self.request
        choose = partial(
            select,
            variant,
            pool,
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
        with self.watch.stage("rerank"):
            if at_once:
                chosen = choose()
            else:
                chosen = await asyncio.get_running_loop().run_in_executor(self.resources.threads, choose)
        if request.relevance_weight is not None and SELECTORS[variant].relevance_weight is None:
            self.warnings.append(f"{variant} has no relevance weight; the one given changed nothing")
        if len(chosen) < request.k:
            self.warnings.append(f"only {len(chosen)} of {request.k} documents could be selected")
        return chosen

    def _without_excluded(self, pool: Pool) -> Pool:
        excluded = {name for name, labels in self.lookup.labels.items() if labels.excluded}
        if not excluded:
            return pool
        kept = pool.take([i for i, name in enumerate(pool.ids) if name not in excluded])
        if len(kept) < len(pool):
            self.warnings.append(f"{len(pool) - len(kept)} excluded documents were left out")
        return kept

    def _deficit(self, pool: CandidatePool, target: TargetDistribution) -> list[int]:
        if self.entity is None:
            return []
        return deficit_bins(pool.counts(matched_only=True), target, self.policy.deficit_ratio)

    def _expansion(self, em_attainable: float, deficit: bool) -> tuple[Expansion, str]:
        if self.entity is None:
            nearness = f" ({self.asked.nearness})" if self.asked.nearness else ""
            return "none", f"the query names no known entity{nearness}"
        if self.request.expansion != AUTO:
            return cast(Expansion, self.request.expansion), f"{self.request.expansion} was asked for"
        return self.policy.expansion(em_attainable, deficit)

    def _variant(self, em_attainable: float) -> tuple[str, str]:
        if self.request.variant != AUTO:
            return self.request.variant, f"{self.request.variant} was asked for"
        if self.entity is None:
            return "top_k", "top_k since there are no opinions to represent"
        return self.policy.variant(em_attainable)

    async def _expanded(
        self,
        pool: Pool,
        tail: Pool | None,
        given: CandidatePool,
        target: TargetDistribution,
        name: Expansion,
        deficit: Sequence[int],
    ) -> Pool:
        """The pool with what expansion finds; the same pool when there is nothing to do (self-bypass)."""
        if name == "none" or self.entity is None:
            return pool
        dense = attainable_em(pool.matched, self.typical_k) >= self.policy.dense_em
        if not deficit and (dense or name == "adaptive"):
            return pool
        source = await self._source(pool, tail, self.entity, name)
        k, policy = self.request.k, self.policy
        try:
            if name == "adaptive":
                matched = given.counts(matched_only=True)
                found = await expansion.adaptive(source, matched, target, k, policy)
            else:
                found = await expansion.entity_gated(source, self.scale, k, policy)
        except IndexUnavailableError as error:
            self.degraded.append("index")
            self.warnings.append(f"nothing could be looked for beside the pool: {error.detail}")
            return pool
        if name == "entity_gated" and policy.tau is not None and not source.compares:
            self.warnings.append("tau changed nothing: there are no similarities to hold it against")
        scored_alike = tail is not None or (pool.query_vector is not None and source.compares)
        return expansion.widened(pool, found, scored_alike or not len(pool)) if len(found) else pool

    async def _source(self, pool: Pool, tail: Pool | None, entity: str, name: Expansion) -> expansion.Source:
        """Where expansion looks: in the tail that the caller sent, else in the index."""
        if tail is not None:
            return expansion.FromTail(self._without_excluded(tail))
        index = self.resources.index[self.request.collection]
        has_vectors = self.lookup.space is not None or self.degraded  # degraded, nobody knows
        encoder = self._comparing_encoder() if has_vectors else None
        question = pool.query_vector if encoder else None
        poles = expansion.NO_POLES
        if encoder and (question is None or name == "adaptive"):
            poles = await self.resources.poles.of(self.lookup.settings.pole_queries, entity)
        without = {name for name in pool.ids if name is not None}
        return expansion.FromIndex(index, entity, self.scale, poles, question, without)

    def _comparing_encoder(self) -> Encoder | None:
        """The encoder, unless its vectors do not compare with the collection's."""
        encoder, space = self.resources.encoder, self.lookup.space
        if encoder is None or encoder.compares_with(space):
            return encoder
        if space is not None:
            self.warnings.append(f"nothing was compared with the stored vectors: {encoder.refusal(space)}")
        return None

    async def _columns(self, pool: Pool, variant: str) -> Columns | None:
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
        missing = names_without_text(pool)
        stored, outage = await resources.lookups.documents(collection, missing)
        self.degrade(outage)
        encoder = resources.encoder
        comparable = encoder is None or encoder.compares_with(self.lookup.space)
        return await columns_of(pool, needs, stored, index, encoder, comparable)

    async def _texts(self, pool: Pool, chosen: Sequence[int]) -> Mapping[str, StoredDocument]:
        """The chosen documents that the request did not bring itself."""
        names = [name for i in chosen if (name := pool.ids[i]) is not None and pool.brought[i] is None]
        stored, outage = await self.resources.lookups.documents(self.request.collection, names)
        self.degrade(outage)
        return stored


def _min_gain(adaptive_k: bool | float) -> float | None:
    if adaptive_k is True:
        return MIN_GAIN
    return None if adaptive_k is False else adaptive_k
