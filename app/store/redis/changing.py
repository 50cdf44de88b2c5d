"""How changes reach the partitions: in calls of bounded size, under the rules that the collection has by then."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from app.errors import CollectionChangedError, StoreUnavailableError
from app.store.base import Change, CollectionSettings, Outcome, VectorSpace
from app.store.facets import facets_of
from app.store.redis import layout
from app.store.redis.catalog import Catalog
from app.store.redis.layout import Keys, Standing, rules_of
from app.store.redis.server import Command, Script, Server

CHANGES_A_CALL = 50
"""Larger calls would hold up the server for others. Where so many write too much for one command, it is halved."""
ATTEMPTS = 5
"""How often changes are sent under rules that have changed meanwhile."""
CHANGING_S = 0.05
"""How long whoever changes rules may take, from the first partition that has them to the catalog."""
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
    standing = await catalog.fixed_for(collection, space, positions, create)
    if standing is None:
        return outcomes
    left = list(range(len(changes)))
    limits = [CHANGES_A_CALL] * keys.partitions
    refusals = 0
    while left:
        batches = _batches(changes, left, keys, limits)
        behind: list[int] = []
        done: set[int] = set()
        for (p, batch), answer in (await _send(server, catalog, keys, collection, standing, changes, batches)).items():
            if answer == b"LARGE":
                limits[p] = len(batch) // 2
            elif answer == b"CHANGED":
                behind.append(p)
            else:
                for i, outcome in zip(batch, answer, strict=True):
                    outcomes[i] = outcome.decode()
                done.update(batch)
        left = [i for i in left if i not in done]
        if behind:
            refusals += 1
            before, standing = standing, await catalog.fixed_for(collection, space, positions, create)
            if standing == before:
                # Whoever changes the rules is between partitions and catalog, or was broken off there.
                standing = await regained(server, catalog, collection, before, refusals)
            if standing is None or refusals == ATTEMPTS:
                raise CollectionChangedError(f"the scale or registry of {collection!r} changes all the time")
    return outcomes


async def _send(
    server: Server,
    catalog: Catalog,
    keys: Keys,
    collection: str,
    standing: Standing,
    changes: Sequence[Change],
    batches: Mapping[int, Sequence[int]],
) -> dict[tuple[int, tuple[int, ...]], Any]:
    """The answer of `apply.lua` to each batch."""
    settings = standing.settings
    head = [
        *(standing.rules, len(settings.positions), layout.LOG_LENGTH, time.time_ns() // 1000),
        int(catalog.confirm is not None),
    ]
    calls = [
        (keys.partition(collection, p), [*head, *(a for i in batch for a in _arguments(changes[i], settings))])
        for p, batch in batches.items()
    ]
    answers = await server.run(_APPLY, calls, catalog.confirm)
    return {(p, tuple(batch)): answer for (p, batch), answer in zip(batches.items(), answers, strict=True)}


async def regained(
    server: Server, catalog: Catalog, collection: str, standing: Standing, refusals: int
) -> Standing | None:
    """Have partitions follow the catalog, whose settings are returned; None where documents forbid it.

    Partitions are ahead of it while somebody changes the rules, who is given a moment. Then those that stand become the
    newer ones, and whoever was changing them has to begin anew.
    """
    keys = await catalog.keys()
    newest = await claimed(server, keys, collection, standing, catalog.confirm)
    if newest is not None and newest > standing.generation:
        if refusals == 1:
            await asyncio.sleep(CHANGING_S)
            return standing
        newer = await catalog.put(collection, standing.settings, newest, standing)
        if newer is not None:
            standing = newer
            newest = await claimed(server, keys, collection, newer, catalog.confirm)
    return None if newest is None else standing


async def claimed(
    server: Server,
    keys: Keys,
    collection: str,
    standing: Standing,
    confirm: Command | None = None,
) -> int | None:
    """Ask all partitions to take the rules of these settings; None where documents on another scale forbid it in any.

    Each that takes them refuses from then on all changes that were made for others. The highest generation there is
    returned: where it is not theirs, not all have taken them.
    """
    positions, _ = rules_of(standing.settings)
    arguments = (positions, standing.rules, standing.generation)
    answers = await server.run(
        _CLAIM, [(keys.partition(collection, p), arguments) for p in range(keys.partitions)], confirm
    )
    return None if 0 in answers else max(standing.generation, -min(answers))


async def relabel(server: Server, catalog: Catalog, collection: str, entities: Collection[str] | None) -> None:
    """Store anew the documents with opinions on any of those entities (None: on any at all), which may count under
    another one by now.

    Raises
    ------
    StoreUnavailableError : a content cannot be read; all others are stored.
    """
    keys = await catalog.keys()
    damaged: StoreUnavailableError | None = None
    for p in range(keys.partitions):
        key, at = keys.partition(collection, p), 0
        while True:
            at, found = await server.call("HSCAN", key, at, "MATCH", "d:*", "COUNT", SCAN_COUNT)
            holders = {
                field[2:].decode(): record
                for field, raw in found.items()
                if (record := layout.readable_document(raw))
                and record.present
                and (entities is None or not record.bins.keys().isdisjoint(entities))
            }
            contents = await server.call("HMGET", key, *(f"c:{name}" for name in holders)) if holders else []
            changes = []
            for (name, record), raw in zip(holders.items(), contents, strict=True):
                if not raw:  # deleted meanwhile
                    continue
                try:
                    content = layout.decode_content(raw)
                except layout.UNREADABLE as error:
                    damaged = layout.unreadable(collection, name, error)
                    continue
                changes.append(Change(name, content, bytes.fromhex(record.fingerprint), None, int(record.version)))
            await apply(server, catalog, collection, changes, None, None)
            if at == 0:
                break
    if damaged:
        raise damaged


def _batches(changes: Sequence[Change], left: Sequence[int], keys: Keys, limits: Sequence[int]) -> dict[int, list[int]]:
    """The next changes of each partition, by position, in order, and no more than its limit."""
    batches: dict[int, list[int]] = defaultdict(list)
    for i in left:
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
