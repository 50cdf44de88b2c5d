"""POST /rerank and POST /search: parse, call the use case, answer."""

from fastapi import APIRouter, Request, Response

from app import reranking
from app.decoding import BodyDecoder
from app.openapi import described
from app.routes.exchange import reply, resources_of
from app.routes.work import Work, decoded
from app.schemas import RerankRequest, RerankResponse, SearchRequest

router = APIRouter(tags=["re-ranking"])

_rerank_body = BodyDecoder(RerankRequest)
_search_body = BodyDecoder(SearchRequest)
_PROBLEMS = (400, 401, 413, 415, 422, 429, 503, 504)


@router.post("/rerank", openapi_extra=described.route(RerankResponse, RerankRequest, problems=_PROBLEMS))
async def rerank(request: Request) -> Response:
    """Choose the k candidates whose opinions are distributed as the population's."""
    resources = resources_of(request)
    async with Work(request, resources) as body:
        return reply(await reranking.rerank(await decoded(body, _rerank_body, resources), resources))


@router.post("/search", openapi_extra=described.route(RerankResponse, SearchRequest, problems=_PROBLEMS))
async def search(request: Request) -> Response:
    """Retrieve a pool from the documents kept here, then do what /rerank does."""
    resources = resources_of(request)
    async with Work(request, resources) as body:
        return reply(await reranking.search(await decoded(body, _search_body, resources), resources))
