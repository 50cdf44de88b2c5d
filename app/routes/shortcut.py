"""The way to the routes that do the work, past the router.

FastAPI tries its routes one after another, and wraps what it calls in three layers for dependencies, background tasks
and telemetry, none of which these routes have. That is a tenth of what a re-ranking costs. It knows and documents the
routes all the same, and whatever is not exactly one of their paths goes its way.
"""

from collections.abc import Iterable

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import ServiceError, problem_of
from warp_core import InvalidInputError


class Shortcut:
    """ASGI middleware, the innermost; the endpoints of `routes` take the request, and nothing else."""

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        self._routes = {
            (method, route.path): route
            for route in routes
            if isinstance(route, APIRoute)
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._routes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if route is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = route
        try:
            response = await route.endpoint(Request(scope, receive, send))
        except (ServiceError, InvalidInputError) as error:
            response = problem_of(scope, error)
        await response(scope, receive, send)
