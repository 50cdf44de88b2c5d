"""POST /rerank and POST /search: parse, call the use case, answer."""

from fastapi import APIRouter, Request, Response

from app import reranking
from app.decoding import BodyDecoder
from app.openapi import described
from app.routes.exchange import DirectRoute, read_body, reply, resources_of
from app.schemas import RerankRequest, RerankResponse, SearchRequest

router = APIRouter(tags=["re-ranking"], route_class=DirectRoute)

_rerank_body = BodyDecoder(RerankRequest)
_search_body = BodyDecoder(SearchRequest)
_PROBLEMS = (400, 401, 413, 415, 422, 503)


@router.post("/rerank", openapi_extra=described.route(RerankResponse, RerankRequest, problems=_PROBLEMS))
async def rerank(request: Request) -> Response:
    """Choose the k candidates whose opinions are distributed as the population's."""
    resources = resources_of(request)
    body = await read_body(request, resources.settings.max_body_bytes)
    return reply(await reranking.rerank(_rerank_body.decode(body), resources))


@router.post("/search", openapi_extra=described.route(RerankResponse, SearchRequest, problems=_PROBLEMS))
async def search(request: Request) -> Response:
    """Retrieve a pool from the documents kept here, then do what /rerank does."""
    resources = resources_of(request)
    body = await read_body(request, resources.settings.max_body_bytes)
    return reply(await reranking.search(_search_body.decode(body), resources))
