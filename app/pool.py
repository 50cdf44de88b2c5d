"""The candidates of one request in columns: request and labels in, `warp_core.CandidatePool` out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.encoder import Encoder, unit
from app.errors import InvalidRequestError
from app.labels import bin_of_position, entity_and_bin
from app.names import checked_name
from app.schemas import CandidateInput, RerankRequest
from app.store.base import CollectionSettings, Labels, Lookup, Vector
from warp_core import CandidatePool, InvalidInputError, OpinionScale

UNKNOWN = -1

Score = tuple[float, float]
"""As it is shown, and as relevance: higher is better."""


@dataclass(frozen=True)
class Columns:
    """What only some selectors need; each has an entry a candidate."""

    embeddings: NDArray[np.float64] | None = None
    tokens: list[int] | None = None
    texts: list[str] | None = None


@dataclass
class Pool:
    """N candidates; all lists have length N.

    Parameters
    ----------
    ids : None for a candidate that is text only.
    indices : positions in the request (or in the retrieved pool), None for what expansion found.
    scores : as the caller gave them, or as they were computed.
    relevance : the same, turned so that higher is better; comparable within the pool.
    bins : bin on the queried entity, else of the whole document, else -1.
    query_vector : the unit vector whose similarity the scores are, when they are one.
    """

    ids: list[str | None]
    indices: list[int | None]
    scores: list[float | None]
    relevance: list[float]
    bins: list[int]
    matched: list[bool]
    query_vector: Vector | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def in_core(self, scale: OpinionScale, columns: Columns | None = None) -> CandidatePool:
        """What the selectors see; `columns` are those that not every selector needs."""
        more = columns or Columns()
        return CandidatePool(
            self.relevance,
            self.bins,
            np.array(self.matched, np.bool_),
            scale,
            embeddings=more.embeddings,
            tokens=more.tokens,
            texts=more.texts,
        )

    def take(self, positions: Sequence[int]) -> "Pool":
        """Some of the candidates, in the order given."""
        return Pool(
            [self.ids[p] for p in positions],
            [self.indices[p] for p in positions],
            [self.scores[p] for p in positions],
            [self.relevance[p] for p in positions],
            [self.bins[p] for p in positions],
            [self.matched[p] for p in positions],
            self.query_vector,
        )


def checked_candidates(request: RerankRequest, max_candidates: int) -> list[CandidateInput]:
    """The request's candidates as records, with their ids and scores checked.

    Raises
    ------
    InvalidRequestError : too many, a bad id, only some have a score, or embeddings differ in length.
    """
    if len(request.candidates) > max_candidates:
        raise InvalidRequestError.at(
            "/candidates", f"at most {max_candidates} are allowed, got {len(request.candidates)}"
        )
    candidates = [CandidateInput(text=c) if isinstance(c, str) else c for c in request.candidates]
    scored = sum(c.score is not None for c in candidates)
    if scored not in (0, len(candidates)):
        first = next(i for i, c in enumerate(candidates) if c.score is None)
        raise InvalidRequestError.at(f"/candidates/{first}/score", "either all candidates have a score or none")
    for i, c in enumerate(candidates):
        try:
            if c.id is not None:
                checked_name("id", c.id)
        except InvalidInputError as error:
            raise InvalidRequestError.at(f"/candidates/{i}/id", error.detail) from error
    _check_embeddings(candidates)
    return candidates


def _check_embeddings(candidates: Sequence[CandidateInput]) -> None:
    lengths = {i: len(c.embedding) for i, c in enumerate(candidates) if c.embedding is not None}
    expected = max(next(iter(lengths.values()), 1), 1)
    for i, length in lengths.items():
        if length != expected:
            raise InvalidRequestError.at(
                f"/candidates/{i}/embedding", f"holds {length} numbers, {expected} are expected, as in the first"
            )


def pool_of_request(
    candidates: Sequence[CandidateInput], scores: Sequence[Score], entity: str | None, lookup: Lookup
) -> Pool:
    """The pool of the candidates that a request brought.

    Parameters
    ----------
    scores : as shown, and turned so that higher is better; one pair a candidate.

    Raises
    ------
    InvalidRequestError : a label is off the scale.
    """
    settings, labels = lookup.settings, lookup.labels
    labelled = []
    for i, c in enumerate(candidates):
        try:
            labelled.append(_label(c, entity, settings, labels.get(c.id) if c.id is not None else None))
        except InvalidRequestError as error:
            raise error.below(f"/candidates/{i}") from error
    return Pool(
        [c.id for c in candidates],
        list(range(len(candidates))),
        [shown for shown, _ in scores],
        [relevance for _, relevance in scores],
        [b for b, _ in labelled],
        [matched for _, matched in labelled],
    )


def _label(
    candidate: CandidateInput, entity: str | None, settings: CollectionSettings, stored: Labels | None
) -> tuple[int, bool]:
    """Bin, and whether the candidate matches the entity. What it tells of itself wins over what is stored."""
    if candidate.opinions is None and candidate.si is None:
        return stored_label(stored)
    own, scale, aliases = UNKNOWN, settings.scale, settings.aliases
    for j, opinion in enumerate(candidate.opinions or ()):
        try:
            name, b = entity_and_bin(opinion, scale)
        except InvalidRequestError as error:
            raise error.below(f"/opinions/{j}") from error
        if aliases.get(name, name) == entity and own == UNKNOWN:
            own = b
    if own != UNKNOWN:
        return own, True
    return UNKNOWN if candidate.si is None else bin_of_position(candidate.si, scale), False


def stored_label(stored: Labels | None) -> tuple[int, bool]:
    """Bin, and whether the entity is matched, of a document as the store knows it."""
    if stored is None:
        return UNKNOWN, False
    if stored.entity_bin is not None:
        return stored.entity_bin, True
    return UNKNOWN if stored.document_bin is None else stored.document_bin, False


async def scores_of(
    request: RerankRequest, candidates: Sequence[CandidateInput], encoder: Encoder | None
) -> tuple[list[Score], Vector | None]:
    """The given scores; else similarities to the query, with its vector, where all can have one; else by position.

    Raises
    ------
    InvalidRequestError : an embedding has another length than the encoder's.
    """
    given = [c.score for c in candidates if c.score is not None]
    if given and request.score_kind == "distance":
        return [(score, -score) for score in given], None
    if given:
        return [(score, score) for score in given], None
    if encoder and candidates and request.query and all(c.embedding or c.text is not None for c in candidates):
        (query,) = await encoder.encode_queries([request.query])
        similarities = (await _vectors(candidates, encoder)) @ query
        return [(score, score) for score in similarities.tolist()], query
    n = len(candidates)
    return [((n - i) / n, (n - i) / n) for i in range(n)], None


async def _vectors(candidates: Sequence[CandidateInput], encoder: Encoder) -> Vector:
    encoded = iter(await encoder.encode([c.text or "" for c in candidates if not c.embedding]))
    rows = []
    for i, c in enumerate(candidates):
        if c.embedding and len(c.embedding) != encoder.dimension:
            raise InvalidRequestError.at(
                f"/candidates/{i}/embedding",
                f"holds {len(c.embedding)} numbers, the encoder's vectors hold {encoder.dimension}",
            )
        rows.append(unit(c.embedding) if c.embedding else next(encoded))
    return np.stack(rows)


def without_duplicates(pool: Pool) -> tuple[Pool, int]:
    """The pool with each id once, under its best score, and how many were dropped. Candidates without id all stay."""
    best: dict[str, int] = {}
    for position, name in enumerate(pool.ids):
        if name is not None:
            before = best.get(name)
            if before is None or pool.relevance[position] > pool.relevance[before]:
                best[name] = position
    kept = [p for p, name in enumerate(pool.ids) if name is None or best[name] == p]
    dropped = len(pool) - len(kept)
    return (pool.take(kept), dropped) if dropped else (pool, 0)
