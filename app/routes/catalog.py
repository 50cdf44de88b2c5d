"""Documents and collections: what is stored, and what a collection fixes."""

import msgspec
from fastapi import APIRouter, Request, Response

from app.decoding import BodyDecoder
from app.errors import InvalidRequestError, NotFoundError, pointing_at
from app.names import checked_name
from app.openapi import described
from app.presentation import position
from app.registry import checked_registry
from app.routes.exchange import CollectionName, read_body, reply, resources_of
from app.schemas import (
    CollectionList,
    DeleteResponse,
    DocumentOutput,
)
from app.store.base import Change, CollectionSettings

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
    """Create or change a collection; its scale stays while it holds documents.

    Stored opinions move to the entities that the registry names for them.
    """
    resources = resources_of(request)
    with pointing_at("/collection"):
        checked_name("collection", collection)
    settings = _settings_body.decode(await read_body(request, resources.settings.max_body_bytes))
    _ = settings.scale  # checked here, once
    settings = msgspec.structs.replace(settings, registry=checked_registry(settings.registry))
    if not await resources.store.put_settings(collection, settings):
        raise InvalidRequestError.at("/positions", "cannot change while the collection holds documents")
    await resources.follower.catch_up()
    return reply(settings)
