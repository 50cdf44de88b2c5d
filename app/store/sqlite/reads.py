"""What is read, each inside one transaction."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec
import numpy as np

from app.store.base import (
    CollectionSettings,
    Cursor,
    Damage,
    Document,
    Drift,
    ExternalTarget,
    IndexEntry,
    Labels,
    Lookup,
    Page,
    Record,
    StoredDocument,
    Vector,
    VectorSpace,
)
from app.store.sqlite.schema import DOMAIN

PAGE = 1000
"""Documents in one page of changes."""

decode_document = msgspec.json.Decoder(Document).decode
_decode_target = msgspec.json.Decoder(ExternalTarget).decode
_decode_facets = lru_cache(maxsize=65_536)(msgspec.json.Decoder(list[str]).decode)
_decode_settings = lru_cache(maxsize=256)(msgspec.json.Decoder(CollectionSettings).decode)


def collections(db: sqlite3.Connection) -> list[str]:
    return [name for (name,) in db.execute("select name from collection order by name")]


def collection_settings(db: sqlite3.Connection, collection: str) -> CollectionSettings | None:
    row = db.execute("select settings from collection where name = ?", (collection,)).fetchone()
    return _decode_settings(row[0]) if row else None


def documents(db: sqlite3.Connection, collection: str, ids: Sequence[str]) -> dict[str, StoredDocument]:
    rows = db.execute(
        "select id, version, content from document"
        f" where collection = ? and id in ({_placeholders(ids)}) and content is not null",
        (collection, *ids),
    )
    return {name: StoredDocument(name, version, decode_document(content)) for name, version, content in rows}


def lookup(
    db: sqlite3.Connection, collection: str, entity: str | None, ids: Sequence[str], facets: Sequence[str]
) -> Lookup:
    settings = collection_settings(db, collection)
    rows = db.execute(
        "select d.id, o.bin, d.bin, d.excluded from document d"
        " left join opinion o on o.document = d.key and o.entity = ?"
        f" where d.collection = ? and d.id in ({_placeholders(ids)}) and d.content is not null",
        (entity, collection, *ids),
    )
    labels = {name: Labels(own, general, bool(excluded)) for name, own, general, excluded in rows}
    n_bins = len((settings or CollectionSettings()).positions)
    counts = {(name, facet): [0] * n_bins for name in (entity, DOMAIN) for facet in facets}
    for name, facet, b, n in db.execute(
        "select entity, facet, bin, n from population"
        f" where collection = ? and entity in (?, ?) and facet in ({_placeholders(facets)})",
        (collection, entity, DOMAIN, *facets),
    ):
        counts[name, facet][b] = n
    return Lookup(
        settings or CollectionSettings(),
        settings is not None,
        vector_space(db, collection),
        labels,
        [counts[entity, facet] for facet in facets],
        [counts[DOMAIN, facet] for facet in facets],
        targets(db, collection, entity).get(entity) if entity else None,
    )


def targets(db: sqlite3.Connection, collection: str, entity: str | None = None) -> dict[str, ExternalTarget]:
    """The targets given for all entities, or for one."""
    rows = db.execute(
        "select entity, target from target where collection = ?1 and (?2 is null or entity = ?2) order by entity",
        (collection, entity),
    )
    return {name: _decode_target(target) for name, target in rows}


def changes(db: sqlite3.Connection, cursor: Cursor | None) -> Page:
    # Of the page before, and of the first one of this walk: what was deleted since may be forgotten between two pages.
    seq, marks = cursor or (0, ())
    reset = any(db.execute("select 1 from mark where seq = ? and token = ?", mark).fetchone() is None for mark in marks)
    latest: tuple[int, str] = db.execute("select seq, token from mark order by seq desc limit 1").fetchone()
    if reset:
        seq = 0
    page = "from document where seq > ? order by seq limit ?"
    bins: dict[int, dict[str, int]] = defaultdict(dict)
    for key, entity, b in db.execute(
        f"select document, entity, bin from (select key {page}) join opinion on document = key", (seq, PAGE)
    ):
        bins[key][entity] = b
    rows = db.execute(
        f"select key, seq, collection, id, content is not null, excluded, bin, vector {page}", (seq, PAGE)
    ).fetchall()
    entries = [
        IndexEntry(collection, name, bool(present), bool(excluded), bins[key], general, vector and vector_of(vector))
        for key, _, collection, name, present, excluded, general, vector in rows
    ]
    more = len(rows) == PAGE
    if not more:
        return Page(entries, (latest[0], (latest, latest)), more, reset)
    began = marks[1] if marks and not reset else latest
    return Page(entries, (rows[-1][1], (latest, began)), more, reset)


def records(db: sqlite3.Connection, collection: str, after: str) -> list[Record]:
    """A page of all documents, in the order of their ids, past one of them."""
    rows = db.execute(
        "select id, version, content, fingerprint, vector from document where collection = ? and id > ?"
        " order by id limit ?",
        (collection, after, PAGE),
    )
    return [
        Record(name, version, decode_document(content) if content else None, fingerprint, vector or b"")
        for name, version, content, fingerprint, vector in rows
    ]


def drift(db: sqlite3.Connection) -> tuple[list[Drift], int]:
    """Counts that differ, and how many repairs there were before."""
    (repairs,) = db.execute("select repairs from sequence").fetchone()
    recounted: Counter[tuple[str, str, str, int]] = Counter()
    for collection, facets, entity, b in db.execute(
        "select collection, facets, entity, o.bin from opinion o join document on key = document where not excluded"
    ):
        for facet in _decode_facets(facets):
            recounted[collection, facet, entity, b] += 1
            recounted[collection, facet, DOMAIN, b] += 1
    counted: Counter[tuple[str, str, str, int]] = Counter()
    for collection, facet, entity, b, n in db.execute("select collection, facet, entity, bin, n from population"):
        counted[collection, facet, entity, b] = n
    return [
        Drift(*count, counted[count], recounted[count])
        for count in sorted(counted.keys() | recounted.keys())
        if counted[count] != recounted[count]
    ], repairs


def damage(db: sqlite3.Connection) -> list[Damage]:
    """Documents whose content, and entities whose target, cannot be read."""
    # As bytes: what is no UTF-8 cannot even be read as text.
    contents = db.execute(
        "select collection, id, cast(content as blob) from document where content is not null order by collection, id"
    )
    given = db.execute("select collection, entity, cast(target as blob) from target order by collection, entity")
    return [
        *(
            Damage(collection, "content", name)
            for collection, name, raw in contents
            if not _is_readable(decode_document, raw)
        ),
        *(
            Damage(collection, "target", name)
            for collection, name, raw in given
            if not _is_readable(_decode_target, raw)
        ),
    ]


def _is_readable(decode: Callable[[bytes], object], raw: bytes) -> bool:
    try:
        decode(raw)
    except (msgspec.MsgspecError, ValueError):
        return False
    return True


def vector_space(db: sqlite3.Connection, collection: str) -> VectorSpace | None:
    row = db.execute(
        "select dimension, encoder from collection where name = ? and dimension is not null", (collection,)
    ).fetchone()
    return VectorSpace(*row) if row else None


def vector_of(blob: bytes) -> Vector:
    return np.frombuffer(blob, np.float32)


def _placeholders(values: Sequence[str]) -> str:
    # Not json_each: SQLite's JSON functions cut a text at its first NUL, and a name may hold one.
    return ",".join("?" * len(values))
