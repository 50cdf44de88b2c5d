"""Errors as the clients of other re-rankers read them, in place of problem details."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Literal, TypeAlias

import msgspec

from app.logs import request_id

MEDIA_TYPE = "application/json"

Complaint: TypeAlias = Callable[[int, str], msgspec.Struct]
"""Status and detail -> the body."""


class CohereComplaint(msgspec.Struct):
    """Cohere v2; `id` is the request's."""

    id: str
    message: str


class V1Complaint(CohereComplaint):
    """What Cohere v1's clients read, and Jina's: `detail`."""

    detail: str


class TeiComplaint(msgspec.Struct):
    """Text Embeddings Inference."""

    error: str
    error_type: Literal["Validation", "Overloaded", "Backend"]


def cohere(_status: int, detail: str) -> CohereComplaint:
    """An error of /v2/rerank."""
    return CohereComplaint(request_id.get() or "", detail)


def v1(_status: int, detail: str) -> V1Complaint:
    """An error of /v1/rerank."""
    return V1Complaint(request_id.get() or "", detail, detail)


def tei(status: int, detail: str) -> TeiComplaint:
    """An error of /rerank, once its body is known to hold `texts`."""
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return TeiComplaint(detail, "Overloaded")
    return TeiComplaint(detail, "Backend" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "Validation")


BY_PATH: Mapping[str, Complaint] = {
    **dict.fromkeys(("/v1/rerank", "/v1/rerank/"), v1),
    **dict.fromkeys(("/v2/rerank", "/v2/rerank/"), cohere),
}
"""Of the routes whose path tells the dialect."""
