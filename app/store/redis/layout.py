"""Where things lie in Redis, and how they are written. No text from outside is ever part of a key.

A collection is S partitions, each one hash (its fields: `apply.lua`). A document lies in partition crc32(id) mod S; an
entity's population is the sum of the partitions' counts. The catalog, a hash too, holds what is fixed: `partitions`,
and for each collection `c:<name>`, its settings, and `v:<name>`, its vector space.
"""

from hashlib import sha256
from typing import Any
from zlib import crc32

import msgspec
import numpy as np

from app.store.base import CollectionSettings, Document, IndexEntry, Labels, Vector, VectorSpace

Server = Any
"""The driver's client. It types answers as bytes or text; ours gives bytes."""

PARTITIONS = 16
"""S of a new store; a partition should stay below 30,000 documents."""
LOG_LENGTH = 4096
"""Changes that a partition remembers for its followers."""


class DocumentRecord(msgspec.Struct, frozen=True, array_like=True):
    """`d:<id>`; `opinions` is entity, bin, entity, bin, ..."""

    version: str
    present: int
    fingerprint: str
    excluded: int
    bin: int
    opinions: tuple[str | int, ...]

    @property
    def bins(self) -> dict[str, int]:
        """Bin by entity."""
        return dict(zip(self.opinions[::2], self.opinions[1::2], strict=True))  # type: ignore[arg-type]

    def labels(self, entity: str | None) -> Labels:
        """What it says on one entity."""
        own = None if entity is None else self.bins.get(entity)
        return Labels(own, None if self.bin < 0 else self.bin, bool(self.excluded))

    def entry(self, collection: str, document_id: str, vector: bytes | None) -> IndexEntry:
        """The same for an index."""
        return IndexEntry(
            collection, document_id, bool(self.present), bool(self.excluded), self.bins, vector_of(vector)
        )


class PartitionState(msgspec.Struct, frozen=True, array_like=True):
    """`m`: how many changes there were, a hash over all of them, and the number of documents."""

    seq: int = 0
    chain: str = ""
    documents: int = 0


class LogEntry(msgspec.Struct, frozen=True, array_like=True):
    """`l:<n>`."""

    seq: int
    chain: str
    id: str


encode = msgspec.json.Encoder(order="deterministic").encode
decode_settings = msgspec.json.Decoder(CollectionSettings).decode
decode_space = msgspec.json.Decoder(VectorSpace).decode
decode_content = msgspec.json.Decoder(Document).decode
decode_document = msgspec.json.Decoder(DocumentRecord).decode
decode_state = msgspec.json.Decoder(PartitionState).decode
decode_log = msgspec.json.Decoder(LogEntry).decode


class Keys:
    """The keys of one store.

    Parameters
    ----------
    prefix : the operator's; two prefixes never touch.
    """

    def __init__(self, prefix: str) -> None:
        self.catalog = f"{prefix}:catalog"
        self._prefix = prefix

    def partition(self, collection: str, p: int) -> str:
        """The key of a partition; of the collection's name it has a hash only."""
        return f"{self._prefix}:{sha256(collection.encode()).hexdigest()[:32]}:{p}"


def partition_of(document_id: str, partitions: int) -> int:
    """The partition that a document lies in."""
    return crc32(document_id.encode()) % partitions


def counts_of(raw: bytes | None, n_bins: int) -> list[int]:
    """`p:<entity>` as counts by bin."""
    return [int(n) for n in raw.split(b",")] if raw else [0] * n_bins


def vector_of(raw: bytes | None) -> Vector | None:
    """`v:<id>`."""
    return np.frombuffer(raw, np.float32) if raw else None
