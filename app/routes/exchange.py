"""What the routes share: reading a body, reaching the resources, answering."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated

import msgspec
from fastapi import Query, Request, Response
from starlette.convertors import Convertor, register_url_convertor

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
_SMALL = 64 * 1024
"""Bytes up to which a body may hold whatever it likes."""
BYTES_A_PART = 64
BYTES_A_VALUE = 8
"""A large body that holds more objects and lists, or more values, than the limit has room for at so many bytes each,
is refused before it is decoded: 16 MiB of `{}` would take 550 MiB.
"""

_encode = msgspec.json.Encoder().encode


def resources_of(request: Request) -> Resources:
    """The open resources of the process that serves the request."""
    resources: Resources = request.app.state.resources
    return resources


def reply(record: msgspec.Struct | Sequence[msgspec.Struct]) -> Response:
    """A record, or several, as the JSON answer."""
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
    BodyTooLargeError : it is over the limit, of which nothing past that is read; or it holds too many values.
    ClientGoneError : the client left in the middle.
    """
    check_media_type(request, "application/json")
    declared = request.headers.get("content-length", "0")[:_MOST_DIGITS]
    if declared.isascii() and declared.isdigit() and int(declared) > limit:
        raise BodyTooLargeError(f"the body holds {declared} bytes, the limit is {limit}")
    parts, size = [], 0
    async for part in received(request):
        size += len(part)
        hold(len(part))
        if size > limit:
            raise BodyTooLargeError(f"the body is over the limit of {limit} bytes")
        parts.append(part)
    body = b"".join(parts)  # no copy of a body that came in one part, as most do
    check_values(body, limit)
    return body


def check_values(body: bytes | bytearray, limit: int) -> None:
    """Refuse a body, or a line of one, that would take many times its own size once it is decoded.

    Raises
    ------
    BodyTooLargeError : it holds more than `limit / 64` objects and lists, or more than `limit / 8` values.
    """
    if len(body) <= _SMALL:
        return
    parts, values = body.count(b"{") + body.count(b"["), body.count(b",")
    if parts > limit // BYTES_A_PART or values > limit // BYTES_A_VALUE:
        raise BodyTooLargeError(
            f"the body holds {parts} objects and lists and {values} values; at most {limit // BYTES_A_PART} and "
            f"{limit // BYTES_A_VALUE} are allowed (documents one a line may be any number)"
        )


async def received(request: Request) -> AsyncIterator[bytes]:
    """The body as it comes.

    Raises
    ------
    ClientGoneError : the client left in the middle.
    """
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError("the client left before its request was whole")
        more = message.get("more_body", False)
        if part := message.get("body"):
            yield part


def media_type(request: Request) -> str:
    """The declared type of the body, without parameters; JSON when none is declared."""
    return request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()


def check_media_type(request: Request, *allowed: str) -> None:
    """Refuse another declared type than the allowed ones."""
    if media_type(request) not in allowed:
        raise UnsupportedMediaError(f"content-type must be {' or '.join(allowed)}, got {media_type(request)!r}")
