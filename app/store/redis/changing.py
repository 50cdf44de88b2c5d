"""How changes reach the partitions: in calls of bounded size, under the rules that the collection has by then."""

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from app.errors import CollectionChangedError
from app.store.base import Change, CollectionSettings, Outcome, VectorSpace
from app.store.facets import facets_of
from app.store.redis import layout
from app.store.redis.catalog import Catalog
from app.store.redis.layout import Keys, rules_of
from app.store.redis.server import Script, Server

CHANGES_A_CALL = 50
"""Larger calls would hold up the server for other callers."""
FIELDS_A_CALL = 3500
"""More than about 4,000 fields do not fit what Lua can unpack into one command."""
ATTEMPTS = 5
"""How often changes are sent under rules that have changed meanwhile."""
SCAN_COUNT = 1000

_APPLY, _CLAIM = Script("apply.lua"), Script("claim.lua")


async def apply(
    server: Server,
    catalog: Catalog,
    collection: str,
    changes: Sequence[Change],
    space: VectorSpace | None,
    positions: tuple[float, ...] | None,
) -> list[Outcome]:
    """See `app.store.base.Store.apply`."""
    keys = await catalog.keys()
    outcomes: list[Outcome] = ["absent"] * len(changes)
    create = any(change.content for change in changes)
    todo = list(range(len(changes)))
    for _ in range(ATTEMPTS):
        settings = await catalog.fixed_for(collection, space, positions, create)
        if settings is None or not todo:
            return outcomes
        todo = await _send(server, catalog, keys, collection, settings, changes, todo, outcomes)
        if todo and (await catalog.fixed(collection))[0] == settings:
            # The partition lags behind the catalog: whoever changed the rules was broken off.
            partitions = {keys.partition_of(changes[i].id) for i in todo}
            if not await claimed(server, keys, collection, settings, sorted(partitions)):
                break
    if todo:
        raise CollectionChangedError(f"the scale or registry of {collection!r} changes all the time")
    return outcomes


async def _send(
    server: Server,
    catalog: Catalog,
    keys: Keys,
    collection: str,
    settings: CollectionSettings,
    changes: Sequence[Change],
    todo: Sequence[int],
    outcomes: list[Outcome],
) -> list[int]:
    """Apply those changes, note their outcomes, and tell which were made for other rules than their partition has."""
    head = [
        *(rules_of(settings)[1], len(settings.positions), layout.LOG_LENGTH, time.time_ns() // 1000),
        int(catalog.confirm is not None),
    ]
    batches = _batches(changes, todo, keys)
    calls = [
        (keys.partition(collection, p), [*head, *(a for i in batch for a in _arguments(changes[i], settings))])
        for p, batch in batches
    ]
    refused = []
    for (_, batch), answer in zip(batches, await server.run(_APPLY, calls, catalog.confirm), strict=True):
        if isinstance(answer, bytes):
            refused += batch
            continue
        for i, outcome in zip(batch, answer, strict=True):
            outcomes[i] = outcome.decode()
    return sorted(refused)


async def claimed(
    server: Server, keys: Keys, collection: str, settings: CollectionSettings, partitions: Sequence[int] | None = None
) -> bool:
    """Ask partitions to take the rules of these settings, which each does unless it holds documents on another scale.

    From then on it refuses changes that were made for others. Whether all have taken them.
    """
    places = range(keys.partitions) if partitions is None else partitions
    calls = [(keys.partition(collection, p), rules_of(settings)) for p in places]
    return all(await server.run(_CLAIM, calls))


async def relabel(
    server: Server,
    catalog: Catalog,
    collection: str,
    before: CollectionSettings,
    after: CollectionSettings,
) -> None:
    """Store anew the documents with opinions that may count under another entity by now."""
    moved = set(before.renamed(after))
    if not moved:
        return
    keys = await catalog.keys()
    for p in range(keys.partitions):
        key, at = keys.partition(collection, p), 0
        while True:
            at, found = await server.call("HSCAN", key, at, "MATCH", "d:*", "COUNT", SCAN_COUNT)
            holders = {
                field[2:].decode(): record
                for field, raw in found.items()
                if (record := layout.decode_document(raw)).present and not moved.isdisjoint(record.bins)
            }
            contents = await server.call("HMGET", key, *(f"c:{name}" for name in holders)) if holders else []
            changes = [
                Change(name, layout.decode_content(raw), bytes.fromhex(record.fingerprint), None, int(record.version))
                for (name, record), raw in zip(holders.items(), contents, strict=True)
                if raw
            ]
            await apply(server, catalog, collection, changes, None, None)
            if at == 0:
                break


def _batches(changes: Sequence[Change], todo: Sequence[int], keys: Keys) -> list[tuple[int, list[int]]]:
    """Positions of changes, by partition, in order, and no more in one batch than a call may hold."""
    full: list[tuple[int, list[int]]] = []
    filling: dict[int, list[int]] = {}
    fields: dict[int, int] = defaultdict(int)
    for i in todo:
        p, size = keys.partition_of(changes[i].id), _size(changes[i])
        if p in filling and (len(filling[p]) == CHANGES_A_CALL or fields[p] + size > FIELDS_A_CALL):
            full.append((p, filling.pop(p)))
            fields[p] = 0
        filling.setdefault(p, []).append(i)
        fields[p] += size
    return full + list(filling.items())


def _size(change: Change) -> int:
    """Fields that a change may write: its own, and its counts before and after."""
    content = change.content
    facets = 0 if content is None else 2 + len(content.attributes)
    return 4 + 2 * facets * (0 if content is None else 1 + len(content.opinions))


def _arguments(change: Change, settings: CollectionSettings) -> tuple[Any, ...]:
    """A change as `apply.lua` takes it."""
    content, version = change.content, "" if change.version is None else change.version
    if content is None:
        return change.id, version, "", 0, -1, "[]", "[]", "", ""
    labels = [part for label in sorted(settings.labels(content).items()) for part in label]
    return (
        change.id,
        version,
        change.fingerprint.hex(),
        int(content.excluded),
        -1 if content.bin is None else content.bin,
        layout.encode(labels),
        layout.encode(facets_of(content.timestamp, content.attributes)),
        layout.encode(content),
        b"" if change.vector is None else change.vector.tobytes(),
    )
