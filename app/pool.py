"""The candidates of one request in columns: request and labels in, `warp_core.CandidatePool` out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from app.encoder import Encoder, unit
from app.errors import InvalidRequestError, pointing_at
from app.labelling import Label
from app.labels import bin_of_position, entity_and_bin
from app.names import checked_name
from app.schemas import CandidateInput, OpinionInput, RerankRequest
from app.store.base import CollectionSettings, Labels, Lookup, Vector
from warp_core import CandidatePool, OpinionScale

UNKNOWN = -1


@dataclass(frozen=True)
class Scores:
    """What a candidate is worth to the question, one entry a candidate.

    Parameters
    ----------
    shown : as the caller gave them, or as they were computed.
    relevance : the same, turned so that higher is better.
    query_vector : the unit vector whose similarity the scores are, when they are one.
    """

    shown: list[float]
    relevance: list[float]
    query_vector: Vector | None = None


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
    brought : what the request told of each, None for what was found here.
    query_vector : the unit vector whose similarity the scores are, when they are one.
    """

    ids: list[str | None]
    indices: list[int | None]
    scores: list[float | None]
    relevance: list[float]
    bins: list[int]
    matched: list[bool]
    brought: Sequence[CandidateInput | None]
    query_vector: Vector | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def in_core(self, scale: OpinionScale, columns: Columns | None = None) -> CandidatePool:
        """What the selectors see; `columns` are those that not every selector needs."""
        more = columns or Columns()
        return CandidatePool(
            np.array(self.relevance, np.float64),
            np.array(self.bins, np.intp),
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
            [self.brought[p] for p in positions],
            self.query_vector,
        )

    def joined(self, found: "Pool") -> "Pool":
        """These candidates, and after them what expansion found."""
        return Pool(
            [*self.ids, *found.ids],
            [*self.indices, *[None] * len(found)],
            [*self.scores, *found.scores],
            [*self.relevance, *found.relevance],
            [*self.bins, *found.bins],
            [*self.matched, *found.matched],
            [*self.brought, *found.brought],
            self.query_vector,
        )


class Brought(list[CandidateInput]):
    """What a request brought, N in all: the candidates, then those of the tail.

    Parameters
    ----------
    ids : of each, None where it has none; length N.
    named, scores : the ids and the scores that there are. (`None in` a list compares twice for each that is not.)
    """

    def __init__(self, candidates: Sequence[CandidateInput | str], tail: Sequence[CandidateInput | str]) -> None:
        given = (*candidates, *tail) if tail else candidates
        if set(map(type, given)) != {CandidateInput}:
            given = [c if type(c) is CandidateInput else CandidateInput(text=str(c)) for c in given]
        super().__init__(cast("Sequence[CandidateInput]", given))
        self.n_candidates = len(candidates)
        self.ids = [c.id for c in self]
        self.named = [name for name in self.ids if name is not None]
        self.scores = [c.score for c in self if c.score is not None]

    def pointer(self, i: int) -> str:
        """Where the i-th of all stands in the request."""
        return f"/candidates/{i}" if i < self.n_candidates else f"/tail/{i - self.n_candidates}"


def checked_candidates(request: RerankRequest, max_candidates: int) -> Brought:
    """The request's candidates and tail as records, with their ids and scores checked.

    Raises
    ------
    InvalidRequestError : too many, a bad id, only some have a score, or embeddings differ in length.
    """
    if len(request.candidates) > max_candidates:
        raise InvalidRequestError.at(
            "/candidates", f"at most {max_candidates} are allowed, got {len(request.candidates)}"
        )
    tail = request.tail or ()
    if len(request.candidates) + len(tail) > max_candidates:
        allowed = max_candidates - len(request.candidates)
        raise InvalidRequestError.at("/tail", f"at most {allowed} are allowed beside the candidates, got {len(tail)}")
    brought = Brought(request.candidates, tail)
    if 0 < len(brought.scores) < len(brought):
        pointer = brought.pointer([c.score for c in brought].index(None))
        raise InvalidRequestError.at(f"{pointer}/score", "either all candidates have a score or none")
    if not "".join(brought.named).isascii():
        _check_ids(brought)
    _check_embeddings(brought)
    return brought


def _check_ids(brought: Brought) -> None:
    """Decoding has checked their lengths in characters; only what is not ASCII can be longer in bytes."""
    for i, c in enumerate(brought):
        if c.id is not None:
            with pointing_at(f"{brought.pointer(i)}/id"):
                checked_name("id", c.id)


def _check_embeddings(brought: Brought) -> None:
    lengths = [(i, len(c.embedding)) for i, c in enumerate(brought) if c.embedding is not None]
    expected = max(lengths[0][1], 1) if lengths else 1
    for i, length in lengths:
        if length != expected:
            raise InvalidRequestError.at(
                f"{brought.pointer(i)}/embedding", f"holds {length} numbers, {expected} are expected, as in the first"
            )


def silent(candidates: Sequence[CandidateInput]) -> list[int]:
    """Positions of the candidates that tell nothing of their opinions, so that somebody else is asked for them."""
    return [i for i, c in enumerate(candidates) if c.opinions is None and c.si is None]


def pool_of_request(
    brought: Brought,
    silent: Sequence[int],
    scores: Scores,
    entity: str | None,
    lookup: Lookup,
    labels_of_texts: Mapping[int, Label],
) -> Pool:
    """The pool of all that a request brought, its tail included.

    What a candidate tells of itself wins over what is stored.

    Parameters
    ----------
    silent : see there.
    labels_of_texts : of those of `unlabelled` that a labeller labelled, by position.

    Raises
    ------
    InvalidRequestError : a label is off the scale.
    """
    bin_of, stored = _OpinionBins(lookup.settings, entity), lookup.labels
    bins: list[int] = []
    matched: list[bool] = []
    for c in brought:
        own, matches, o = UNKNOWN, False, None
        try:
            if c.si is not None:
                own = bin_of_position(c.si, bin_of.scale)
            for o in c.opinions or ():
                by_si = o.sentiment is None and o.intensity is None and o.stars is None
                b = bin_of[(o.entity, o.si) if by_si else (o.entity, o.si, o.sentiment, o.intensity, o.stars)]
                if b is not None and not matches:
                    own, matches = b, True
        except InvalidRequestError as error:
            at = next((f"/opinions/{i}" for i, one in enumerate(c.opinions or ()) if one is o), "")
            raise error.below(brought.pointer(len(bins)) + at) from error
        bins.append(own)
        matched.append(matches)
    for i in silent:
        label = labels_of_texts.get(i)
        if label is None:
            bins[i], matched[i] = stored_label(stored.get(brought[i].id or ""))
        else:
            found = label.entities.get(entity) if entity is not None else None
            bins[i], matched[i] = (label.document, False) if found is None else (found, True)
    indices: list[int | None] = list(range(len(brought)))
    return Pool(brought.ids, indices, [*scores.shown], scores.relevance, bins, matched, brought, scores.query_vector)


class _OpinionBins(dict[tuple[Any, ...], int | None]):
    """What an opinion says (the first fields of `OpinionInput`) -> its bin; None unless it is about the entity.

    The candidates of a request say the same few things over and over; each is worked out once.
    """

    def __init__(self, settings: CollectionSettings, entity: str | None) -> None:
        super().__init__()
        self.scale, self._aliases, self._entity = settings.scale, settings.aliases, entity

    def __missing__(self, said: tuple[Any, ...]) -> int | None:
        name, b = entity_and_bin(OpinionInput(*said), self.scale)
        found = self[said] = b if self._aliases.get(name, name) == self._entity else None
        return found


def unlabelled(candidates: Sequence[CandidateInput], silent: Sequence[int], lookup: Lookup) -> list[int]:
    """Positions of the candidates with a text of which neither the request nor the store tells an opinion."""
    known = lookup.labels
    return [i for i in silent if candidates[i].text and candidates[i].id not in known]


def stored_label(stored: Labels | None) -> tuple[int, bool]:
    """Bin, and whether the entity is matched, of a document as the store knows it."""
    if stored is None:
        return UNKNOWN, False
    if stored.entity_bin is not None:
        return stored.entity_bin, True
    return UNKNOWN if stored.document_bin is None else stored.document_bin, False


async def scores_of(request: RerankRequest, brought: Brought, encoder: Encoder | None) -> Scores:
    """The given scores; else similarities to the query, where all can have one; else by position.

    Raises
    ------
    InvalidRequestError : an embedding has another length than the encoder's.
    """
    if given := brought.scores:
        return Scores(given, [-score for score in given] if request.score_kind == "distance" else given)
    if encoder and brought and request.query and all(c.embedding is not None or c.text is not None for c in brought):
        (query,) = await encoder.encode_queries([request.query])
        similarities = ((await _vectors(brought, encoder)) @ query).tolist()
        return Scores(similarities, similarities, query)
    n = len(brought)
    by_position = [(n - i) / n for i in range(n)]
    return Scores(by_position, by_position)


async def _vectors(brought: Brought, encoder: Encoder) -> Vector:
    encoded = iter(await encoder.encode([c.text or "" for c in brought if c.embedding is None]))
    rows = []
    for i, c in enumerate(brought):
        if c.embedding is not None and len(c.embedding) != encoder.dimension:
            raise InvalidRequestError.at(
                f"{brought.pointer(i)}/embedding",
                f"holds {len(c.embedding)} numbers, the encoder's vectors hold {encoder.dimension}",
            )
        rows.append(next(encoded) if c.embedding is None else unit(c.embedding))
    return np.stack(rows)


def without_duplicates(pool: Pool) -> tuple[Pool, int]:
    """The pool with each id once, under its best score, and how many were dropped. Candidates without id all stay."""
    if len(set(pool.ids)) == len(pool):
        return pool, 0
    best: dict[str, int] = {}
    for position, name in enumerate(pool.ids):
        if name is not None:
            before = best.get(name)
            if before is None or pool.relevance[position] > pool.relevance[before]:
                best[name] = position
    kept = [p for p, name in enumerate(pool.ids) if name is None or best[name] == p]
    dropped = len(pool) - len(kept)
    return (pool.take(kept), dropped) if dropped else (pool, 0)


def tail_beyond(pool: Pool, tail: Pool) -> Pool:
    """The tail without what the pool holds already, each id once."""
    known = {name for name in pool.ids if name is not None}
    return without_duplicates(tail.take([i for i, name in enumerate(tail.ids) if name not in known]))[0]
