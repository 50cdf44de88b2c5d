"""Liveness, readiness and the Prometheus scrape; none of them needs a key."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from app.errors import StoreUnavailableError
from app.openapi import described
from app.resources import Resources
from app.routes.exchange import reply, resources_of
from app.schemas import Health
from app.vitals import tell

router = APIRouter(tags=["operations"])

_PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/livez", openapi_extra=described.route(Health))
async def livez() -> Response:
    """The process answers."""
    return reply(Health("ok", {}))


@router.get("/readyz", openapi_extra=described.route(Health, others={503: ("Not ready.", Health)}))
async def readyz(request: Request) -> Response:
    """The store answers, the index has caught up and the encoder is warm (both before the first request); and the
    process is not about to end.
    """
    resources = resources_of(request)
    ending = request.app.state.draining.begun
    store, index = await _store_answers(resources), resources.follower.caught_up
    checks = {
        "store": "ok" if store else "unreachable",
        "index": "ok" if index else "behind the store",
        "encoder": resources.encoder.name if resources.encoder else "none",
        "process": "about to end" if ending else "ok",
    }
    ready = store and index and not ending
    response = reply(Health("ok" if ready else "unavailable", checks))
    response.status_code = 200 if ready else 503
    return response


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """All metrics, in Prometheus' text format."""
    resources = resources_of(request)
    tell(resources.metrics, resources.index, resources.follower)
    return Response(resources.metrics.text(), media_type=_PROMETHEUS_TEXT)


async def _store_answers(resources: Resources) -> bool:
    try:
        await resources.store.collections()
    except StoreUnavailableError:
        return False
    return True
