"""A whole collection as a file, for backups and for moves from one store to another.

The file is gzipped JSON Lines: a header with what the collection fixes and the external targets, then each document
with its version, in the order of the ids; deleted ones are there as long as their versions are remembered. The same
content gives the same bytes, whichever store it came from.
"""

import gzip
from collections.abc import AsyncIterator, Iterator
from typing import BinaryIO

import msgspec

from app.errors import InvalidRequestError
from app.store.base import CollectionSettings, ExternalTarget, Record, Store, VectorSpace

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
    await store.put_settings(collection, header.settings)
    batch: list[Record] = []
    for number, line in enumerate(lines, 2):
        try:
            batch.append(_record(line))
        except (msgspec.MsgspecError, ValueError) as error:
            raise InvalidRequestError.at("", f"line {number} is no document: {error}") from error
        if len(batch) == BATCH:
            yield await _store(store, collection, header, batch)
            batch = []
    yield await _store(store, collection, header, batch)
    for entity, target in header.targets.items():
        await store.put_target(collection, entity, target)


async def _store(store: Store, collection: str, header: Header, batch: list[Record]) -> int:
    changes = [record.change for record in batch]
    space = header.space if any(change.vector is not None for change in changes) else None
    outcomes = await store.apply(collection, changes, space, header.settings.positions)
    for record, outcome in zip(batch, outcomes, strict=True):
        if outcome in ("stale", "conflict"):
            raise InvalidRequestError.at("/collection", f"holds another {record.id!r} already ({outcome})")
    return len(batch)


def _read_header(lines: Iterator[bytes]) -> Header:
    try:
        header = _header(next(lines, b""))
    except (msgspec.MsgspecError, ValueError) as error:
        raise InvalidRequestError.at("", f"the file does not begin as an export does: {error}") from error
    if header.format != FORMAT:
        raise InvalidRequestError.at("", f"the file is of format {header.format}, this version reads {FORMAT}")
    return header


def compressed(file: BinaryIO) -> gzip.GzipFile:
    """The file, gzipped, whose bytes then tell neither its name nor the time."""
    return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
