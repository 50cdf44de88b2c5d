"""What is written, each inside one transaction of the only writer."""

import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from secrets import token_hex

import msgspec

from app.errors import CollectionChangedError
from app.store.base import (
    MAX_VERSION,
    Change,
    CollectionSettings,
    Drift,
    ExternalTarget,
    Outcome,
    VectorSpace,
)
from app.store.facets import facets_of
from app.store.sqlite.reads import collection_settings, decode_document, vector_of, vector_space
from app.store.sqlite.schema import DOMAIN

_log = logging.getLogger(__name__)

Counts = Counter[tuple[str, str, int]]
"""By entity, facet and bin."""

KEPT_MARKS = 1_000_000
"""A follower that is this many changes behind reads all documents anew."""

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode_facets = msgspec.json.Decoder(list[str]).decode


def put_settings(db: sqlite3.Connection, collection: str, settings: CollectionSettings) -> bool:
    before = collection_settings(db, collection)
    holds = db.execute(
        "select 1 from document where collection = ? and content is not null limit 1", (collection,)
    ).fetchone()
    if before and holds and before.positions != settings.positions:
        return False
    _create(db, collection)
    db.execute("update collection set settings = ? where name = ?", (_encode(settings).decode(), collection))
    if before:
        _relabel(db, collection, before, settings)
        _move_targets(db, collection, settings)
    return True


def _create(db: sqlite3.Connection, collection: str) -> None:
    db.execute(
        "insert into collection (name, settings) values (?, ?) on conflict do nothing",
        (collection, _encode(CollectionSettings()).decode()),
    )


def _relabel(db: sqlite3.Connection, collection: str, before: CollectionSettings, after: CollectionSettings) -> None:
    """Store anew the documents with opinions that may count under another entity by now."""
    for entity in before.renamed(after):
        holders = db.execute(
            "select id, version, fingerprint, content from document join opinion on document = key"
            " where entity = ? and collection = ?",
            (entity, collection),
        ).fetchall()
        changes = [
            Change(name, decode_document(content), fingerprint, version=version)
            for name, version, fingerprint, content in holders
        ]
        apply(db, collection, changes, None, None)


def _move_targets(db: sqlite3.Connection, collection: str, settings: CollectionSettings) -> None:
    """Give targets of names that are another entity's by now to that one, or forget them where it has one."""
    for alias, target in db.execute(
        "select entity, target from target where collection = ? order by entity", (collection,)
    ).fetchall():
        entity = settings.aliases.get(alias)
        if entity is None:
            continue
        db.execute("delete from target where collection = ? and entity = ?", (collection, alias))
        db.execute("insert or ignore into target values (?, ?, ?)", (collection, entity, target))
        (kept,) = db.execute(
            "select target from target where collection = ? and entity = ?", (collection, entity)
        ).fetchone()
        if kept != target:
            _log.warning("the target given for %r is forgotten: that is %r by now, which has another", alias, entity)


def put_target(db: sqlite3.Connection, collection: str, entity: str, target: ExternalTarget | None) -> bool:
    settings = collection_settings(db, collection) or CollectionSettings()
    entity = settings.aliases.get(entity, entity)
    had = db.execute("delete from target where collection = ? and entity = ?", (collection, entity)).rowcount == 1
    if target:
        _create(db, collection)
        db.execute("insert into target values (?, ?, ?)", (collection, entity, _encode(target).decode()))
    return had


def apply(
    db: sqlite3.Connection,
    collection: str,
    changes: Sequence[Change],
    space: VectorSpace | None,
    positions: tuple[float, ...] | None,
) -> list[Outcome]:
    if any(change.leaves_something for change in changes):
        _create(db, collection)
    if positions is not None:
        _check_scale(db, collection, positions)
    if space is not None:
        _fix_vector_space(db, collection, space)
    settings = collection_settings(db, collection) or CollectionSettings()
    (seq,) = db.execute("select last from sequence").fetchone()
    before = seq
    counts: Counts = Counter()
    outcomes: list[Outcome] = []
    for change in changes:
        outcome, written = _apply_one(db, collection, settings, change, seq + 1, counts)
        seq += written
        outcomes.append(outcome)
    if seq != before:
        db.execute("update sequence set last = ?", (seq,))
        db.execute("insert into mark values (?, ?)", (seq, token_hex(8)))
        db.execute("delete from mark where seq <= ?", (seq - KEPT_MARKS,))
    _add_counts(db, collection, counts)
    return outcomes


def _check_scale(db: sqlite3.Connection, collection: str, positions: tuple[float, ...]) -> None:
    settings = collection_settings(db, collection)
    if settings is not None and settings.positions != positions:
        raise CollectionChangedError(f"the scale of {collection!r} has changed to {settings.positions}")


def _fix_vector_space(db: sqlite3.Connection, collection: str, space: VectorSpace) -> None:
    db.execute(
        "update collection set dimension = ?, encoder = ? where name = ? and dimension is null",
        (space.dimension, space.encoder, collection),
    )
    fixed = vector_space(db, collection)
    if fixed != space:
        raise CollectionChangedError(f"the vectors of {collection!r} are {fixed}, not {space}")


def _apply_one(
    db: sqlite3.Connection, collection: str, settings: CollectionSettings, change: Change, seq: int, counts: Counts
) -> tuple[Outcome, bool]:
    """The outcome, and whether the document's row was written."""
    row = db.execute(
        "select key, version, fingerprint, cast(content as blob), excluded, facets, vector from document"
        " where collection = ? and id = ?",
        (collection, change.id),
    ).fetchone()
    key, stored_version, fingerprint, raw, was_excluded, was_in, vector = row or (None, 0, b"", None, 0, "[]", None)
    content, version, present = change.content, change.version, raw is not None
    written = _encode(content) if content else None
    stored = db.execute("select entity, bin from opinion where document = ?", (key,)).fetchall() if present else []
    opinions = sorted(settings.labels(content).items()) if content else []
    same = present and content is not None and fingerprint == change.fingerprint
    if same and change.vector is None:
        change = msgspec.structs.replace(change, vector=vector and vector_of(vector))
    # The same content is stored anew where it brings the vector that was missing, has other labels by now, or what is
    # stored has been damaged.
    completes = same and version in (None, stored_version)
    completes = completes and (
        (vector is None and change.vector is not None) or opinions != sorted(stored) or written != raw
    )
    if completes or (content is None and version is None):
        version = stored_version
        if content is None and not present:
            return "absent", False
    elif version is None:
        if same:
            return "unchanged", False
        version = min(max(stored_version + 1, time.time_ns() // 1000), MAX_VERSION)
    elif row and version < stored_version:
        return "stale", False
    elif row and version == stored_version:
        return _of_equal_version(change, same, present), False

    if present and not was_excluded:
        _count(counts, _decode_facets(was_in), stored, -1)
    excluded = content is not None and content.excluded
    facets = facets_of(content.timestamp, content.attributes) if content else []
    (key,) = db.execute(
        "insert into document"
        " (collection, id, seq, version, fingerprint, content, excluded, bin, facets, vector, changed_us)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " on conflict (collection, id) do update set seq = excluded.seq, version = excluded.version,"
        " fingerprint = excluded.fingerprint, content = excluded.content, excluded = excluded.excluded,"
        " bin = excluded.bin, facets = excluded.facets, vector = excluded.vector, changed_us = excluded.changed_us"
        " returning key",
        (
            collection,
            change.id,
            seq,
            version,
            change.fingerprint,
            written and written.decode(),
            excluded,
            content.bin if content else None,
            _encode(facets).decode(),
            change.vector.tobytes() if change.vector is not None else None,
            time.time_ns() // 1000,
        ),
    ).fetchone()
    db.execute("delete from opinion where document = ?", (key,))
    db.executemany("insert into opinion values (?, ?, ?)", [(key, *opinion) for opinion in opinions])
    if not excluded:
        _count(counts, facets, opinions, 1)
    if content is None:
        return ("deleted" if present else "absent"), True
    return ("updated" if present else "created"), True


def _of_equal_version(change: Change, same: bool, present: bool) -> Outcome:
    if change.content is None:
        return "conflict" if present else "absent"
    return "unchanged" if same else "conflict" if present else "stale"


def _count(counts: Counts, facets: Sequence[str], opinions: Sequence[tuple[str, int]], by: int) -> None:
    for facet in facets:
        for entity, b in opinions:
            counts[entity, facet, b] += by
            counts[DOMAIN, facet, b] += by


def _add_counts(db: sqlite3.Connection, collection: str, counts: Counts) -> None:
    changed = [(collection, *count) for count, n in counts.items() if n]
    # Created at zero, then moved, so that the check on n refuses a count that would fall below zero.
    db.executemany("insert or ignore into population values (?, ?, ?, ?, 0)", changed)
    db.executemany(
        "update population set n = n + ? where collection = ? and entity = ? and facet = ? and bin = ?",
        [(counts[count[1:]], *count) for count in changed],
    )
    db.executemany(
        "delete from population where collection = ? and entity = ? and facet = ? and bin = ? and n = 0", changed
    )


def repair(db: sqlite3.Connection, drifts: Sequence[Drift], repairs: int) -> bool:
    """Add what the recount found missing; False when others have mended since, so that it is to be found anew.

    What was written since the recount moved both, count and recount, so the differences still hold.
    """
    if db.execute("update sequence set repairs = repairs + 1 where repairs = ?", (repairs,)).rowcount == 0:
        return False
    for collection in {drift.collection for drift in drifts}:
        missing = {
            (drift.entity, drift.facet, drift.bin): drift.recounted - drift.counted
            for drift in drifts
            if drift.collection == collection
        }
        _add_counts(db, collection, Counter(missing))
    return True


def purge(db: sqlite3.Connection, before_us: int) -> int:
    """Forget documents deleted before a time. Counts of zero are never kept."""
    gone = db.execute(
        "delete from document where content is null and changed_us < ? returning seq", (before_us,)
    ).fetchall()
    if gone:
        # A follower that has not yet seen these deletions could not see them any more: it is to read all anew.
        db.execute(
            "delete from mark where seq < ? and seq < (select max(seq) from mark)", (max(seq for (seq,) in gone),)
        )
    return len(gone)
