"""The store's seam: what is kept, and what each call promises."""

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, Protocol

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from app.store.facets import ALL, described
from warp_core import SENTIMENT_INTENSITY, OpinionScale

Vector = NDArray[np.float32]
Outcome = Literal["created", "updated", "unchanged", "stale", "conflict", "deleted", "absent"]
"""What became of a change. `absent`: there was nothing to delete."""
Ack = Literal["local", "replica", "memory"]
"""Where a change is once it is answered for: on the disk of the server (`local`), with a second server too (`replica`),
or with the server only, which writes it to its disk when it likes (`memory`)."""

MAX_VERSION = 2**63 - 1
TOMBSTONE_LIFE_S = 7 * 24 * 3600
"""How long a deleted document's version is remembered, so that a late write of an older one does not bring it back."""

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


class CollectionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """What a collection fixes for all its documents.

    Parameters
    ----------
    registry : the entities' other names, by the name that their opinions count under. All are keys (see `app.names`).
    labeller : what labels a text that comes without any opinion (see `app.labelling`).
    """

    positions: tuple[float, ...] = SENTIMENT_INTENSITY.positions
    stars: tuple[float, ...] | None = SENTIMENT_INTENSITY.stars
    pole_queries: PoleQueries = PoleQueries()
    registry: dict[str, tuple[str, ...]] = {}
    policy: CollectionPolicy = CollectionPolicy()
    labeller: Literal["none", "vader"] = "none"

    @property
    def scale(self) -> OpinionScale:
        """The axis of the collection's opinions."""
        return _scale(self.positions, self.stars)

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Name that opinions count under, by each other name of the entity."""
        return {alias: entity for entity, aliases in self.registry.items() for alias in aliases}

    def renamed(self, after: "CollectionSettings") -> list[str]:
        """Entities that opinions of these settings may no longer count under with others."""
        names = self.aliases.keys() | after.aliases.keys()
        moved = {name for name in names if self.aliases.get(name) != after.aliases.get(name)}
        return sorted({self.aliases.get(name, name) for name in moved})

    def labels(self, content: Document) -> dict[str, int]:
        """Bin by the entity that an opinion counts under; of two that count under one, the first."""
        found: dict[str, int] = {}
        for opinion in content.opinions:
            found.setdefault(self.aliases.get(opinion.entity, opinion.entity), opinion.bin)
        return found


class VectorSpace(msgspec.Struct, frozen=True):
    """What all vectors of a collection share: their length, and the encoder that made them (None: the callers)."""

    dimension: int
    encoder: str | None


class Change(msgspec.Struct, frozen=True):
    """A document to store, or (without content) to delete.

    `fingerprint` tells whether two contents are the same; the same content changes nothing, but gives a vector to a
    document that had none, and replaces a stored content that is damaged. `version`: only a higher one than the stored
    replaces or deletes it; None takes the next, so that the later write wins, and deletes whatever is there. A deleted
    document keeps its version (for `TOMBSTONE_LIFE_S`), and only a higher one brings it back.
    """

    id: str
    content: Document | None = None
    fingerprint: bytes = b""
    vector: Vector | None = None
    version: int | None = None

    @property
    def leaves_something(self) -> bool:
        """Whether the store keeps something of it in any case: a deletion's version is remembered, if it has one."""
        return self.content is not None or self.version is not None


class StoredDocument(msgspec.Struct, frozen=True):
    """A document as stored."""

    id: str
    version: int
    content: Document


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that is kept of a document, for taking it to another store; without content it is a deleted one."""

    id: str
    version: int
    content: Document | None = None
    fingerprint: bytes = b""
    vector: bytes = b""
    """float32, in the order of the machine's bytes; empty when there is none."""

    @property
    def change(self) -> Change:
        """The change that makes the same of an empty store."""
        vector = np.frombuffer(self.vector, np.float32) if self.vector else None
        return Change(self.id, self.content, self.fingerprint, vector, self.version)


class ExternalTarget(msgspec.Struct, frozen=True):
    """A target that was given for an entity: stars, a survey, a prior. Weights over the positions of the scale."""

    positions: tuple[float, ...]
    weights: tuple[float, ...]


class Labels(msgspec.Struct, frozen=True):
    """What the store knows of one document with regard to one entity."""

    entity_bin: int | None
    document_bin: int | None
    excluded: bool


class Lookup(msgspec.Struct, frozen=True):
    """All that a re-ranking reads; a document and its labels, and a facet and its counts, are true at one moment.

    Parameters
    ----------
    known : whether the collection exists.
    entity_counts : opinions on the entity, for each facet that was asked for, by bin.
    domain_counts : the same over all entities of the collection.
    external : the target that was given for the entity.
    """

    settings: CollectionSettings
    known: bool
    space: VectorSpace | None
    labels: Mapping[str, Labels]
    entity_counts: Sequence[Sequence[int]]
    domain_counts: Sequence[Sequence[int]]
    external: ExternalTarget | None = None


class IndexEntry(msgspec.Struct, frozen=True):
    """The state of a document for an index that follows the store; no opinions and no vector once it is gone."""

    collection: str
    id: str
    present: bool
    excluded: bool
    bins: Mapping[str, int]
    document_bin: int | None
    """Of the opinion of the whole document."""
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
    """A count that differs from a recount of the stored opinions, or a part of it does where both sums are equal, or
    cannot be read. Without a facet: the number of documents.
    """

    collection: str
    facet: str
    entity: str
    bin: int
    counted: int
    recounted: int

    def __str__(self) -> str:
        """For the eye."""
        what = "documents"
        if self.facet:
            what = f"{self.entity or 'all entities'}{described(self.facet)}, bin {self.bin}"
        in_part = ", a part of it wrong or unreadable" if self.counted == self.recounted else ""
        return f"{self.collection}: {what}: {self.counted} counted, {self.recounted} stored{in_part}"


class Damage(msgspec.Struct, frozen=True):
    """A stored value that nobody can read.

    Parameters
    ----------
    kind : of a document all that is known of it, so that it counts nowhere, or its content alone; an entity's external
        target; or the state of a part of the collection, where nothing can be written.
    name : the document's id, the entity, or the number of the part.
    """

    collection: str
    kind: Literal["document", "content", "target", "state"]
    name: str

    @property
    def mendable(self) -> bool:
        """Whether a repair sets it right. A content has to be ingested again, though its opinions count all the same; a
        target has to be given again.
        """
        return self.kind not in ("content", "target")

    def __str__(self) -> str:
        """For the eye."""
        what, remedy = {
            "document": ("document", "a repair forgets it; ingest it again"),
            "content": ("content of document", "ingest it again, or delete it"),
            "target": ("target of", "give it again, or delete it"),
            "state": ("state of part", "a repair makes it anew"),
        }[self.kind]
        return f"{self.collection}: the {what} {self.name} cannot be read: {remedy}"


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
        """Create or change a collection. False, and no change, when it holds documents on another scale.

        Where the registry changes, stored opinions move to the entities that they count under by now: all of them have
        moved when the call returns, and counts equal a recount all the time.

        A target that was given for a name that has become another entity's is given to that one, if it has none; else
        it is forgotten, and the log says so. Of several such names the first in order is the one that gives. Nothing
        tells later whence a target came: it stays where it is when the name is taken out of the registry again.
        """

    async def acknowledgement(self) -> Ack:
        """Where changes are, when `apply` returns."""

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

    async def lookup(
        self, collection: str, entity: str | None, ids: Sequence[str], facets: Sequence[str] = (ALL,)
    ) -> Lookup:
        """Labels of documents, and counts and external target of an entity, in one round trip.

        `facets` are those of `app.store.facets`.
        """

    async def put_target(self, collection: str, entity: str, target: ExternalTarget | None) -> bool:
        """Keep, or with None forget, a target given for an entity; whether there was one before.

        Under another name that the registry has for it, it is the same entity.
        """

    async def targets(self, collection: str) -> dict[str, ExternalTarget]:
        """All targets that were given, by entity."""

    def records(self, collection: str) -> AsyncIterator[Record]:
        """All documents and, for as long as they are remembered, deleted ones, in the order of their ids.

        What changes meanwhile may be told as it was or as it is.
        """

    async def changes(self, cursor: Cursor | None) -> Page:
        """What changed past a cursor, in all collections; with None, all documents."""

    async def drift(self) -> list[Drift | Damage]:
        """Recount all stored opinions and name every count that differs, and every value that nobody can read."""

    async def repair(self) -> list[Drift | Damage]:
        """The same, and set right what differs, and what can be of what cannot be read, while others may write.

        Told is what there was before. What is forgotten leaves the indexes that follow.
        """

    async def purge(self, tombstone_life_s: float = TOMBSTONE_LIFE_S) -> int:
        """Forget deleted documents and counts that have become zero; how many of both."""
