"""The tables. A document's row carries `seq`, the store-wide number of its last change: an index follows the store by
asking for rows past the seq it has seen, so no separate change log must be kept or trimmed. A deleted document stays as
a row without content, for as long as its version is remembered.

Each write leaves a mark: a number, and a token that no other write has. A file that was put back to an earlier state
uses numbers again, but not tokens, so a follower knows whether the past that it has seen is this file's past.
"""

VERSION = 2
"""Of the tables; a file with others is refused."""

DOMAIN = ""
"""The counts over all entities stand under this name, which no entity can have."""

SCHEMA = """
create table if not exists collection (
    name text primary key, settings text not null, dimension integer, encoder text
) without rowid;
create table if not exists document (
    key integer primary key, collection text not null, id text not null, seq integer not null,
    version integer not null, fingerprint blob not null, content text,
    excluded integer not null, bin integer, facets text not null, vector blob, changed_us integer not null,
    unique (collection, id)
);
create unique index if not exists document_seq on document (seq);
create index if not exists document_deleted on document (changed_us) where content is null;
create table if not exists opinion (
    document integer not null references document, entity text not null, bin integer not null,
    primary key (document, entity)
) without rowid;
create index if not exists opinion_entity on opinion (entity);
create table if not exists population (
    collection text not null, entity text not null, facet text not null, bin integer not null,
    n integer not null check (n >= 0),
    primary key (collection, entity, facet, bin)
) without rowid;
create table if not exists target (
    collection text not null, entity text not null, target text not null, primary key (collection, entity)
) without rowid;
create table if not exists sequence (last integer not null, repairs integer not null);
insert into sequence select 0, 0 where not exists (select * from sequence);
create table if not exists mark (seq integer primary key, token text not null);
insert or ignore into mark values (0, lower(hex(randomblob(8))));
"""
