"""Vectors and opinions of each collection in memory, for search and expansion.

Rows are only ever appended: a replaced or deleted document leaves a dead row behind, and when too many are dead the
collection is rebuilt beside the old one. So no reader ever sees a row change its meaning, and readers and the one
writer need no lock. FAISS searches the rows where they lie; what is restricted to an entity gathers that
entity's rows, which is exact and cheaper than any filtered search.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import faiss
import numpy as np
from numpy.typing import NDArray

from app.store.base import IndexEntry, Vector
from warp_core.distributions import FloatArray, IntArray, bin_counts

MAX_RESULTS = 2000
"""FAISS allocates what is asked for, however absurd; no search asks for more than this, the dead rows aside."""
MIN_DEAD = 1000
MAX_DEAD_SHARE = 0.2


@dataclass(frozen=True)
class Members:
    """The documents of one entity: rows, shape (n,), and bins, shape (n,)."""

    rows: IntArray
    bins: IntArray


@dataclass
class _Rows:
    """Row i is, or was, document ids[i] with vector matrix[i]; `live` has the present row of each document."""

    matrix: Vector
    ids: list[str] = field(default_factory=list)
    live: dict[str, int] = field(default_factory=dict)
    died: dict[int, int] = field(default_factory=dict)
    """Rows that are no longer a document, with how many had died before."""

    def append(self, document_id: str, vector: Vector | None) -> int:
        row = len(self.ids)
        if row == len(self.matrix):
            grown = np.zeros((max(1024, 2 * row), self.matrix.shape[1]), np.float32)
            grown[:row] = self.matrix
            self.matrix = grown
        if vector is not None:
            self.matrix[row] = vector
        self.ids.append(document_id)
        self.live[document_id] = row
        return row


class CollectionIndex:
    """One collection. One thread may write; any may read meanwhile."""

    def __init__(self) -> None:
        self._rows = _Rows(np.zeros((0, 0), np.float32))
        self._bins: dict[str, Mapping[str, int]] = {}
        self._entities: dict[str, dict[int, int]] = {}
        self._members: dict[str, Members] = {}
        self._names: list[str] | None = None  # sorted names of the entities, made when asked for

    def __len__(self) -> int:
        return len(self._rows.live)

    @property
    def dimension(self) -> int:
        """Length of the vectors; 0 while none has come."""
        return int(self._rows.matrix.shape[1])

    # Writing

    def put(self, entry: IndexEntry) -> None:
        """Take over a document's present state; what was known of it before is forgotten."""
        self._remove(entry.id)
        if not entry.present or entry.excluded:
            return
        if entry.vector is not None and not self.dimension:
            self._rows.matrix = np.zeros((len(self._rows.matrix), len(entry.vector)), np.float32)
        row = self._rows.append(entry.id, entry.vector)
        self._bins[entry.id] = entry.bins
        for entity, b in entry.bins.items():
            if entity not in self._entities:
                self._entities[entity] = {}
                self._names = None
            self._entities[entity][row] = b
            self._members.pop(entity, None)

    def _remove(self, document_id: str) -> None:
        row = self._rows.live.pop(document_id, None)
        if row is None:
            return
        self._rows.died[row] = len(self._rows.died)
        for entity in self._bins.pop(document_id):
            members = self._entities[entity]
            del members[row]
            self._members.pop(entity, None)
            if not members:
                del self._entities[entity]
                self._names = None

    def needs_compaction(self) -> bool:
        """Whether so many rows are dead that a new generation is worth it."""
        return len(self._rows.died) >= max(MIN_DEAD, MAX_DEAD_SHARE * len(self._rows.ids))

    def compacted(self) -> "CollectionIndex":
        """The same documents without dead rows. Slow on a large index: meant for a thread, while nothing is written."""
        fresh = CollectionIndex()
        old = list(self._rows.live.values())
        ids = list(self._rows.live)
        fresh._rows = _Rows(self._rows.matrix[old], ids, {name: row for row, name in enumerate(ids)})
        fresh._bins = self._bins
        moved = {row: position for position, row in enumerate(old)}
        for entity, members in self._entities.items():
            fresh._entities[entity] = {moved[row]: b for row, b in members.items()}
        return fresh

    # Reading

    def search(self, query: Vector, k: int) -> list[tuple[str, float]]:
        """The k documents nearest to a unit vector, shape (dimension,), by inner product, best first, equals by id.

        Nothing for a query of another dimension.
        """
        rows = self._rows
        size, dead = len(rows.ids), len(rows.died)
        if not size or len(query) != self.dimension:
            return []
        k = min(k, MAX_RESULTS)
        wanted = min(size, k + dead)
        while True:
            scores, found = faiss.knn(query[None, :], rows.matrix[:size], wanted, metric=faiss.METRIC_INNER_PRODUCT)
            # A row that died while FAISS searched still counts: its document is found as it was at the start.
            hits = sorted(
                (-score, rows.ids[row])
                for score, row in zip(scores[0].tolist(), found[0].tolist(), strict=True)
                if row >= 0 and rows.died.get(row, dead) >= dead
            )
            # What equals the last of the k may lie beyond what was asked for; which of them is chosen must not depend
            # on the order in which they came.
            if wanted == size or len(hits) < k or -hits[k - 1][0] > scores[0, -1]:
                return [(name, -score) for score, name in hits[:k]]
            wanted = min(size, 2 * wanted)

    def bins(self, document_id: str) -> Mapping[str, int] | None:
        """Bin by entity of a document; None when it is not here."""
        return self._bins.get(document_id)

    def counts(self, entity: str | None, n_bins: int) -> list[int]:
        """Documents in each bin of an entity, or of all entities together."""
        names = self._entities if entity is None else [entity]
        rows = [self.members(name).bins for name in names]
        counted: list[int] = bin_counts(np.concatenate([np.zeros(0, np.intp), *rows]), n_bins).tolist()
        return counted

    def entities(self, after: str, limit: int) -> list[tuple[str, int]]:
        """Entities that opinions are held on, and how many; a page in name order, past the name `after`."""
        if self._names is None:
            self._names = sorted(self._entities)
        start = bisect_right(self._names, after)
        return [(name, len(self._entities[name])) for name in self._names[start : start + limit]]

    def knows(self, entity: str) -> bool:
        """Whether an opinion is held on the entity."""
        return entity in self._entities

    def members(self, entity: str) -> Members:
        """The documents that hold an opinion on an entity, in the order in which they came."""
        cached = self._members.get(entity)
        if cached is None:
            members = self._entities.get(entity)
            if members is None:
                return Members(np.zeros(0, np.intp), np.zeros(0, np.intp))
            cached = Members(
                np.fromiter(members.keys(), np.intp, len(members)), np.fromiter(members.values(), np.intp, len(members))
            )
            self._members[entity] = cached
        return cached

    def ids(self, rows: IntArray) -> list[str]:
        """Ids of rows."""
        return [self._rows.ids[row] for row in rows.tolist()]

    def vector(self, document_id: str) -> Vector | None:
        """The unit vector of a document, shape (dimension,); None when it is not here or there are no vectors."""
        row = self._rows.live.get(document_id)
        return None if row is None or not self.dimension else self._rows.matrix[row]

    def rows_of(self, ids: Sequence[str]) -> IntArray:
        """Rows of those of the documents that are here."""
        live = self._rows.live
        return np.array([live[name] for name in ids if name in live], np.intp)

    def similarities(self, rows: IntArray, queries: Vector) -> FloatArray:
        """Inner products of rows, shape (n,), with queries, shape (q, dimension) -> shape (n, q); 0 without vectors."""
        if queries.shape[1] != self.dimension:
            return np.zeros((len(rows), len(queries)))
        gathered: NDArray[np.float32] = self._rows.matrix[rows]
        return (gathered @ queries.T).astype(np.float64)


class Index:
    """All collections."""

    def __init__(self) -> None:
        self._collections: dict[str, CollectionIndex] = {}

    def __len__(self) -> int:
        return sum(map(len, self._collections.values()))

    def __getitem__(self, collection: str) -> CollectionIndex:
        """The index of a collection; an empty one when nothing has come yet."""
        index = self._collections.get(collection)
        return CollectionIndex() if index is None else index

    def put(self, entry: IndexEntry) -> None:
        """Take over a document's present state, the latest that the store has."""
        self._collections.setdefault(entry.collection, CollectionIndex()).put(entry)

    def adopt(self, other: "Index") -> None:
        """Take over all of another index, and forget what was here."""
        self._collections = other._collections

    async def compact(self) -> None:
        """Give the collections that need it a new generation, built beside the one that readers hold."""
        for name, index in list(self._collections.items()):
            if index.needs_compaction():
                self._collections[name] = await asyncio.to_thread(index.compacted)
