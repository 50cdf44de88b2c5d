"""External targets: each lies in the partition of its entity's name, beside the documents there."""

import logging
from collections.abc import Sequence
from typing import Any

from app.errors import CollectionChangedError
from app.store.base import ExternalTarget
from app.store.redis import layout
from app.store.redis.catalog import Catalog
from app.store.redis.changing import ATTEMPTS, regained
from app.store.redis.layout import Keys, Standing
from app.store.redis.server import Command, Script, Server

_log = logging.getLogger(__name__)

SCAN_COUNT = 500
READ_A_CALL = 1000
ANY = "*"

_TARGET = Script("target.lua")


def reading(keys: Keys, collection: str, entity: str) -> Command:
    """The command whose answer is an entity's target."""
    return "HGET", keys.partition(collection, keys.partition_of(entity)), f"x:{entity}"


async def put(server: Server, catalog: Catalog, collection: str, entity: str, target: ExternalTarget | None) -> bool:
    """See `app.store.base.Store.put_target`."""
    raw = b"" if target is None else layout.encode(target)
    for refusals in range(1, ATTEMPTS + 1):
        standing = await catalog.fixed_for(collection, None, None, create=target is not None)
        if standing is None:
            return False
        name = standing.settings.aliases.get(entity, entity)
        answer = await _write(server, catalog, collection, standing, name, raw)
        if answer != b"CHANGED":
            return bool(answer)
        if await regained(server, catalog, collection, standing, refusals) is None:
            break
    raise CollectionChangedError(f"the registry of {collection!r} changes all the time")


async def every(server: Server, keys: Keys, collection: str) -> dict[str, ExternalTarget]:
    """All of a collection, by entity."""
    found: dict[str, ExternalTarget] = {}
    for p in range(keys.partitions):
        key, at = keys.partition(collection, p), 0
        while True:
            at, fields = await server.call("HSCAN", key, at, "MATCH", "x:*", "COUNT", SCAN_COUNT)
            found |= {field[2:].decode(): layout.decode_target(raw) for field, raw in fields.items()}
            if at == 0:
                break
    return dict(sorted(found.items()))


async def follow_registry(server: Server, catalog: Catalog, collection: str) -> None:
    """Give targets of names that are another entity's by now to that one, or forget them where it has one.

    Where it is broken off between the two, it can be repeated. Whoever changes the registry meanwhile does the rest.
    """
    keys, (standing, _) = await catalog.keys(), await catalog.fixed(collection)
    if standing is None:
        return
    aliases = standing.settings.aliases
    for alias, raw in await _given(server, keys, collection, sorted(aliases)):
        entity = aliases[alias]
        kept = await _write(server, catalog, collection, standing, entity, raw, "")
        if kept == -1 and await server.call(*reading(keys, collection, entity)) != raw:
            _log.warning("the target given for %r is forgotten: that is %r by now, which has another", alias, entity)
        if kept == b"CHANGED":
            return
        await _write(server, catalog, collection, standing, alias, b"", raw)


async def _given(server: Server, keys: Keys, collection: str, entities: Sequence[str]) -> list[tuple[str, bytes]]:
    """Those of the entities that have a target, with it."""
    found: list[tuple[str, bytes]] = []
    for start in range(0, len(entities), READ_A_CALL):
        some = entities[start : start + READ_A_CALL]
        answers = await server.together([reading(keys, collection, entity) for entity in some])
        found += [(entity, raw) for entity, raw in zip(some, answers, strict=True) if raw]
    return found


async def _write(
    server: Server,
    catalog: Catalog,
    collection: str,
    standing: Standing,
    entity: str,
    target: bytes,
    expected: bytes | str = ANY,
) -> Any:
    """The answer of `target.lua`."""
    keys = await catalog.keys()
    place = keys.partition(collection, keys.partition_of(entity))
    arguments = (standing.rules, f"x:{entity}", target, expected)
    (answer,) = await server.run(_TARGET, [(place, arguments)], catalog.confirm)
    return answer
