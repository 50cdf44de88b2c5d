"""The way to the routes that do the work, past FastAPI.

It tries its routes one after another, and wraps what it calls in layers (telemetry, limits, errors, dependencies,
background tasks) that these routes do not need: those around its router alone are 27 of the 700 us that a re-ranking
takes. It knows and documents the routes all the same, and whatever is not exactly one of their paths goes its way.
"""

from collections.abc import Callable, Iterable

from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import ServiceError, problem_of
from warp_core import InvalidInputError


class Shortcut:
    """ASGI application: FastAPI's, with a shortcut to some of its routes.

    Parameters
    ----------
    api : with all routes there.
    around : an application -> the same with our layers around it; they are around either way.
    shortcuts : routes whose endpoints take the request, and nothing else.
    """

    def __init__(self, api: FastAPI, around: Callable[[ASGIApp], ASGIApp], shortcuts: Iterable[BaseRoute]) -> None:
        self.api = api
        self.state = api.state
        api.add_middleware(around)
        self._straight = around(_endpoint)
        self._shortcuts = {
            (method, route.path): route
            for route in shortcuts
            if isinstance(route, APIRoute)
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._shortcuts.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if route is None:
            await self.api(scope, receive, send)
            return
        scope["app"], scope["route"] = self.api, route
        await self._straight(scope, receive, send)


async def _endpoint(scope: Scope, receive: Receive, send: Send) -> None:
    """ASGI application: the endpoint of the route in the scope."""
    try:
        response = await scope["route"].endpoint(Request(scope, receive, send))
    except (ServiceError, InvalidInputError) as error:
        response = problem_of(scope, error)
    await response(scope, receive, send)
