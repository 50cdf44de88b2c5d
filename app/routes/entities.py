"""Entities: the opinions held on them, and the targets that were given for them."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from msgspec import UNSET, UnsetType

from app.decoding import BodyDecoder
from app.errors import NotFoundError, pointing_at
from app.names import checked_name, entity_key
from app.openapi import described
from app.presentation import finite, position, target_output
from app.resources import Resources
from app.routes.exchange import CollectionName, read_body, reply, resources_of
from app.schemas import (
    DeleteResponse,
    EntityOutput,
    EntityPage,
    EntitySummary,
    ExternalTargetInput,
    RecentDrift,
    TargetInput,
)
from app.store.base import CollectionSettings, ExternalTarget
from app.targets import Population, population_of, target_for, weights_at
from warp_core import OpinionScale, TargetDistribution
from warp_core.target import MIN_OPINIONS
from warp_core.transport import w1_of_counts

router = APIRouter(tags=["entities"])

RECENT = "90d"
"""The window whose opinions are held against those of all time."""

_READ = (401, 404, 422, 503)
_WRITE = (400, 401, 413, 415, 422, 503)
_target_body = BodyDecoder(ExternalTargetInput)


@router.get("/entities", openapi_extra=described.route(EntityPage, problems=_READ))
async def entities(
    request: Request,
    collection: CollectionName = "default",
    after: Annotated[str, Query(description="The `next` of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Entities that opinions are held on, in name order."""
    page = resources_of(request).index[collection].entities(after, limit)
    following = page[-1][0] if len(page) == limit else None
    return reply(EntityPage([EntitySummary(name, n) for name, n in page], following))


@router.put(
    "/entities/{entity:name}/target",
    openapi_extra=described.route(ExternalTargetInput, ExternalTargetInput, problems=_WRITE),
)
async def put_target(request: Request, entity: str, collection: CollectionName = "default") -> Response:
    """Keep a target that comes from elsewhere (stars, a survey, a prior); it is used in place of the population's."""
    resources = resources_of(request)
    with pointing_at("/collection"):
        checked_name("collection", collection)
    body = _target_body.decode(await read_body(request, resources.settings.max_body_bytes))
    settings = await resources.store.settings(collection) or CollectionSettings()
    weights = weights_at(body.distribution, settings.scale, "/distribution")
    with pointing_at("/distribution"):
        TargetDistribution.of_weights(weights)
    key = _canonical(entity, settings)
    await resources.store.put_target(collection, key, ExternalTarget(settings.positions, tuple(weights)))
    return reply(body)


@router.delete("/entities/{entity:name}/target", openapi_extra=described.route(DeleteResponse, problems=_READ))
async def delete_target(request: Request, entity: str, collection: CollectionName = "default") -> Response:
    """Forget the target that was given for an entity; the population's is used again."""
    store = resources_of(request).store
    key = _canonical(entity, await store.settings(collection) or CollectionSettings())
    return reply(DeleteResponse(await store.put_target(collection, key, None)))


@router.get("/entities/{entity:name}", openapi_extra=described.route(EntityOutput, problems=_READ))
async def entity(request: Request, entity: str, collection: CollectionName = "default") -> Response:
    """The opinions on an entity, the target that a re-ranking aims at, and how far the last 90 days are from all."""
    resources = resources_of(request)
    settings = await resources.store.settings(collection) or CollectionSettings()
    key, scale = _canonical(entity, settings), settings.scale
    lookup = await resources.store.lookup(collection, key, [])
    (counts,) = lookup.entity_counts
    if not any(counts) and lookup.external is None:
        raise NotFoundError(f"collection {collection!r} holds no opinion on {key!r}")
    target = target_for(TargetInput(), lookup, Population())
    return reply(
        EntityOutput(
            key,
            sum(counts),
            _by_position(counts, scale),
            target_output(target, scale),
            list(settings.registry.get(key, ())),
            await _drift(resources, collection, key, counts, scale),
        )
    )


def _canonical(entity: str, settings: CollectionSettings) -> str:
    """The name that an entity's opinions count under."""
    with pointing_at("/entity"):
        key = entity_key("entity", entity)
    return settings.aliases.get(key, key)


async def _drift(
    resources: Resources, collection: str, entity: str, counts: Sequence[int], scale: OpinionScale
) -> RecentDrift | UnsetType:
    """Of the last days against all; unset while they hold too few opinions to tell."""
    recent = population_of(TargetInput(window=RECENT))
    lookup = await resources.store.lookup(collection, entity, [], recent.facets)
    lately = recent.counts(lookup.entity_counts)
    w1 = w1_of_counts(lately, TargetDistribution.of_counts(counts), scale) if sum(lately) >= MIN_OPINIONS else None
    return UNSET if w1 is None else RecentDrift(RECENT, sum(lately), finite(w1) or 0.0)


def _by_position(counts: Sequence[int], scale: OpinionScale) -> dict[str, int]:
    return {str(position(b, scale)): n for b, n in enumerate(counts)}
