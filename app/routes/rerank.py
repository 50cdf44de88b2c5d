"""POST /rerank and POST /search: parse, call the use case, answer."""

from fastapi import APIRouter, Request, Response

from app import reranking
from app.decoding import BodyDecoder
from app.drop_in import complaints, tei
from app.errors import DIALECT, InvalidRequestError
from app.openapi import NATIVE_ERRORS, described
from app.resources import Resources
from app.routes.exchange import reply, resources_of
from app.routes.work import PROBLEMS, Work, decoded
from app.schemas import RerankRequest, RerankResponse, SearchRequest

router = APIRouter(tags=["re-ranking"])

_rerank_body = BodyDecoder(RerankRequest)
_tei_body = BodyDecoder(tei.TeiRequest)
_search_body = BodyDecoder(SearchRequest)


@router.post("/rerank/", include_in_schema=False)
@router.post(
    "/rerank",
    openapi_extra=described.route(
        RerankResponse | list[tei.TeiRank],
        RerankRequest,
        tei.TeiRequest,
        problems=PROBLEMS,
        errors={**NATIVE_ERRORS, complaints.MEDIA_TYPE: complaints.TeiComplaint},
    ),
)
async def rerank(request: Request) -> Response:
    """Choose the k candidates whose opinions are distributed as the population's.

    With `texts` in place of `candidates` it answers as Text Embeddings Inference does.
    """
    resources = resources_of(request)
    async with Work(request, resources) as body:
        try:
            asked = await decoded(body, _rerank_body, resources)
        except InvalidRequestError:
            if not tei.is_meant(body):
                raise
            return await _as_tei(request, body, resources)
        return reply(await reranking.rerank(asked, resources))


async def _as_tei(request: Request, body: bytes, resources: Resources) -> Response:
    request.scope[DIALECT] = complaints.tei
    asked = await decoded(body, _tei_body, resources)
    return reply(await tei.rerank(asked, request.headers, resources))


@router.post("/search", openapi_extra=described.route(RerankResponse, SearchRequest, problems=PROBLEMS))
async def search(request: Request) -> Response:
    """Retrieve a pool from the documents kept here, then do what /rerank does."""
    resources = resources_of(request)
    async with Work(request, resources) as body:
        return reply(await reranking.search(await decoded(body, _search_body, resources), resources))
