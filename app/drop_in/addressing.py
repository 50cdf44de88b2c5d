"""Which collection, entity and variant a request of another dialect is about."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import msgspec

from app.errors import InvalidRequestError
from app.names import is_name
from app.schemas import AUTO, DEFAULT_COLLECTION
from warp_core import SELECTORS

HEADERS = {"collection": "x-warp-collection", "entity": "x-warp-entity", "variant": "x-warp-variant"}


class Addressed(msgspec.Struct, kw_only=True, gc=False):
    """What a body of any dialect may hold beside its own fields. Unknown fields are let through."""

    model: str | None = None
    collection: str | None = None
    entity: str | None = None
    variant: str | None = None


class Address(NamedTuple):
    """What a re-ranking is about; without an entity, the query tells it."""

    collection: str = DEFAULT_COLLECTION
    entity: str | None = None
    variant: str = AUTO


async def address_of(
    body: Addressed, headers: Mapping[str, str], is_collection: Callable[[str], Awaitable[bool]]
) -> Address:
    """The address in a request: each part from the body, else from its header, else from the model's name.

    Raises
    ------
    InvalidRequestError : a header is no UTF-8, or the model's name asks for an unknown variant.
    """
    named = await _in_model(body.model, is_collection) if body.model else Address()
    return Address(
        body.collection or _in_header(headers, "collection") or named.collection,
        body.entity or _in_header(headers, "entity") or named.entity,
        body.variant or _in_header(headers, "variant") or named.variant,
    )


async def _in_model(model: str, is_collection: Callable[[str], Awaitable[bool]]) -> Address:
    """`collection[:entity][@variant]`; nothing, when there is no such collection: it is some other model's name."""
    rest, at, variant = model.rpartition("@")
    collection, _, entity = (rest if at else model).partition(":")
    if not is_name(collection) or not await is_collection(collection):
        return Address()
    if at and variant != AUTO and variant not in SELECTORS:
        raise InvalidRequestError.at("/model", f"ends in an unknown variant: {variant[:40]!r}")
    return Address(collection, entity or None, variant if at else AUTO)


def _in_header(headers: Mapping[str, str], part: str) -> str | None:
    name = HEADERS[part]
    try:
        return headers.get(name, "").encode("latin-1").decode() or None  # as HTTP has them, and as people write them
    except UnicodeDecodeError:
        raise InvalidRequestError.at("", f"the header {name} must be UTF-8") from None
