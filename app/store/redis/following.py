"""What changed past a cursor: from the partitions' change logs, or all documents where these do not reach back."""

import logging
from collections.abc import Sequence

from app.store.base import Cursor, IndexEntry, Page
from app.store.redis import layout
from app.store.redis.layout import Keys, LogEntry, PartitionState
from app.store.redis.server import Server

_log = logging.getLogger(__name__)

PAGE = 1000
"""Entries from which on a page is full; one partition is never split."""
SCAN_COUNT = 1000

Place = tuple[str, int]
"""A collection and a partition of it."""
Seen = tuple[int, str]
"""seq and chain of the last change that was followed."""


async def changes_past(cursor: Cursor | None, server: Server, keys: Keys, collections: Sequence[str]) -> Page:
    """The next page of documents that changed; see `app.store.base.Page`."""
    seen: dict[Place, Seen] = dict(cursor or {})
    places = [(name, p) for name in collections for p in range(keys.partitions)]
    told = await server.together([("HGET", keys.partition(*place), "m") for place in places])
    raw_states = dict(zip(places, told, strict=True))
    present = {place: layout.decode_state(raw) if raw else PartitionState() for place, raw in raw_states.items()}
    entries: list[IndexEntry] = []
    for place in [*seen.keys() - present.keys(), *places]:
        state, last = present.get(place, PartitionState()), seen.get(place, (0, ""))
        if last == (state.seq, state.chain):
            continue
        if len(entries) >= PAGE:
            return Page(entries, seen, more=True)
        if place not in seen:
            entries += await _all_documents(server, keys, place)
        else:
            changed = await _logged(server, keys, place, last, state.seq)
            if changed is None:
                again = await changes_past(None, server, keys, collections)
                return Page(again.entries, again.cursor, again.more, reset=True)
            entries += await _documents(server, keys, place, changed)
            if await server.call("HGET", keys.partition(*place), "m") != raw_states[place]:
                # What was read may be newer than the cursor would say, and a crash could still undo it unnoticed.
                continue
        seen[place] = (state.seq, state.chain)
    return Page(entries, seen, more=False)


async def _logged(server: Server, keys: Keys, place: Place, last: Seen, seq: int) -> list[str] | None:
    """Ids that changed past `last`, each once; None when the log tells of another past, or not of all of it.

    The entry at the cursor is read as well: a server that lost its last writes reuses their numbers, and only the
    chain tells that these are others.
    """
    numbers = range(max(last[0], 1), seq + 1)
    if seq < last[0] or len(numbers) > layout.LOG_LENGTH:
        return None
    raw = await server.call("HMGET", keys.partition(*place), *(f"l:{n % layout.LOG_LENGTH}" for n in numbers))
    log: list[LogEntry] = [layout.decode_log(one) for one in raw if one]
    if [one.seq for one in log] != list(numbers) or (last[0] and log[0].chain != last[1]):
        return None
    return list(dict.fromkeys(one.id for one in log if one.seq > last[0]))


async def _documents(server: Server, keys: Keys, place: Place, ids: Sequence[str]) -> list[IndexEntry]:
    """The present state of documents."""
    if not ids:
        return []
    raw = await server.call("HMGET", keys.partition(*place), *(f"{kind}:{name}" for name in ids for kind in "dv"))
    return [_entry(place[0], *told) for told in zip(ids, raw[::2], raw[1::2], strict=True)]


def _entry(collection: str, name: str, document: bytes | None, vector: bytes | None) -> IndexEntry:
    """What an index is told; a document that is not there any more was deleted, and that is forgotten by now."""
    try:
        if document:
            return layout.decode_document(document).entry(collection, name, vector)
    except layout.UNREADABLE as error:  # one bad value must not keep an index from all others
        _log.error("the stored document %r of %r cannot be read: %s", name, collection, error)
    return IndexEntry(collection, name, present=False, excluded=False, bins={}, vector=None)


async def _all_documents(server: Server, keys: Keys, place: Place) -> list[IndexEntry]:
    """All documents of a partition. One that changes meanwhile may be told twice, and comes again by the log."""
    entries: list[IndexEntry] = []
    at = 0
    while True:
        at, found = await server.call("HSCAN", keys.partition(*place), at, "MATCH", "d:*", "COUNT", SCAN_COUNT)
        entries += await _documents(server, keys, place, [field[2:].decode() for field in found])
        if at == 0:
            return entries
