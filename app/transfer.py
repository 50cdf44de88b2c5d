"""A whole collection as a file, for backups and for moves from one store to another.

The file is gzipped JSON Lines: a header with what the collection fixes and the external targets, then each document
with its version, in the order of the ids; deleted ones are there as long as their versions are remembered. The same
content gives the same bytes, whichever store it came from.
"""

import gzip
from collections.abc import AsyncIterator, Iterator
from typing import BinaryIO

import msgspec
import numpy as np

from app.errors import InvalidRequestError
from app.names import checked_name, entity_key
from app.registry import checked_registry
from app.schemas import MAX_ATTRIBUTES, MAX_OPINIONS
from app.store.base import (
    MAX_VERSION,
    CollectionSettings,
    Document,
    ExternalTarget,
    Record,
    Store,
    VectorSpace,
)
from app.store.facets import day_of
from warp_core import InvalidInputError, TargetDistribution

FORMAT = 1
BATCH = 256


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line."""

    format: int
    settings: CollectionSettings
    space: VectorSpace | None
    targets: dict[str, ExternalTarget]


_encode = msgspec.json.Encoder(order="deterministic").encode
_header = msgspec.json.Decoder(Header).decode
_record = msgspec.json.Decoder(Record).decode


async def exported(store: Store, collection: str) -> AsyncIterator[bytes]:
    """The lines of a collection's file.

    Raises
    ------
    InvalidRequestError : there is no such collection.
    """
    settings = await store.settings(collection)
    if settings is None:
        raise InvalidRequestError.at("/collection", f"there is no collection {collection!r}")
    space, targets = await store.vector_space(collection), await store.targets(collection)
    yield _encode(Header(FORMAT, settings, space, targets))
    async for record in store.records(collection):
        yield _encode(record)


async def imported(store: Store, collection: str, lines: Iterator[bytes]) -> AsyncIterator[int]:
    """Fill a collection that is not there yet from the lines of a file; after each batch, how many documents it had.

    Broken off, it is to be deleted with its store, or finished by the same again.

    Raises
    ------
    InvalidRequestError : the file is none of ours, or is damaged, or the collection holds something else already.
    """
    header = _read_header(lines)
    before = await store.settings(collection)
    if before is not None and before != header.settings:
        raise InvalidRequestError.at("/collection", f"{collection!r} is there already, with other settings")
    records = _read_records(lines, header)
    there, batch = await _read_before(store, collection, header, records)
    if before is None:
        await store.put_settings(collection, header.settings)
    yield there
    for record in records:
        batch.append(record)
        if len(batch) >= BATCH:
            yield await _store(store, collection, header, batch)
            batch = []
    yield await _store(store, collection, header, batch)
    for entity, target in header.targets.items():
        await store.put_target(collection, entity, target)


async def _read_before(
    store: Store, collection: str, header: Header, records: Iterator[Record]
) -> tuple[int, list[Record]]:
    """How many documents an interrupted import has left there, and those before the last of them that it has not.

    It goes in the order of the ids, and in the middle of one batch at most.
    """
    there, missing = 0, list[Record]()
    for entity, target in (await store.targets(collection)).items():
        if header.targets.get(entity) != target:
            raise InvalidRequestError.at("/collection", f"holds another target for {entity!r} already")
    async for stored in store.records(collection):
        record = next(records, None)
        while record and record.id != stored.id and len(missing) < BATCH:
            missing.append(record)
            record = next(records, None)
        if record != stored:
            raise InvalidRequestError.at("/collection", f"holds another {stored.id!r} already")
        there += 1
    return there, missing


async def _store(store: Store, collection: str, header: Header, batch: list[Record]) -> int:
    changes = [record.change for record in batch]
    outcomes = await store.apply(collection, changes, header.space, header.settings.positions)
    for record, outcome in zip(batch, outcomes, strict=True):
        if outcome in ("stale", "conflict"):
            raise InvalidRequestError.at("/collection", f"has got another {record.id!r} meanwhile ({outcome})")
    return len(batch)


def _read_header(lines: Iterator[bytes]) -> Header:
    try:
        header = _header(next(lines, b""))
        _check_header(header)
    except (msgspec.MsgspecError, ValueError, InvalidRequestError) as error:
        raise InvalidRequestError.at("", f"the file does not begin as an export does: {error}") from error
    if header.format != FORMAT:
        raise InvalidRequestError.at("", f"the file is of format {header.format}, this version reads {FORMAT}")
    return header


def _check_header(header: Header) -> None:
    _ = header.settings.scale  # checked here
    if checked_registry(header.settings.registry) != header.settings.registry:
        raise InvalidInputError("registry", "its names must be keys, in order")
    for entity, target in header.targets.items():
        _check_key(entity)
        TargetDistribution.of_weights(target.weights)
        if len(target.weights) != len(target.positions):
            raise InvalidInputError("targets", f"{len(target.positions)} weights are needed for {entity!r}")


def _read_records(lines: Iterator[bytes], header: Header) -> Iterator[Record]:
    """The records of the lines, checked as what an ingest brings is."""
    for number, line in enumerate(lines, 2):
        try:
            record = _record(line)
            _check(record, header)
        except (msgspec.MsgspecError, ValueError) as error:
            raise InvalidRequestError.at("", f"line {number} is no document of this collection: {error}") from error
        yield record


def _check(record: Record, header: Header) -> None:
    checked_name("id", record.id)
    if not 0 <= record.version <= MAX_VERSION:
        raise InvalidInputError("version", f"must lie in 0 .. {MAX_VERSION}, got {record.version}")
    dimension = header.space.dimension if header.space else 0
    size = len(record.vector)
    if size and not (size == 4 * dimension and np.isfinite(np.frombuffer(record.vector, np.float32)).all()):
        raise InvalidInputError("vector", f"must hold {dimension} finite numbers of 4 bytes")
    if record.content:
        _check_content(record.content, header.settings.scale.n_bins)


def _check_content(content: Document, n_bins: int) -> None:
    entities = [opinion.entity for opinion in content.opinions]
    for entity in entities:
        _check_key(entity)
    if len(set(entities)) < len(entities):
        raise InvalidInputError("opinions", "must be on different entities")
    for b in (content.bin, *(opinion.bin for opinion in content.opinions)):
        if b is not None and not 0 <= b < n_bins:
            raise InvalidInputError("bin", f"must lie in 0 .. {n_bins - 1}, got {b}")
    for limit, held in ((MAX_OPINIONS, content.opinions), (MAX_ATTRIBUTES, content.attributes)):
        if len(held) > limit:
            raise InvalidInputError(
                "opinions and attributes", f"at most {MAX_OPINIONS} and {MAX_ATTRIBUTES} are allowed"
            )
    if content.timestamp is not None:
        day_of(content.timestamp)


def _check_key(entity: str) -> None:
    if entity_key("entity", entity) != entity:
        raise InvalidInputError("entity", f"{entity!r} is no key; its key is {entity_key('entity', entity)!r}")


def compressed(file: BinaryIO) -> gzip.GzipFile:
    """The file, gzipped, whose bytes then tell neither its name nor the time."""
    return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
