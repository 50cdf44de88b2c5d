"""POST /ingest: documents in, as one JSON body or one a line."""

from collections.abc import AsyncIterator

from fastapi import APIRouter, Request, Response

from app.decoding import BodyDecoder
from app.errors import BodyTooLargeError
from app.ingestion import Ingestion
from app.openapi import described
from app.resources import Resources
from app.routes.exchange import (
    CollectionName,
    check_media_type,
    check_values,
    media_type,
    read_body,
    received,
    reply,
    resources_of,
)
from app.schemas import DocumentInput, IngestRequest, IngestResponse

router = APIRouter(tags=["documents"])

NDJSON = "application/x-ndjson"

_body = BodyDecoder(IngestRequest)


@router.post(
    "/ingest",
    openapi_extra=described.route(
        IngestResponse, IngestRequest, lines=DocumentInput, problems=(400, 401, 413, 415, 422, 429, 503)
    ),
)
async def ingest(request: Request, collection: CollectionName = "default") -> Response:
    """Store documents: good ones durably, bad ones named. An NDJSON body may have any length."""
    resources = resources_of(request)
    async with resources.ingests:
        report = await _ingested(request, collection, resources)
    resources.lookups.forget()
    await resources.follower.catch_up()
    for outcome in ("created", "updated", "unchanged", "stale"):
        resources.metrics.documents.labels(outcome).inc(getattr(report, outcome))
    resources.metrics.documents.labels("failed").inc(len(report.failed) + report.failed_more)
    return reply(report)


async def _ingested(request: Request, collection: str, resources: Resources) -> IngestResponse:
    limit = resources.settings.max_body_bytes
    if media_type(request) == NDJSON:
        ingestion = Ingestion(resources.store, resources.encoder, collection)
        async for line in _lines(request, limit):
            await ingestion.add(line)
    else:
        check_media_type(request, "application/json", NDJSON)
        body = _body.decode(await read_body(request, limit))
        ingestion = Ingestion(resources.store, resources.encoder, body.collection or collection)
        for document in body.documents:
            await ingestion.add(document)
    return await ingestion.finish()


async def _lines(request: Request, limit: int) -> AsyncIterator[bytes]:
    """The non-blank lines of a body, none of which may be longer than the limit."""
    rest = bytearray()
    async for chunk in received(request):
        *ends, tail = chunk.split(b"\n")
        for end in ends:
            rest += end
            if rest.strip():
                yield _checked(rest, limit)
            rest = bytearray()
        rest += tail
        if len(rest) > limit:
            raise BodyTooLargeError(f"a line is over the limit of {limit} bytes")
    if rest.strip():
        yield _checked(rest, limit)


def _checked(line: bytearray, limit: int) -> bytes:
    if len(line) > limit:
        raise BodyTooLargeError(f"a line is over the limit of {limit} bytes")
    check_values(line, limit)
    return bytes(line)
