"""The service, put together: this call is the architecture on one page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi_offline import FastAPIOffline
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from app.draining import Draining
from app.errors import install_error_handlers
from app.interpreter import quick_to_answer
from app.keys import keys_of
from app.metrics import Metrics
from app.middleware import AroundRequests, Refusal
from app.openapi import described
from app.policy import policy_of
from app.resources import open_resources
from app.routes import catalog, drop_in, entities, explorer, health, ingest, rerank
from app.routes.shortcut import Shortcut
from app.security import Gate
from app.server import GUARD, Guard
from app.settings import Settings


def create_app(settings: Settings | None = None) -> Shortcut:
    """The ASGI application; settings come from the environment when none are given."""
    settings = settings or Settings()
    metrics = Metrics(policy_of(settings), settings.metrics_dir)
    draining = Draining(settings.drain_ms / 1000)

    rerankers = (*rerank.router.routes, *drop_in.router.routes)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Guard]]:
        async with open_resources(settings, metrics) as resources:
            app.state.resources = resources
            app.state.draining = draining
            with quick_to_answer(), draining.before_term():
                refusals = {  # of what is refused, while there is no room, before anything else is done about it
                    route.path.encode(): AroundRequests(
                        Refusal(route.path, metrics), metrics, draining, settings.access_log
                    )
                    for route in rerankers
                    if isinstance(route, APIRoute)
                }
                yield {GUARD: Guard(settings.receive_timeout_ms / 1000, resources.admission, refusals)}

    def around(inner: ASGIApp) -> ASGIApp:
        """Our layers, from the innermost out."""
        layers: ASGIApp = Gate(inner, keys_of(settings.api_keys), settings.cors_origins)
        if settings.cors_origins:  # outside the keys: a browser asks without one first
            layers = CORSMiddleware(
                layers,
                allow_origins=settings.cors_origins,
                allow_methods=("GET", "POST", "PUT", "DELETE"),
                allow_headers=("*",),
                expose_headers=("x-request-id", "retry-after"),
            )
        return AroundRequests(layers, metrics, draining, settings.access_log)

    api = FastAPIOffline(  # its /docs loads nothing from outside
        title="WARP",
        summary="Re-ranks retrieved documents so that they hold the population's opinions in their true proportions.",
        version="0.1.0",
        lifespan=lifespan,
        redoc_url=None,
        redirect_slashes=False,
    )
    for module in (rerank, drop_in, ingest, catalog, entities, health, explorer):
        api.include_router(module.router)
    install_error_handlers(api)
    described.install(api, settings)
    return Shortcut(api, around, rerankers)
