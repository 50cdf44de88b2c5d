"""What a request is about: its entity, what the store knows of that, and what a labeller makes of unknown texts."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from app.clock import Stopwatch
from app.entities import NamesInText, entity_in
from app.errors import pointing_at
from app.labelling import Label, open_labeller
from app.lookups import Found
from app.names import entity_key
from app.policy import policy_for
from app.pool import unlabelled
from app.resources import Resources
from app.schemas import Ask, CandidateInput, EntitySource, TargetInput
from app.store.base import Lookup
from app.targets import Population
from warp_core import Policy, TargetDistribution


async def _found(
    request: Ask, resources: Resources, population: Population, ids: Sequence[str], others: Sequence[str]
) -> tuple[Found, EntitySource]:
    """What is known of the documents and of the entity in question, and where the entity came from."""
    lookups, collection = resources.lookups, request.collection
    if request.entity is not None:
        with pointing_at("/entity"):
            entity = entity_key("entity", request.entity)
        return await lookups.lookup(collection, entity, ids, population.facets, others), "request"
    aliases = await lookups.aliases(collection)
    while True:
        named = entity_in(request.query or "", resources.index[collection], aliases)
        found = await lookups.lookup(collection, named, ids, population.facets, others)
        known, aliases = aliases, found.lookup.settings.aliases
        if known is aliases or known == aliases:  # else names have changed since they were last read
            return found, "query" if named else "none"


@dataclass(frozen=True)
class Asked:
    """What a request is about, and what the store knows of it.

    Parameters
    ----------
    entity : under the name that its opinions count under.
    population : whose opinions the target is about.
    policy : the service's, with what the collection has of its own.
    nearness : why the entity was, or was not, found by nearness; empty when that was not asked for.
    outage : why the lookup is only the last known one, if it is.
    """

    entity: str | None
    source: EntitySource
    lookup: Lookup
    population: Population
    policy: Policy
    nearness: str
    outage: str | None


async def asked_of(
    request: Ask,
    resources: Resources,
    watch: Stopwatch,
    population: Population,
    ids: Sequence[str],
    others: Sequence[str] = (),
) -> Asked:
    """Find the entity, and look up the labels of the candidates and the counts.

    Parameters
    ----------
    ids : candidates that do not tell their opinions themselves.
    others : those that do; see `Lookups.lookup`.
    """
    with watch.stage("labels"):
        found, source = await _found(request, resources, population, ids, others)
    settings = found.lookup.settings
    nearness = ""
    if found.entity is None:
        own, collection = settings.policy.nearest_entity, request.collection
        least = resources.settings.nearest_entity if own is None else own
        index = resources.index[collection]
        with watch.stage("encode"):
            nearest = await resources.names.nearest(request.query or "", collection, index, settings.aliases, least)
        nearness = nearest.reason
        if nearest.entity is not None:
            source = "nearest"
            with watch.stage("labels"):  # once more, since which labels and counts are wanted is known only now
                found = await resources.lookups.lookup(collection, nearest.entity, ids, population.facets, others)
    policy = policy_for(resources.policy, settings.policy)
    return Asked(found.entity, source, found.lookup, population, policy, nearness, found.outage)


async def labels_of_texts(
    candidates: Sequence[CandidateInput], silent: Sequence[int], asked: Asked
) -> dict[int, Label]:
    """What the collection's labeller, if it has one, makes of the candidates that nobody has labelled, by position."""
    with pointing_at("/collection"):
        label = open_labeller(asked.lookup.settings)
    positions = unlabelled(candidates, silent, asked.lookup) if label else []
    if label is None or not positions:
        return {}
    names: dict[str, str] = {}
    if asked.entity is not None:
        names = dict.fromkeys((asked.entity, *asked.lookup.settings.registry.get(asked.entity, ())), asked.entity)
    looked_for = NamesInText(names)
    texts = [candidates[i].text or "" for i in positions]
    found = await asyncio.to_thread(lambda: [label(text, looked_for) for text in texts])
    return {i: one for i, one in zip(positions, found, strict=True) if one is not None}


def notes_on_cold_start(asked: Asked, wish: TargetInput | None, target: TargetDistribution) -> list[str]:
    """What stood in for what is not known of the entity, for the decision's reason.

    Parameters
    ----------
    wish : what the request said of the target; who asks for the uniform one is not told that it is one.
    """
    notes = [asked.nearness] if asked.source == "nearest" else []
    if asked.entity is not None and target.rule in ("domain", "uniform") and (wish is None or wish.source != "uniform"):
        instead = "that of all entities" if target.rule == "domain" else "uniform, as none does at all"
        notes.append(f"no opinion on {asked.entity!r} counts, so the target is {instead}")
    return notes
