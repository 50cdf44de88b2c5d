"""What the routes share: reading a body, reaching the resources, answering."""

from typing import Annotated

import msgspec
from fastapi import Query, Request, Response
from starlette.convertors import Convertor, register_url_convertor

from app.errors import BodyTooLargeError, UnsupportedMediaError
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

_encode = msgspec.json.Encoder().encode


def resources_of(request: Request) -> Resources:
    """The open resources of the process that serves the request."""
    resources: Resources = request.app.state.resources
    return resources


def reply(record: msgspec.Struct) -> Response:
    """A record as the JSON answer."""
    return Response(_encode(record), media_type="application/json")


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body.

    Raises
    ------
    UnsupportedMediaError : it is declared to be something else than JSON.
    BodyTooLargeError : it is over the limit; nothing past the limit is read.
    """
    check_media_type(request, "application/json")
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limit:
        raise BodyTooLargeError(f"the body holds {declared} bytes, the limit is {limit}")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise BodyTooLargeError(f"the body is over the limit of {limit} bytes")
    return bytes(body)


def media_type(request: Request) -> str:
    """The declared type of the body, without parameters; JSON when none is declared."""
    return request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()


def check_media_type(request: Request, *allowed: str) -> None:
    """Refuse another declared type than the allowed ones."""
    if media_type(request) not in allowed:
        raise UnsupportedMediaError(f"content-type must be {' or '.join(allowed)}, got {media_type(request)!r}")
