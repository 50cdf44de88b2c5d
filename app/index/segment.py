"""Documents that no longer change, in arrays only: as they lie in a file, so that processes can share them.

Nothing here is a Python object a document, and nothing is copied when a segment is mapped from its file; two hundred
thousand documents cost a process the pages that it touches.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from app.index.products import Rows
from app.index.ragged import Bytes, Ends, ends_of, gathered, packed, positions, unpacked
from app.store.base import Vector

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int32]
Lists = tuple[Vector, Ends, NDArray[np.float32]]
"""`centroids`, `list_ends` and `spread`."""
Members = tuple[Rows, Numbers]
"""Rows that hold an opinion on an entity, in ascending order, and its bins."""


@dataclass(frozen=True, eq=False)
class Segment:
    """n documents; row i of each array is document i. Ragged arrays: see `app.index.ragged`.

    Parameters
    ----------
    matrix : unit vectors, shape (n, dimension), zero where a document has none; dimension 0 when none has one.
    id_bytes, id_ends : the ids.
    hashes : of the ids, shape (n,).
    bucket_rows, bucket_ends : the rows whose hash begins with the bits of the bucket's number.
    entity_bytes, entity_ends : names of the E entities, in order.
    opinion_entities, opinion_bins, opinion_ends : each document's opinions; entities by number.
    document_bins : of the opinions of whole documents, shape (n,); -1 where there is none.
    member_rows, member_bins, member_ends : each entity's opinions.
    centroids, list_ends : for the approximate search, the documents are ordered by the centroid that they are nearest
        to: those of centroid i, shape (L, dimension), are rows list_ends[i] to list_ends[i + 1]. L = 0: no order.
    spread : how far a document's similarity lies from what its centroid lets expect (standard deviation), shape (1,).
    """

    matrix: Vector
    id_bytes: Bytes
    id_ends: Ends
    hashes: Hashes
    bucket_rows: Numbers
    bucket_ends: Ends
    entity_bytes: Bytes
    entity_ends: Ends
    opinion_entities: Numbers
    opinion_bins: Numbers
    opinion_ends: Ends
    document_bins: Numbers
    member_rows: Rows
    member_bins: Numbers
    member_ends: Ends
    centroids: Vector
    list_ends: Ends
    spread: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.hashes)

    def arrays(self) -> Iterator[tuple[str, NDArray[np.generic]]]:
        """All arrays with their names, in a fixed order."""
        for field in fields(self):
            yield field.name, getattr(self, field.name)

    @cached_property
    def entities(self) -> Mapping[str, int]:
        """Number of each entity, in name order."""
        return {name: number for number, name in enumerate(unpacked(self.entity_bytes, self.entity_ends))}

    @cached_property
    def names(self) -> list[str]:
        """Name of each entity by number."""
        return list(self.entities)

    def find(self, document_id: str) -> int:
        """The row of a document; -1 when it is not here."""
        if not len(self):
            return -1
        key = document_id.encode()
        hashed = hash_of(document_id)
        bucket = hashed >> (64 - _bucket_bits(len(self)))
        for row in self.bucket_rows[self.bucket_ends[bucket] : self.bucket_ends[bucket + 1]].tolist():
            if self.hashes[row] == hashed and self._id_bytes(row) == key:
                return int(row)
        return -1

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """The row of each document, shape (len(ids),); -1 for those that are not here."""
        rows = np.full(len(ids), -1, np.int64)
        if not len(self):
            return rows
        digests = b"".join(map(_digest, ids))
        hashes = np.frombuffer(digests, "<u8")
        where, ends = positions(self.bucket_ends, _buckets(hashes, len(self)))
        candidates, asked = self.bucket_rows[where].astype(np.int64), np.repeat(np.arange(len(ids)), np.diff(ends))
        same = self.hashes[candidates] == hashes[asked]
        candidates, asked = candidates[same], asked[same]
        for row, i, name in zip(candidates.tolist(), asked.tolist(), self.ids(candidates), strict=True):
            if name == ids[i]:
                rows[i] = row
        return rows

    def ids(self, rows: Rows) -> list[str]:
        """Ids of rows."""
        return unpacked(*gathered(self.id_bytes, self.id_ends, rows))

    def _id_bytes(self, row: int) -> bytes:
        return self.id_bytes[self.id_ends[row] : self.id_ends[row + 1]].tobytes()

    def bins(self, row: int) -> dict[str, int]:
        """Bin by entity of a row."""
        own = slice(self.opinion_ends[row], self.opinion_ends[row + 1])
        numbers, bins = self.opinion_entities[own].tolist(), self.opinion_bins[own].tolist()
        return {self.names[number]: b for number, b in zip(numbers, bins, strict=True)}

    def bins_on(self, entity: str | None, rows: Rows) -> Numbers:
        """Bin of rows on one entity, shape (len(rows),); -1 where they hold no opinion on it."""
        members, bins = self.members(entity)
        if not len(members):
            return np.full(len(rows), -1, np.int32)
        at = np.minimum(np.searchsorted(members, rows), len(members) - 1)
        return np.where(members[at] == rows, bins[at], np.int32(-1))

    def members(self, entity: str | None) -> Members:
        """The members of an entity; none for None."""
        number = None if entity is None else self.entities.get(entity)
        if number is None:
            return self.member_rows[:0], self.member_bins[:0]
        own = slice(self.member_ends[number], self.member_ends[number + 1])
        return self.member_rows[own], self.member_bins[own]


def hash_of(document_id: str) -> int:
    """64 bits of an id. Python's own hash differs between processes, and a checksum can be made to collide."""
    return int.from_bytes(_digest(document_id), "little")


@lru_cache(maxsize=2**13)  # the candidates of one question are those of the next one like it
def _digest(document_id: str) -> bytes:
    return blake2b(document_id.encode(), digest_size=8).digest()


def _bucket_bits(n: int) -> int:
    return max(1, n.bit_length())


def _buckets(hashes: Hashes, n: int) -> Rows:
    """The bucket, among those of n documents, of each hash."""
    return (hashes >> np.uint64(64 - _bucket_bits(n))).astype(np.int64)


def _buckets_of(hashes: Hashes) -> tuple[Numbers, Ends]:
    """`bucket_rows` and `bucket_ends` of ids with these hashes: about one row a bucket."""
    numbers = _buckets(hashes, len(hashes))
    n_buckets = 2 ** _bucket_bits(len(hashes))
    return np.argsort(numbers, kind="stable").astype(np.int32), ends_of(np.bincount(numbers, minlength=n_buckets))


def _by_entity(entities: Numbers, bins: Numbers, ends: Ends, n_entities: int) -> tuple[Rows, Numbers, Ends]:
    """`member_rows`, `member_bins` and `member_ends` of documents with these opinions."""
    rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    order = np.argsort(entities, kind="stable")
    return rows[order], bins[order], ends_of(np.bincount(entities, minlength=n_entities))


def segment_of(
    ids: Sequence[str],
    opinions: Sequence[Mapping[str, int]],
    document_bins: Sequence[int],
    matrix: Vector,
    hashes: Hashes,
) -> Segment:
    """A segment of documents that are Python objects; row i of `matrix` and `hashes` is document i."""
    names = sorted({entity for bins in opinions for entity in bins})
    numbers = {name: number for number, name in enumerate(names)}
    entities = np.array([numbers[entity] for bins in opinions for entity in bins], np.int32)
    bins = np.array([b for held in opinions for b in held.values()], np.int32)
    held = (entities, bins, ends_of(map(len, opinions)))
    general = np.array(document_bins, np.int32)
    return assembled(matrix, packed(ids), hashes, names, held, general, unordered(matrix.shape[1]))


def assembled(
    matrix: Vector,
    ids: tuple[Bytes, Ends],
    hashes: Hashes,
    names: Sequence[str],
    opinions: tuple[Numbers, Numbers, Ends],
    document_bins: Numbers,
    lists: Lists,
) -> Segment:
    """A segment of what cannot be derived: `opinions` are entities by number, bins and ends; `names` in order."""
    buckets, members = _buckets_of(hashes), _by_entity(*opinions, len(names))
    entities = packed(names)
    return Segment(
        matrix=matrix,
        id_bytes=ids[0],
        id_ends=ids[1],
        hashes=hashes,
        bucket_rows=buckets[0],
        bucket_ends=buckets[1],
        entity_bytes=entities[0],
        entity_ends=entities[1],
        opinion_entities=opinions[0],
        opinion_bins=opinions[1],
        opinion_ends=opinions[2],
        document_bins=document_bins,
        member_rows=members[0],
        member_bins=members[1],
        member_ends=members[2],
        centroids=lists[0],
        list_ends=lists[1],
        spread=lists[2],
    )


def unordered(dimension: int) -> Lists:
    """The lists of documents in no particular order: none."""
    return np.zeros((0, dimension), np.float32), np.zeros(1, np.int64), np.zeros(1, np.float32)


EMPTY = segment_of((), (), (), np.zeros((0, 0), np.float32), np.zeros(0, np.uint64))
