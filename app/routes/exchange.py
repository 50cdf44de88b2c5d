"""What the routes share: reading a body, reaching the resources, answering."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Annotated, Any

import msgspec
from fastapi import Query, Request, Response
from fastapi.routing import APIRoute
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import ClientDisconnect

from app.errors import BodyTooLargeError, ClientGoneError, UnsupportedMediaError
from app.resources import Resources


class _Name(Convertor[str]):
    """Any text to the end of its part of a path. Starlette's own stops at, or loses, a line break."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("name", _Name())

CollectionName = Annotated[str, Query(description="The collection.", min_length=1)]

_MOST_DIGITS = 20
"""Of a length; what is longer is over every limit already."""

_encode = msgspec.json.Encoder().encode


class DirectRoute(APIRoute):
    """A route whose endpoint takes the request and nothing else: FastAPI has nothing to work out at each call."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The endpoint itself."""
        endpoint: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return endpoint


def resources_of(request: Request) -> Resources:
    """The open resources of the process that serves the request."""
    resources: Resources = request.app.state.resources
    return resources


def reply(record: msgspec.Struct) -> Response:
    """A record as the JSON answer."""
    return Response(_encode(record), media_type="application/json")


async def read_body(request: Request, limit: int, hold: Callable[[int], None] = lambda size: None) -> bytes:
    """The whole body.

    Parameters
    ----------
    limit : most bytes.
    hold : is told of each part that came, in bytes, and may refuse.

    Raises
    ------
    UnsupportedMediaError : it is declared to be something else than JSON.
    BodyTooLargeError : it is over the limit; nothing past the limit is read.
    ClientGoneError : the client left in the middle.
    """
    check_media_type(request, "application/json")
    declared = request.headers.get("content-length", "0")
    if declared.isascii() and declared.isdigit() and int(declared[:_MOST_DIGITS]) > limit:
        raise BodyTooLargeError(f"the body holds {declared} bytes, the limit is {limit}")
    parts, size = [], 0
    async for part in received(request):
        size += len(part)
        hold(len(part))
        if size > limit:
            raise BodyTooLargeError(f"the body is over the limit of {limit} bytes")
        parts.append(part)
    return b"".join(parts)  # no copy of a body that came in one part, as most do


async def received(request: Request) -> AsyncIterator[bytes]:
    """The body as it comes.

    Raises
    ------
    ClientGoneError : the client left in the middle.
    """
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect:
        raise ClientGoneError("the client left before its request was whole") from None


def media_type(request: Request) -> str:
    """The declared type of the body, without parameters; JSON when none is declared."""
    return request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()


def check_media_type(request: Request, *allowed: str) -> None:
    """Refuse another declared type than the allowed ones."""
    if media_type(request) not in allowed:
        raise UnsupportedMediaError(f"content-type must be {' or '.join(allowed)}, got {media_type(request)!r}")
