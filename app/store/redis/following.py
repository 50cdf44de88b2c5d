"""What changed past a cursor: from the partitions' change logs, or all documents where these do not reach back."""

import logging
from collections.abc import Sequence
from typing import NamedTuple

from app.store.base import Cursor, IndexEntry, Page
from app.store.redis import layout
from app.store.redis.layout import Keys, PartitionState
from app.store.redis.server import Server

_log = logging.getLogger(__name__)

PAGE = 1000
"""Entries from which on a page is full; one partition is never split."""
SCAN_COUNT = 1000

Place = tuple[str, int]
"""A collection and a partition of it."""


class Seen(NamedTuple):
    """What a follower knows of a partition's past: seq and chain of two changes.

    It has followed up to the first. What it was told was read a little later, and may hold changes up to the second: a
    server that loses its last writes must not lose those unnoticed.
    """

    seq: int = 0
    chain: str = ""
    latest_seq: int = 0
    latest_chain: str = ""


async def changes_past(cursor: Cursor | None, server: Server, keys: Keys, collections: Sequence[str]) -> Page:
    """The next page of documents that changed; see `app.store.base.Page`."""
    seen: dict[Place, Seen] = {place: Seen(*known) for place, known in (cursor or {}).items()}
    places = [(name, p) for name in collections for p in range(keys.partitions)]
    told = await server.together([("HGET", keys.partition(*place), "m") for place in places])
    states = {place: _state(raw) for place, raw in zip(places, told, strict=True)}
    entries: list[IndexEntry] = []
    for place in [*seen.keys() - states.keys(), *places]:
        state, last = states.get(place, layout.NEW), seen.get(place, Seen())
        if last == (state.seq, state.chain, state.seq, state.chain):
            continue
        if len(entries) >= PAGE:
            return Page(entries, seen, more=True)
        if place not in seen:
            found, latest = await _all_documents(server, keys, place)
        else:
            changed = await _logged(server, keys, place, last, state.seq)
            if changed is None:
                again = await changes_past(None, server, keys, collections)
                return Page(again.entries, again.cursor, again.more, reset=True)
            found, latest = await _documents(server, keys, place, changed)
        entries += found
        seen[place] = Seen(state.seq, state.chain, latest.seq, latest.chain)
    return Page(entries, seen, more=False)


async def _logged(server: Server, keys: Keys, place: Place, last: Seen, seq: int) -> list[str] | None:
    """Ids that changed past `last`, each once; None when the log tells of another past, or not of all of it.

    The entries that the cursor knows are read as well: a server that lost its last writes reuses their numbers, and
    only the chain tells that these are others.
    """
    numbers = range(max(last.seq, 1), seq + 1)
    if seq < last.latest_seq or len(numbers) > layout.LOG_LENGTH:
        return None
    raw = await server.call("HMGET", keys.partition(*place), *(f"l:{n % layout.LOG_LENGTH}" for n in numbers))
    try:
        log = {one.seq: one for one in map(layout.decode_log, filter(None, raw))}
    except layout.UNREADABLE:
        return None
    known = [(last.seq, last.chain), (last.latest_seq, last.latest_chain)]
    if list(log) != list(numbers) or any(n and log[n].chain != chain for n, chain in known):
        return None
    return list(dict.fromkeys(one.id for one in log.values() if one.seq > last.seq))


async def _documents(
    server: Server, keys: Keys, place: Place, ids: Sequence[str]
) -> tuple[list[IndexEntry], PartitionState]:
    """The present state of documents, and of the partition at that moment."""
    fields = [f"{kind}:{name}" for name in ids for kind in "dv"]
    state, *raw = await server.call("HMGET", keys.partition(*place), "m", *fields)
    entries = [_entry(place[0], *told) for told in zip(ids, raw[::2], raw[1::2], strict=True)]
    return entries, _state(state)


def _state(raw: bytes | None) -> PartitionState:
    return layout.NEW if raw is None else layout.decode_state(raw)


def _entry(collection: str, name: str, document: bytes | None, vector: bytes | None) -> IndexEntry:
    """What an index is told; a document that is not there any more was deleted, and that is forgotten by now."""
    try:
        if document:
            return layout.decode_document(document).entry(collection, name, vector)
    except layout.UNREADABLE as error:  # one bad value must not keep an index from all others
        _log.error("the stored document %r of %r cannot be read: %s", name, collection, error)
    return IndexEntry(collection, name, present=False, excluded=False, bins={}, document_bin=None, vector=None)


async def _all_documents(server: Server, keys: Keys, place: Place) -> tuple[list[IndexEntry], PartitionState]:
    """All documents of a partition, and its state after the last of them.

    One that changes meanwhile may be told twice, and comes again by the log.
    """
    entries: list[IndexEntry] = []
    at = 0
    while True:
        at, found = await server.call("HSCAN", keys.partition(*place), at, "MATCH", "d:*", "COUNT", SCAN_COUNT)
        some, state = await _documents(server, keys, place, [field[2:].decode() for field in found])
        entries += some
        if at == 0:
            return entries, state
