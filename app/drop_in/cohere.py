"""Cohere's dialect, v1 and v2; v1 is Jina's too."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from app.columns import tokens_in
from app.decoding import BodyDecoder
from app.drop_in.addressing import Addressed
from app.drop_in.ordering import Ordered, ordered
from app.errors import InvalidRequestError
from app.logs import request_id
from app.names import is_name
from app.resources import Resources
from app.schemas import Answer, CandidateInput, Count

MOST_NAMED = 20
"""Unknown fields that a warning names."""
_SHOWN = 40
"""Characters of such a name."""

_fields = BodyDecoder(dict[str, msgspec.Raw])


class CohereRequest(Addressed, kw_only=True):
    """POST /v2/rerank. A document is its text, or an object with `text`; with an `id` that is stored here, it has the
    opinions that are stored with it.
    """

    query: str
    documents: list[str | dict[str, Any]]
    top_n: Count | None = None
    top_k: Count | None = None
    max_tokens_per_doc: Any = None
    priority: Any = None


class V1Request(CohereRequest, kw_only=True):
    """POST /v1/rerank. `rank_fields` are the fields that make up the text of a document."""

    return_documents: bool | None = None
    rank_fields: list[str] | None = None
    max_chunks_per_doc: Any = None


class Text(Answer):
    """A document as it was sent."""

    text: str


class Ranked(Answer):
    """A document by its position in the request."""

    index: int
    relevance_score: float
    document: Text | UnsetType = UNSET


class ApiVersion(Answer):
    """Of the surface that answers."""

    version: str


class BilledUnits(Answer):
    """What Cohere would ask money for: one search a request."""

    search_units: int = 1


class Meta(Answer):
    """What is said beside the results."""

    api_version: ApiVersion
    billed_units: BilledUnits
    warnings: list[str]


class CohereResponse(Answer):
    """The answer of /v2/rerank; `id` is the request's."""

    id: str
    results: list[Ranked]
    meta: Meta


class Usage(Answer):
    """Tokens of the query and the documents, at four characters each."""

    total_tokens: int


class V1Response(CohereResponse):
    """The answer of /v1/rerank."""

    model: str
    usage: Usage


async def v2(asked: CohereRequest, body: bytes, headers: Mapping[str, str], resources: Resources) -> CohereResponse:
    """Answer a request of /v2/rerank; `body` is the one that it was decoded from.

    Raises
    ------
    InvalidRequestError : a field breaks a rule.
    """
    unknown = _unknown_fields(asked, body)
    found = await _ordered(asked, _texts(asked.documents, ("text",)), headers, resources)
    return CohereResponse(request_id.get() or "", _results(found, None), _meta("2", found, unknown))


async def v1(asked: V1Request, body: bytes, headers: Mapping[str, str], resources: Resources) -> V1Response:
    """Answer a request of /v1/rerank, as `v2`."""
    unknown = _unknown_fields(asked, body)
    texts = _texts(asked.documents, asked.rank_fields or ("text",))
    found = await _ordered(asked, texts, headers, resources)
    return V1Response(
        request_id.get() or "",
        _results(found, texts if asked.return_documents else None),
        _meta("1", found, unknown),
        asked.model or found.collection,
        Usage(sum(map(tokens_in, (asked.query, *texts)))),
    )


def _unknown_fields(asked: CohereRequest, body: bytes) -> list[str]:
    return sorted(set(_fields.decode(body)).difference(asked.__struct_fields__))


def _texts(documents: Sequence[str | dict[str, Any]], fields: Sequence[str]) -> list[str]:
    """What is read of each document."""
    texts = []
    for i, document in enumerate(documents):
        if isinstance(document, str):
            texts.append(document)
            continue
        values = [document[field] for field in fields if document.get(field) is not None]
        if not values:
            raise InvalidRequestError.at(f"/documents/{i}", f"has none of the fields {', '.join(fields)}")
        texts.append("\n".join(map(str, values)))
    return texts


async def _ordered(
    asked: CohereRequest, texts: Sequence[str], headers: Mapping[str, str], resources: Resources
) -> Ordered:
    candidates = [
        CandidateInput(text=text, id=None if isinstance(document, str) else _id(document))
        for document, text in zip(asked.documents, texts, strict=True)
    ]
    limit = asked.top_k if asked.top_n is None else asked.top_n
    return await ordered(asked.query, candidates, "/documents", asked, headers, limit, resources)


def _id(document: Mapping[str, Any]) -> str | None:
    """A document's id, if it is one that could be stored here; another kind of id is nobody's mistake."""
    given = document.get("id")
    return given if isinstance(given, str) and is_name(given) else None


def _results(found: Ordered, texts: Sequence[str] | None) -> list[Ranked]:
    return [
        Ranked(i, score, UNSET if texts is None else Text(texts[i]))
        for i, score in zip(found.order, found.scores, strict=True)
    ]


def _meta(version: str, found: Ordered, unknown: Sequence[str]) -> Meta:
    warnings = list(found.warnings)
    if unknown:
        named = ", ".join(name[:_SHOWN] for name in unknown[:MOST_NAMED])
        warnings.append(f"unknown fields changed nothing: {named}")
    return Meta(ApiVersion(version), BilledUnits(), warnings)
