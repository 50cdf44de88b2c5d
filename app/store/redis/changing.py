"""How changes reach the partitions: in calls of bounded size, under the rules that the collection has by then."""

import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from app.errors import CollectionChangedError
from app.store.base import Change, CollectionSettings, Outcome, VectorSpace
from app.store.facets import facets_of
from app.store.redis import layout
from app.store.redis.catalog import Catalog
from app.store.redis.layout import Keys, rules_of
from app.store.redis.server import Script, Server

CHANGES_A_CALL = 50
"""Larger calls would hold up the server for others. Where so many write too much for one command, it is halved."""
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
    """See `app.store.base.Store.apply`.

    Each round is one call to every partition that has changes left, so that those of a document stay in order.
    """
    keys = await catalog.keys()
    outcomes: list[Outcome] = ["absent"] * len(changes)
    create = any(change.leaves_something for change in changes)
    settings = await catalog.fixed_for(collection, space, positions, create)
    if settings is None:
        return outcomes
    todo = list(range(len(changes)))
    limits = [CHANGES_A_CALL] * keys.partitions
    refusals = 0
    while todo:
        batches = _batches(changes, todo, keys, limits)
        behind: list[int] = []
        done: set[int] = set()
        for (p, batch), answer in (await _send(server, catalog, keys, collection, settings, changes, batches)).items():
            if answer == b"LARGE":
                limits[p] = len(batch) // 2
            elif answer == b"CHANGED":
                behind.append(p)
            else:
                for i, outcome in zip(batch, answer, strict=True):
                    outcomes[i] = outcome.decode()
                done.update(batch)
        todo = [i for i in todo if i not in done]
        if behind:
            refusals += 1
            before, settings = settings, await catalog.fixed_for(collection, space, positions, create)
            # Where the catalog has not changed, whoever changes the rules is between the two, or was broken off there.
            agreed = settings != before or await claimed(server, keys, collection, before, behind)
            if settings is None or not agreed or refusals == ATTEMPTS:
                raise CollectionChangedError(f"the scale or registry of {collection!r} changes all the time")
    return outcomes


async def _send(
    server: Server,
    catalog: Catalog,
    keys: Keys,
    collection: str,
    settings: CollectionSettings,
    changes: Sequence[Change],
    batches: Mapping[int, Sequence[int]],
) -> dict[tuple[int, tuple[int, ...]], Any]:
    """The answer of `apply.lua` to each batch."""
    head = [
        *(rules_of(settings)[1], len(settings.positions), layout.LOG_LENGTH, time.time_ns() // 1000),
        int(catalog.confirm is not None),
    ]
    calls = [
        (keys.partition(collection, p), [*head, *(a for i in batch for a in _arguments(changes[i], settings))])
        for p, batch in batches.items()
    ]
    answers = await server.run(_APPLY, calls, catalog.confirm)
    return {(p, tuple(batch)): answer for (p, batch), answer in zip(batches.items(), answers, strict=True)}


async def claimed(
    server: Server, keys: Keys, collection: str, settings: CollectionSettings, partitions: Sequence[int] | None = None
) -> bool:
    """Ask partitions to take the rules of these settings, which each does unless it holds documents on another scale.

    From then on it refuses changes that were made for others. Whether all have taken them.
    """
    places = range(keys.partitions) if partitions is None else partitions
    calls = [(keys.partition(collection, p), rules_of(settings)) for p in places]
    return all(await server.run(_CLAIM, calls))


async def relabel(server: Server, catalog: Catalog, collection: str, entities: Collection[str] | None) -> None:
    """Store anew the documents with opinions on any of those entities (None: on any at all), which may count under
    another one by now.
    """
    keys = await catalog.keys()
    for p in range(keys.partitions):
        key, at = keys.partition(collection, p), 0
        while True:
            at, found = await server.call("HSCAN", key, at, "MATCH", "d:*", "COUNT", SCAN_COUNT)
            holders = {
                field[2:].decode(): record
                for field, raw in found.items()
                if (record := layout.decode_document(raw)).present
                and (entities is None or not record.bins.keys().isdisjoint(entities))
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


def _batches(changes: Sequence[Change], todo: Sequence[int], keys: Keys, limits: Sequence[int]) -> dict[int, list[int]]:
    """The next changes of each partition, by position, in order, and no more than its limit."""
    batches: dict[int, list[int]] = defaultdict(list)
    for i in todo:
        p = keys.partition_of(changes[i].id)
        if len(batches[p]) < limits[p]:
            batches[p].append(i)
    return batches


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
