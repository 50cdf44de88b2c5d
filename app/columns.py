"""What some selectors need of every candidate beyond relevance and bin: embeddings, texts, token costs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.encoder import Encoder
from app.errors import InvalidRequestError
from app.index.base import CollectionIndex
from app.pool import Columns, Pool
from app.schemas import CandidateInput
from app.store.base import StoredDocument

CHARACTERS_A_TOKEN = 4
"""A candidate that does not tell its tokens is taken to have one for every four characters, rounded up."""


async def columns_of(
    pool: Pool,
    needs: Collection[str],
    stored: Mapping[str, StoredDocument],
    index: CollectionIndex,
    encoder: Encoder | None,
    comparable: bool,
) -> Columns:
    """The needed columns (of `embeddings`, `tokens`, `texts`), from the request, else the index or store.

    Parameters
    ----------
    stored : the documents of `names_without_text`.
    comparable : whether the encoder's vectors compare with the index's. If not, the texts of documents are encoded anew
        where otherwise both kinds would meet.

    Raises
    ------
    InvalidRequestError : a candidate's embedding is not to be had, or they differ in length.
    """
    known = [_text(name, one, stored) for name, one in zip(pool.ids, pool.brought, strict=True)]
    texts = [text or "" for text in known]
    return Columns(
        await _embeddings(pool, known, index, encoder, comparable) if "embeddings" in needs else None,
        [_tokens(one, text) for one, text in zip(pool.brought, texts, strict=True)] if "tokens" in needs else None,
        texts if "texts" in needs else None,
    )


def names_without_text(pool: Pool) -> list[str]:
    """Ids of the candidates whose text the request did not bring."""
    return [
        name
        for name, one in zip(pool.ids, pool.brought, strict=True)
        if name is not None and (one is None or one.text is None)
    ]


def _text(name: str | None, candidate: CandidateInput | None, stored: Mapping[str, StoredDocument]) -> str | None:
    """A candidate's text, which may be empty; None where nobody knows it."""
    if candidate is not None and candidate.text is not None:
        return candidate.text
    return stored[name].content.text if name is not None and name in stored else None


def tokens_in(text: str) -> int:
    """What a text is taken to cost, when nobody tells."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


def _tokens(candidate: CandidateInput | None, text: str) -> int:
    if candidate is not None and candidate.tokens is not None:
        return candidate.tokens
    return tokens_in(text)


async def _embeddings(
    pool: Pool, texts: Sequence[str | None], index: CollectionIndex, encoder: Encoder | None, comparable: bool
) -> NDArray[np.float64]:
    """The candidate's own, else the index's, else its text's; shape (N, d)."""
    own = [None if one is None else one.embedding for one in pool.brought]
    asked = [name for name, mine in zip(pool.ids, own, strict=True) if name is not None and mine is None]
    stored = await index.vectors(asked)
    vectors: list[NDArray[Any] | None] = [
        stored.get(name or "") if mine is None else mine for name, mine in zip(pool.ids, own, strict=True)
    ]
    if not comparable and any(vector is None for vector in vectors):
        vectors = [*own]
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
