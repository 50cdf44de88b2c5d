"""The service, put together: this call is the architecture on one page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from app.errors import install_error_handlers
from app.metrics import Metrics
from app.middleware import AroundRequests
from app.openapi import described
from app.resources import open_resources
from app.routes import catalog, entities, explorer, health, ingest, rerank
from app.security import KeyGate
from app.settings import Settings


def create_app(settings: Settings | None = None) -> FastAPI:
    """The ASGI application; settings come from the environment when none are given."""
    settings = settings or Settings()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_resources(settings, metrics) as resources:
            app.state.resources = resources
            yield

    app = FastAPIOffline(  # its /docs loads nothing from outside
        title="WARP",
        summary="Re-ranks retrieved documents so that they hold the population's opinions in their true proportions.",
        version="0.1.0",
        lifespan=lifespan,
        redoc_url=None,
        redirect_slashes=False,
    )
    for module in (rerank, ingest, catalog, entities, health, explorer):
        app.include_router(module.router)
    app.add_middleware(KeyGate, keys=settings.api_keys)
    app.add_middleware(AroundRequests, metrics=metrics)
    install_error_handlers(app)
    described.install(app)
    return app
