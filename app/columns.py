"""What some selectors need of every candidate beyond relevance and bin: embeddings, texts, token costs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.encoder import Encoder
from app.errors import InvalidRequestError
from app.index import CollectionIndex
from app.pool import Columns, Pool
from app.schemas import CandidateInput
from app.store.base import StoredDocument

CHARACTERS_A_TOKEN = 4
"""A candidate that does not tell its tokens is taken to have one for every four characters, rounded up."""


async def columns_of(
    pool: Pool,
    candidates: Sequence[CandidateInput],
    needs: Collection[str],
    stored: Mapping[str, StoredDocument],
    index: CollectionIndex,
    encoder: Encoder | None,
) -> Columns:
    """The needed columns (of `embeddings`, `tokens`, `texts`), from the request, else the index or store.

    Parameters
    ----------
    stored : the documents of `names_without_text`.

    Raises
    ------
    InvalidRequestError : a candidate's embedding is not to be had, or they differ in length.
    """
    brought = _brought(pool, candidates)
    known = [_text(name, one, stored) for name, one in zip(pool.ids, brought, strict=True)]
    texts = [text or "" for text in known]
    return Columns(
        await _embeddings(pool, brought, known, index, encoder) if "embeddings" in needs else None,
        [_tokens(one, text) for one, text in zip(brought, texts, strict=True)] if "tokens" in needs else None,
        texts if "texts" in needs else None,
    )


def names_without_text(pool: Pool, candidates: Sequence[CandidateInput]) -> list[str]:
    """Ids of the candidates whose text the request did not bring."""
    return [
        name
        for name, one in zip(pool.ids, _brought(pool, candidates), strict=True)
        if name is not None and (one is None or one.text is None)
    ]


def _brought(pool: Pool, candidates: Sequence[CandidateInput]) -> list[CandidateInput | None]:
    return [candidates[i] if candidates and i is not None else None for i in pool.indices]


def _text(name: str | None, candidate: CandidateInput | None, stored: Mapping[str, StoredDocument]) -> str | None:
    """A candidate's text, which may be empty; None where nobody knows it."""
    if candidate is not None and candidate.text is not None:
        return candidate.text
    return stored[name].content.text if name is not None and name in stored else None


def _tokens(candidate: CandidateInput | None, text: str) -> int:
    if candidate is not None and candidate.tokens is not None:
        return candidate.tokens
    return -(-len(text) // CHARACTERS_A_TOKEN)


async def _embeddings(
    pool: Pool,
    brought: Sequence[CandidateInput | None],
    texts: Sequence[str | None],
    index: CollectionIndex,
    encoder: Encoder | None,
) -> NDArray[np.float64]:
    """The candidate's own, else the index's, else its text's; shape (N, d)."""
    vectors: list[NDArray[Any] | None] = [
        one.embedding
        if one is not None and one.embedding is not None
        else (index.vector(name) if name is not None else None)
        for name, one in zip(pool.ids, brought, strict=True)
    ]
    without = [i for i, vector in enumerate(vectors) if vector is None]
    known = [(i, text) for i in without if (text := texts[i]) is not None]
    if encoder and len(known) == len(without):
        for (i, _), vector in zip(known, await encoder.encode([text for _, text in known]), strict=True):
            vectors[i] = vector
        without = []
    if without:
        raise InvalidRequestError.at(
            "/variant", f"this choice compares embeddings, and {len(without)} of {len(pool)} candidates have none"
        )
    lengths = {len(vector) for vector in vectors if vector is not None}
    if len(lengths) > 1:
        raise InvalidRequestError.at("/candidates", f"embeddings differ in length: {sorted(lengths)}")
    return np.array(vectors, np.float64).reshape(len(vectors), lengths.pop() if lengths else 0)
