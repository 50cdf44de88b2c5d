"""POST /v1/rerank and /v2/rerank; the third dialect shares /rerank (see there)."""

from fastapi import APIRouter, Request, Response

from app.decoding import BodyDecoder
from app.drop_in import cohere, complaints
from app.openapi import described
from app.routes.exchange import reply, resources_of
from app.routes.work import PROBLEMS, Work, decoded

router = APIRouter(tags=["drop-in"])

_v1_body = BodyDecoder(cohere.V1Request)
_v2_body = BodyDecoder(cohere.CohereRequest)


@router.post("/v1/rerank/", include_in_schema=False)
@router.post(
    "/v1/rerank",
    openapi_extra=described.route(
        cohere.V1Response, cohere.V1Request, problems=PROBLEMS, errors={complaints.MEDIA_TYPE: complaints.V1Complaint}
    ),
)
async def v1(request: Request) -> Response:
    """Put documents in order, for clients of Cohere v1 and Jina."""
    resources = resources_of(request)
    async with Work(request, resources) as body:
        asked = await decoded(body, _v1_body, resources)
        return reply(await cohere.v1(asked, body, request.headers, resources))


@router.post("/v2/rerank/", include_in_schema=False)
@router.post(
    "/v2/rerank",
    openapi_extra=described.route(
        cohere.CohereResponse,
        cohere.CohereRequest,
        problems=PROBLEMS,
        errors={complaints.MEDIA_TYPE: complaints.CohereComplaint},
    ),
)
async def v2(request: Request) -> Response:
    """Put documents in order, for clients of Cohere v2."""
    resources = resources_of(request)
    async with Work(request, resources) as body:
        asked = await decoded(body, _v2_body, resources)
        return reply(await cohere.v2(asked, body, request.headers, resources))
