"""Documents, entities and collections: what is stored, and what a collection fixes."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.convertors import Convertor, register_url_convertor

from app.decoding import BodyDecoder
from app.errors import InvalidRequestError, NotFoundError, pointing_at
from app.names import checked_name, entity_key
from app.openapi import described
from app.presentation import position, target_output
from app.routes.exchange import CollectionName, read_body, reply, resources_of
from app.schemas import (
    CollectionList,
    DeleteResponse,
    DocumentOutput,
    EntityOutput,
    EntityPage,
    EntitySummary,
)
from app.store.base import Change, CollectionSettings
from warp_core import OpinionScale, target_distribution


class NameConvertor(Convertor[str]):
    """A path's rest as a name, whatever it holds: Starlette's own `path` stops at a line's end."""

    regex = "(?s:.+)"

    def convert(self, value: str) -> str:
        """As it is: the path is decoded already."""
        return value

    def to_string(self, value: str) -> str:
        """The same back."""
        return value


register_url_convertor("name", NameConvertor())
router = APIRouter(tags=["documents"])

_READ = (401, 404, 422, 503)
_settings_body = BodyDecoder(CollectionSettings)


@router.get("/documents/{document_id:name}", openapi_extra=described.route(DocumentOutput, problems=_READ))
async def document(request: Request, document_id: str, collection: CollectionName = "default") -> Response:
    """One stored document."""
    store = resources_of(request).store
    found = await store.document(collection, document_id)
    if found is None:
        raise NotFoundError(f"collection {collection!r} holds no document {document_id!r}")
    content = found.content
    scale = (await store.settings(collection) or CollectionSettings()).scale
    return reply(
        DocumentOutput(
            found.id,
            found.version,
            content.text,
            [
                {"entity": opinion.entity, "si": position(opinion.bin, scale), **opinion.details()}
                for opinion in content.opinions
            ],
            None if content.bin is None else position(content.bin, scale),
            content.attributes,
            content.metadata,
            content.timestamp,
            content.excluded,
        )
    )


@router.delete("/documents/{document_id:name}", openapi_extra=described.route(DeleteResponse, problems=_READ))
async def delete_document(request: Request, document_id: str, collection: CollectionName = "default") -> Response:
    """Delete a document and subtract its opinions; deleting again changes nothing and says so."""
    resources = resources_of(request)
    with pointing_at("/id"):
        checked_name("id", document_id)
    (outcome,) = await resources.store.apply(collection, [Change(document_id)])
    await resources.follower.catch_up()
    if outcome == "deleted":
        resources.metrics.documents.labels(outcome).inc()
    return reply(DeleteResponse(outcome == "deleted"))


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


@router.get("/entities/{entity:name}", openapi_extra=described.route(EntityOutput, problems=_READ))
async def entity(request: Request, entity: str, collection: CollectionName = "default") -> Response:
    """The opinions held on an entity, and the target that they make."""
    with pointing_at("/entity"):
        key = entity_key("entity", entity)
    lookup = await resources_of(request).store.lookup(collection, key, [])
    n = sum(lookup.entity_counts)
    if n == 0:
        raise NotFoundError(f"collection {collection!r} holds no opinion on {key!r}")
    scale = lookup.settings.scale
    target = target_distribution(lookup.entity_counts, lookup.domain_counts)
    return reply(EntityOutput(key, n, _counts(lookup.entity_counts, scale), target_output(target, scale)))


@router.get("/collections", openapi_extra=described.route(CollectionList, problems=_READ))
async def collections(request: Request) -> Response:
    """All collections."""
    return reply(CollectionList(await resources_of(request).store.collections()))


@router.get("/collections/{collection:name}", openapi_extra=described.route(CollectionSettings, problems=_READ))
async def collection_settings(request: Request, collection: str) -> Response:
    """What a collection fixes for all its documents."""
    found = await resources_of(request).store.settings(collection)
    if found is None:
        raise NotFoundError(f"there is no collection {collection!r}")
    return reply(found)


@router.put(
    "/collections/{collection:name}",
    openapi_extra=described.route(CollectionSettings, CollectionSettings, problems=(400, 401, 413, 415, 422, 503)),
)
async def put_collection_settings(request: Request, collection: str) -> Response:
    """Create or change a collection; its scale stays while it holds documents."""
    resources = resources_of(request)
    with pointing_at("/collection"):
        checked_name("collection", collection)
    settings = _settings_body.decode(await read_body(request, resources.settings.max_body_bytes))
    _ = settings.scale  # checked here, once
    if not await resources.store.put_settings(collection, settings):
        raise InvalidRequestError.at("/positions", "cannot change while the collection holds documents")
    return reply(settings)


def _counts(counts: Sequence[int], scale: OpinionScale) -> dict[str, int]:
    return {str(position(b, scale)): n for b, n in enumerate(counts)}
