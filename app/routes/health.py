"""Liveness, readiness and the Prometheus scrape; none of them needs a key."""

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from app.errors import StoreUnavailableError
from app.openapi import described
from app.resources import Resources
from app.routes.exchange import reply, resources_of
from app.schemas import Health

router = APIRouter(tags=["operations"])


@router.get("/livez", openapi_extra=described.route(Health))
async def livez() -> Response:
    """The process answers."""
    return reply(Health("ok", {}))


@router.get("/readyz", openapi_extra=described.route(Health))
async def readyz(request: Request) -> Response:
    """The store answers, the index has caught up and the encoder is warm (both before the first request)."""
    resources = resources_of(request)
    store, index = await _store_answers(resources), resources.follower.caught_up
    checks = {
        "store": "ok" if store else "unreachable",
        "index": "ok" if index else "behind the store",
        "encoder": resources.encoder.name if resources.encoder else "none",
    }
    ready = store and index
    response = reply(Health("ok" if ready else "unavailable", checks))
    response.status_code = 200 if ready else 503
    return response


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """All metrics, in Prometheus' text format."""
    resources = resources_of(request)
    resources.metrics.index_documents.set(len(resources.index))
    resources.metrics.index_lag_events.set(resources.follower.lag.events)
    resources.metrics.index_lag_seconds.set(resources.follower.lag.seconds)
    resources.metrics.store_up.set(await _store_answers(resources))
    return Response(generate_latest(resources.metrics.registry), media_type=CONTENT_TYPE_LATEST)


async def _store_answers(resources: Resources) -> bool:
    try:
        await resources.store.collections()
    except StoreUnavailableError:
        return False
    return True
