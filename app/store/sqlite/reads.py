"""What is read, each inside one transaction."""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np

from app.store.base import (
    CollectionSettings,
    Cursor,
    Document,
    Drift,
    IndexEntry,
    Labels,
    Lookup,
    Page,
    StoredDocument,
    Vector,
    VectorSpace,
)
from app.store.sqlite.schema import DOMAIN

PAGE = 1000
"""Documents in one page of changes."""

_decode_document = msgspec.json.Decoder(Document).decode
_decode_settings = lru_cache(maxsize=256)(msgspec.json.Decoder(CollectionSettings).decode)

_RECOUNT = """
with one as (
    select d.collection, o.entity, o.bin from opinion o join document d on d.key = o.document where not d.excluded
), recount as (
    select collection, entity, bin, count(*) as n from one group by 1, 2, 3
    union all select collection, '', bin, count(*) from one group by 1, 3
)
select collection, entity, bin, sum(counted), sum(recounted) from (
    select collection, entity, bin, n as counted, 0 as recounted from population
    union all select collection, entity, bin, 0, n from recount
) group by 1, 2, 3 having sum(counted) <> sum(recounted) order by 1, 2, 3
"""


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
    return {name: StoredDocument(name, version, _decode_document(content)) for name, version, content in rows}


def lookup(db: sqlite3.Connection, collection: str, entity: str | None, ids: Sequence[str]) -> Lookup:
    settings = collection_settings(db, collection)
    rows = db.execute(
        "select d.id, o.bin, d.bin, d.excluded from document d"
        " left join opinion o on o.document = d.key and o.entity = ?"
        f" where d.collection = ? and d.id in ({_placeholders(ids)}) and d.content is not null",
        (entity, collection, *ids),
    )
    labels = {name: Labels(own, general, bool(excluded)) for name, own, general, excluded in rows}
    n_bins = (settings or CollectionSettings()).scale.n_bins
    counts = {entity: [0] * n_bins, DOMAIN: [0] * n_bins}
    for name, b, n in db.execute(
        "select entity, bin, n from population where collection = ? and entity in (?, ?)",
        (collection, entity, DOMAIN),
    ):
        counts[name][b] = n
    space = vector_space(db, collection)
    known = settings is not None
    return Lookup(settings or CollectionSettings(), known, space, labels, counts[entity], counts[DOMAIN])


def changes(db: sqlite3.Connection, cursor: Cursor | None) -> Page:
    seq, mark = cursor or (0, None)
    reset = mark is not None and db.execute("select 1 from mark where seq = ? and token = ?", mark).fetchone() is None
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
        f"select key, seq, collection, id, content is not null, excluded, vector {page}", (seq, PAGE)
    ).fetchall()
    entries = [
        IndexEntry(collection, name, bool(present), bool(excluded), bins[key], vector and _vector_of(vector))
        for key, _, collection, name, present, excluded, vector in rows
    ]
    more = len(rows) == PAGE
    return Page(entries, (rows[-1][1] if more else latest[0], latest), more, reset)


def drift(db: sqlite3.Connection) -> list[Drift]:
    return [Drift(*row) for row in db.execute(_RECOUNT)]


def vector_space(db: sqlite3.Connection, collection: str) -> VectorSpace | None:
    row = db.execute(
        "select dimension, encoder from collection where name = ? and dimension is not null", (collection,)
    ).fetchone()
    return VectorSpace(*row) if row else None


def _vector_of(blob: bytes) -> Vector:
    return np.frombuffer(blob, np.float32)


def _placeholders(values: Sequence[str]) -> str:
    # Not json_each: SQLite's JSON functions cut a text at its first NUL, and a name may hold one.
    return ",".join("?" * len(values))
