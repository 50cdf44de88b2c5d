"""The dialect of Text Embeddings Inference."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from app.drop_in.addressing import Addressed
from app.drop_in.ordering import ordered
from app.resources import Resources
from app.schemas import Answer, CandidateInput


class TeiRequest(Addressed, kw_only=True):
    """POST /rerank with `texts`. Scores lie in 0..1 with `raw_scores` too."""

    query: str
    texts: list[str]
    return_text: bool | None = None
    raw_scores: bool | None = None
    truncate: Any = None
    truncation_direction: Any = None


class TeiRank(Answer):
    """A text by its position in the request."""

    index: int
    score: float
    text: str | UnsetType = UNSET


class _Told(msgspec.Struct):
    texts: msgspec.Raw | UnsetType = UNSET
    candidates: msgspec.Raw | UnsetType = UNSET


_told = msgspec.json.Decoder(_Told)


def is_meant(body: bytes) -> bool:
    """Whether a body that /rerank cannot read is one of this dialect."""
    try:
        told = _told.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return told.texts is not UNSET and told.candidates is UNSET


async def rerank(asked: TeiRequest, headers: Mapping[str, str], resources: Resources) -> list[TeiRank]:
    """One entry a text, best first.

    Raises
    ------
    InvalidRequestError : a field breaks a rule.
    """
    candidates = [CandidateInput(text=text) for text in asked.texts]
    found = await ordered(asked.query, candidates, "/texts", asked, headers, None, resources)
    return [
        TeiRank(i, score, asked.texts[i] if asked.return_text else UNSET)
        for i, score in zip(found.order, found.scores, strict=True)
    ]
