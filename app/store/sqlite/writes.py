"""What is written, each inside one transaction of the only writer."""

import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from secrets import token_hex

import msgspec

from app.errors import CollectionChangedError
from app.store.base import MAX_VERSION, Change, CollectionSettings, Outcome, VectorSpace
from app.store.sqlite.reads import collection_settings, vector_space
from app.store.sqlite.schema import DOMAIN

KEPT_MARKS = 1_000_000
"""A follower that is this many changes behind reads all documents anew."""

_encode = msgspec.json.Encoder(order="deterministic").encode


def put_settings(db: sqlite3.Connection, collection: str, settings: CollectionSettings) -> bool:
    before = collection_settings(db, collection)
    holds = db.execute(
        "select 1 from document where collection = ? and content is not null limit 1", (collection,)
    ).fetchone()
    if before and holds and before.positions != settings.positions:
        return False
    _create(db, collection)
    db.execute("update collection set settings = ? where name = ?", (_encode(settings).decode(), collection))
    return True


def _create(db: sqlite3.Connection, collection: str) -> None:
    db.execute(
        "insert into collection (name, settings) values (?, ?) on conflict do nothing",
        (collection, _encode(CollectionSettings()).decode()),
    )


def apply(
    db: sqlite3.Connection,
    collection: str,
    changes: Sequence[Change],
    space: VectorSpace | None,
    positions: tuple[float, ...] | None,
) -> list[Outcome]:
    if any(change.content for change in changes):
        _create(db, collection)
    if positions is not None:
        _check_scale(db, collection, positions)
    if space is not None:
        _fix_vector_space(db, collection, space)
    (seq,) = db.execute("select last from sequence").fetchone()
    before = seq
    counts: Counter[tuple[str, int]] = Counter()
    outcomes: list[Outcome] = []
    for change in changes:
        outcome = _apply_one(db, collection, change, seq + 1, counts)
        seq += outcome in ("created", "updated", "deleted")
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
    db: sqlite3.Connection, collection: str, change: Change, seq: int, counts: Counter[tuple[str, int]]
) -> Outcome:
    row = db.execute(
        "select key, version, fingerprint, content is not null, excluded, vector is not null from document"
        " where collection = ? and id = ?",
        (collection, change.id),
    ).fetchone()
    key, stored_version, fingerprint, present, was_excluded, has_vector = row or (None, 0, b"", False, False, False)
    content, version = change.content, change.version
    same = present and fingerprint == change.fingerprint
    completes = same and not has_vector and change.vector is not None and version in (None, stored_version)
    if content is None:
        if not present:
            return "absent"
        version = stored_version
    elif completes:
        version = stored_version
    elif version is None:
        if same:
            return "unchanged"
        version = min(max(stored_version + 1, time.time_ns() // 1000), MAX_VERSION)
    elif row and version < stored_version:
        return "stale"
    elif row and version == stored_version:
        return "unchanged" if same else "conflict" if present else "stale"

    if present and not was_excluded:
        counts.subtract(db.execute("select entity, bin from opinion where document = ?", (key,)).fetchall())
    excluded = content is not None and content.excluded
    (key,) = db.execute(
        "insert into document (collection, id, seq, version, fingerprint, content, excluded, bin, vector)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " on conflict (collection, id) do update set seq = excluded.seq, version = excluded.version,"
        " fingerprint = excluded.fingerprint, content = excluded.content, excluded = excluded.excluded,"
        " bin = excluded.bin, vector = excluded.vector returning key",
        (
            collection,
            change.id,
            seq,
            version,
            change.fingerprint,
            _encode(content).decode() if content else None,
            excluded,
            content.bin if content else None,
            change.vector.tobytes() if change.vector is not None else None,
        ),
    ).fetchone()
    db.execute("delete from opinion where document = ?", (key,))
    opinions = [(opinion.entity, opinion.bin) for opinion in content.opinions] if content else []
    db.executemany("insert into opinion values (?, ?, ?)", [(key, *opinion) for opinion in opinions])
    if not excluded:
        counts.update(opinions)
    return "deleted" if content is None else "updated" if present else "created"


def _add_counts(db: sqlite3.Connection, collection: str, counts: Counter[tuple[str, int]]) -> None:
    for (_, b), n in list(counts.items()):
        counts[DOMAIN, b] += n
    changed = {(collection, entity, b): n for (entity, b), n in counts.items() if n}
    # Created at zero, then moved, so that the check on n refuses a count that would fall below zero.
    db.executemany("insert or ignore into population values (?, ?, ?, 0)", changed)
    db.executemany(
        "update population set n = n + ? where collection = ? and entity = ? and bin = ?",
        [(n, *count) for count, n in changed.items()],
    )
    db.executemany("delete from population where collection = ? and entity = ? and bin = ? and n = 0", changed)
