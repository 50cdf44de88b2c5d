"""Where things lie in Redis, and how they are written. No text from outside is ever part of a key.

A collection is S partitions, each one hash (its fields: `apply.lua`). A document lies in partition crc32(id) mod S; an
entity's population is the sum of the partitions' counts. The catalog, a hash too, holds what is fixed: `store`, the
`Format`, and for each collection `c:<name>`, its settings (of the registry a digest only) with the generation of what
labels follow, `r:<name>`, the registry, `f:<name>`, the digest of the one that all stored opinions follow, and
`v:<name>`, its vector space.
"""

from binascii import crc_hqx
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from itertools import count
from typing import NamedTuple, TypeVar
from zlib import crc32

import msgspec
import numpy as np

from app.errors import StoreUnavailableError
from app.store.base import CollectionSettings, Document, ExternalTarget, IndexEntry, Labels, Vector, VectorSpace

T = TypeVar("T")

FORMAT = 2
"""Of what is written; a store of another one is refused."""
PARTITIONS = 16
"""S of a new store; a partition should stay below 30,000 documents."""
MAX_PARTITIONS = 1024
_SLOTS = 16_384
"""Of a Redis Cluster; a slot is where a key lies."""
LOG_LENGTH = 4096
"""Changes that a partition remembers for its followers."""


class Format(msgspec.Struct, frozen=True):
    """What all of a store's data follow."""

    format: int
    partitions: int


class DocumentRecord(msgspec.Struct, frozen=True, array_like=True):
    """`d:<id>`; `labels` is entity, bin, entity, bin, ..."""

    version: str
    present: int
    fingerprint: str
    excluded: int
    bin: int
    labels: tuple[str | int, ...]
    facets: tuple[str, ...]
    changed_us: int

    @property
    def bins(self) -> dict[str, int]:
        """Bin by entity."""
        return dict(zip(self.labels[::2], self.labels[1::2], strict=True))  # type: ignore[arg-type]

    @property
    def document_bin(self) -> int | None:
        """Bin of the opinion of the whole document."""
        return None if self.bin < 0 else self.bin

    def on(self, entity: str | None) -> Labels:
        """What it says on one entity."""
        labels = self.labels
        own = labels[labels.index(entity) + 1] if entity in labels else None
        return Labels(own, self.document_bin, bool(self.excluded))  # type: ignore[arg-type] # behind an entity, a bin

    def entry(self, collection: str, document_id: str, vector: bytes | None) -> IndexEntry:
        """The same for an index."""
        return IndexEntry(
            collection,
            document_id,
            bool(self.present),
            bool(self.excluded),
            self.bins,
            self.document_bin,
            vector_of(vector),
        )


class PartitionState(msgspec.Struct, frozen=True, array_like=True):
    """`m`: how many changes there were, a hash over all of them, and the number of documents."""

    seq: int
    chain: str
    documents: int


NEW = PartitionState(0, "", 0)
"""Of a partition that was never written to."""


class LogEntry(msgspec.Struct, frozen=True, array_like=True):
    """`l:<n>`."""

    seq: int
    chain: str
    id: str


class FixedSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """`c:<name>`: the registry may be long, so whoever reads the settings often reads only whether it has changed."""

    settings: CollectionSettings
    registry_digest: str
    generation: int = 0


class Standing(NamedTuple):
    """Settings as the catalog has them.

    `generation` grows with every change of what labels follow: scale and registry. Each generation has one scale and
    one registry, and a partition takes changes of no other than its own, and never an older one again: so nobody who
    was slow can write what was true before.
    """

    settings: CollectionSettings
    generation: int = 0
    raw: bytes = b""
    """As they are written there; empty when they are not."""

    @property
    def rules(self) -> bytes:
        """All that labels follow; see `apply.lua`, field `s`."""
        generation = b"|%d" % self.generation if self.generation else b""
        return b"|".join(rules_of(self.settings)) + generation


UNREADABLE = (msgspec.MsgspecError, ValueError)
"""What reading a value raises that another version wrote, or that was damaged."""


def _decoder(what: str, kind: Callable[..., T]) -> Callable[[bytes], T]:
    """Reads a value that nothing goes on without."""
    decode: Callable[[bytes], T] = msgspec.json.Decoder(kind).decode

    def decoded(raw: bytes) -> T:
        try:
            return decode(raw)
        except UNREADABLE as error:
            raise StoreUnavailableError(f"a stored {what} cannot be read: {error}; see warp-rerank verify") from error

    return decoded


encode = msgspec.json.Encoder(order="deterministic").encode
decode_format = _decoder("format", Format)
decode_settings = _decoder("collection's settings", FixedSettings)
decode_registry = _decoder("registry", dict[str, tuple[str, ...]])
decode_target = _decoder("target", ExternalTarget)
decode_space = _decoder("vector space", VectorSpace)
decode_state = _decoder("state of a partition", PartitionState)
decode_content = msgspec.json.Decoder(Document).decode
decode_document = msgspec.json.Decoder(DocumentRecord).decode
decode_log = msgspec.json.Decoder(LogEntry).decode


def readable_document(raw: bytes) -> DocumentRecord | None:
    """A document; None of one that cannot be read, whose opinions nobody can know, so that they do not count."""
    try:
        return decode_document(raw)
    except UNREADABLE:
        return None


def is_content(raw: bytes | None) -> bool:
    """Whether a document's content can be read."""
    try:
        decode_content(raw or b"")
    except UNREADABLE:
        return False
    return True


def is_target(raw: bytes) -> bool:
    """Whether an external target can be read."""
    try:
        decode_target(raw)
    except StoreUnavailableError:
        return False
    return True


def unreadable(collection: str, name: str, error: Exception) -> StoreUnavailableError:
    """Says which value another version wrote, or was damaged."""
    return StoreUnavailableError(
        f"what is stored under {name!r} in collection {collection!r} cannot be read: {error}; see warp-rerank verify"
    )


class Keys:
    """The keys of one store.

    Parameters
    ----------
    prefix : the operator's; two prefixes never touch.
    """

    def __init__(self, prefix: str, partitions: int) -> None:
        self.catalog = catalog_key(prefix)
        self.partitions = partitions
        self._prefix = prefix

    def partition_of(self, document_id: str) -> int:
        """The partition that a document lies in."""
        return crc32(document_id.encode()) % self.partitions

    def partition(self, collection: str, p: int) -> str:
        """The key of a partition; of the collection's name it has a hash only."""
        return _partition_key(self._prefix, sha256(collection.encode()).hexdigest()[:32], p, self.partitions)


@lru_cache(maxsize=65_536)
def _partition_key(prefix: str, collection: str, p: int, partitions: int) -> str:
    """A key whose slot lies in the p-th of S equal ranges, so that the masters of a cluster share the partitions."""
    tags = (f"{collection}.{p}.{k}" for k in count())
    tag = next(tag for tag in tags if crc_hqx(tag.encode(), 0) % _SLOTS * partitions // _SLOTS == p)
    return f"{prefix}:{{{tag}}}"


def catalog_key(prefix: str) -> str:
    """The key of the catalog."""
    return f"{prefix}:catalog"


def counts_of(raw: bytes | None, n_bins: int) -> list[int]:
    """A count, by bin.

    Raises
    ------
    ValueError : it is none, or of another scale.
    """
    counts = [int(n) for n in raw.split(b",")] if raw else []
    if not any(counts):  # on whatever scale
        return [0] * n_bins
    if len(counts) != n_bins:
        raise ValueError(f"{len(counts)} bins, not {n_bins}")
    return counts


def digest_of(settings: CollectionSettings) -> str:
    """The same for the same registry."""
    return sha256(encode(settings.registry)).hexdigest()[:16]


def rules_of(settings: CollectionSettings) -> tuple[bytes, bytes]:
    """What labels follow: the positions of the scale, and a digest of the registry."""
    return encode(settings.positions), digest_of(settings).encode()


def vector_of(raw: bytes | None) -> Vector | None:
    """`v:<id>`."""
    return np.frombuffer(raw, np.float32) if raw else None
