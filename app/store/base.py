"""The store's seam: what is kept, and what each call promises."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, Protocol

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from warp_core import SENTIMENT_INTENSITY, OpinionScale

Vector = NDArray[np.float32]
Outcome = Literal["created", "updated", "unchanged", "stale", "conflict", "deleted", "absent"]
"""What became of a change. `absent`: there was nothing to delete."""

MAX_VERSION = 2**63 - 1


_DETAILS = ("confidence", "evidence", "evidence_type", "impact", "markers")


class Opinion(msgspec.Struct, frozen=True, omit_defaults=True):
    """One (entity, bin) pair of a document, with what is known about it."""

    entity: str
    bin: int
    confidence: float | None = None
    evidence: str | None = None
    evidence_type: str | None = None
    impact: float | None = None
    markers: list[str] = []

    def details(self) -> dict[str, Any]:
        """What is known beyond entity and bin."""
        return {
            name: value
            for name, value in msgspec.structs.asdict(self).items()
            if name in _DETAILS and value not in (None, [])
        }


class Document(msgspec.Struct, frozen=True, omit_defaults=True):
    """A document's content. Entities are keys (see `app.names`); at most one opinion an entity."""

    text: str = ""
    opinions: list[Opinion] = []
    bin: int | None = None
    attributes: dict[str, str] = {}
    metadata: dict[str, Any] = {}
    timestamp: str | None = None
    excluded: bool = False


_scale = lru_cache(maxsize=256)(OpinionScale)
"""A scale works out its exact distances once; every request asks for it."""


class PoleQueries(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Queries that pull out one side of the opinions on an `{entity}` (WARP, prompt A.3.4.1)."""

    positive: str = "What positive experiences have people had with {entity}?"
    neutral: str = "What factual information do people share about {entity}?"
    negative: str = "What are the biggest complaints about {entity}?"


class CollectionPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a collection decides otherwise than the service (see `warp_core.Policy`); null is what the service does."""

    dense_em: Annotated[float, Meta(ge=0, le=1)] | None = None
    dense_variant: str | None = None
    sparse_variant: str | None = None
    short_pool_expansion: Literal["none", "entity_gated", "adaptive"] | None = None
    deficit_ratio: Annotated[float, Meta(ge=0, le=1)] | None = None
    n_exp: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    n2: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    tau: Annotated[float, Meta(ge=-1, le=1)] | None = None
    nearest_entity: Annotated[float, Meta(ge=0, le=1)] | None = None
    """How similar a question must be to the name of an entity that it does not name; 1 is never."""


class CollectionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a collection fixes for all its documents."""

    positions: tuple[float, ...] = SENTIMENT_INTENSITY.positions
    stars: tuple[float, ...] | None = SENTIMENT_INTENSITY.stars
    pole_queries: PoleQueries = PoleQueries()
    policy: CollectionPolicy = CollectionPolicy()
    labeller: Literal["none", "vader"] = "none"
    """What labels a text that comes without any opinion (see `app.labelling`)."""

    @property
    def scale(self) -> OpinionScale:
        """The axis of the collection's opinions."""
        return _scale(self.positions, self.stars)


class VectorSpace(msgspec.Struct, frozen=True):
    """What all vectors of a collection share: their length, and the encoder that made them (None: the callers)."""

    dimension: int
    encoder: str | None


class Change(msgspec.Struct, frozen=True):
    """A document to store, or (without content) to delete.

    `fingerprint` tells whether two contents are the same; the same content changes nothing, but gives a vector to a
    document that had none. `version`: only a higher one than the stored replaces it;
    None takes the next, so that the later write wins. A deleted document keeps its version, and only a higher one
    brings it back.
    """

    id: str
    content: Document | None = None
    fingerprint: bytes = b""
    vector: Vector | None = None
    version: int | None = None


class StoredDocument(msgspec.Struct, frozen=True):
    """A document as stored."""

    id: str
    version: int
    content: Document


class Labels(msgspec.Struct, frozen=True):
    """What the store knows of one document with regard to one entity."""

    entity_bin: int | None
    document_bin: int | None
    excluded: bool


class Lookup(msgspec.Struct, frozen=True):
    """All that a re-ranking reads, true at one moment."""

    settings: CollectionSettings
    known: bool
    """Whether the collection exists."""
    space: VectorSpace | None
    labels: Mapping[str, Labels]
    entity_counts: Sequence[int]
    domain_counts: Sequence[int]


class IndexEntry(msgspec.Struct, frozen=True):
    """The state of a document for an index that follows the store; no opinions and no vector once it is gone."""

    collection: str
    id: str
    present: bool
    excluded: bool
    bins: Mapping[str, int]
    vector: Vector | None


Cursor = Any
"""How far a follower has come; only the store that made it can read it."""


class Page(msgspec.Struct, frozen=True):
    """Documents that changed past a cursor, each in its present state.

    Parameters
    ----------
    cursor : where the next page begins.
    more : whether there is another page already.
    reset : the store is not the one that the cursor was made by, or has forgotten what lies between: everything known
        is to be forgotten, and this is the first page of all documents.
    """

    entries: Sequence[IndexEntry]
    cursor: Cursor
    more: bool
    reset: bool = False


class Drift(msgspec.Struct, frozen=True):
    """A count that differs from a recount of the stored opinions."""

    collection: str
    entity: str
    bin: int
    counted: int
    recounted: int


class Store(Protocol):
    """Documents with their opinions, and population counts that equal a recount at every moment.

    A call that cannot do what it says raises `StoreUnavailableError`.
    """

    async def close(self) -> None:
        """Give up all resources; no call may follow."""

    async def collections(self) -> list[str]:
        """Names of all collections, in order."""

    async def settings(self, collection: str) -> CollectionSettings | None:
        """What a collection fixes; None when there is no such collection."""

    async def put_settings(self, collection: str, settings: CollectionSettings) -> bool:
        """Create or change a collection. False, and no change, when it holds documents on another scale."""

    async def vector_space(self, collection: str) -> VectorSpace | None:
        """What the collection's vectors share; None while it has none."""

    async def apply(
        self,
        collection: str,
        changes: Sequence[Change],
        space: VectorSpace | None = None,
        positions: tuple[float, ...] | None = None,
    ) -> list[Outcome]:
        """Apply the changes, those of one document in order, durably; one outcome each.

        A reader sees each document whole, together with its counts. What is applied when a call fails in the middle is
        whole too, and applying it again changes nothing.

        `space` is that of the vectors brought, and is fixed by the first; `positions` are those of the
        scale that the bins refer to. When the collection has another space or scale by now, nothing is applied
        (`CollectionChangedError`).
        """

    async def document(self, collection: str, document_id: str) -> StoredDocument | None:
        """One document; None when it was never stored, or deleted."""

    async def documents(self, collection: str, ids: Sequence[str]) -> dict[str, StoredDocument]:
        """Those of the documents that are stored."""

    async def lookup(self, collection: str, entity: str | None, ids: Sequence[str]) -> Lookup:
        """Labels of documents and counts of an entity, in one round trip."""

    async def changes(self, cursor: Cursor | None) -> Page:
        """What changed past a cursor, in all collections; with None, all documents."""

    async def drift(self) -> list[Drift]:
        """Recount all stored opinions and name every count that differs."""
