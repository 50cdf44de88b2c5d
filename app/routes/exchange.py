"""What the routes share: reaching the resources, and answering."""

from typing import Annotated

import msgspec
from fastapi import Query, Request, Response

from app.resources import Resources

CollectionName = Annotated[str, Query(description="The collection.", min_length=1)]

_encode = msgspec.json.Encoder().encode


def resources_of(request: Request) -> Resources:
    """The open resources of the process that serves the request."""
    resources: Resources = request.app.state.resources
    return resources


def reply(record: msgspec.Struct) -> Response:
    """A record as the JSON answer."""
    return Response(_encode(record), media_type="application/json")
