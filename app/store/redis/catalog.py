"""What is fixed for a store and its collections: format, settings, registries, vector spaces."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from app.errors import CollectionChangedError, StoreUnavailableError
from app.remembered import Remembered
from app.store.base import Ack, CollectionSettings, VectorSpace
from app.store.redis import layout
from app.store.redis.fitness import Fitness, fitness_of
from app.store.redis.layout import FixedSettings, Format, Keys, Standing, catalog_key, digest_of
from app.store.redis.server import Command, Script, Server

_log = logging.getLogger(__name__)

REMEMBERED_SETTINGS = 256

_CREATE, _PUT = Script("create.lua"), Script("put.lua")


class Catalog:
    """The catalog of one store.

    Parameters
    ----------
    partitions : of each collection, fixed when the store is first used; None takes what it has, or the default.
    ack : where changes have to be once they are answered for; None is what the server's own settings give.
    """

    def __init__(self, server: Server, prefix: str, partitions: int | None, ack: Ack | None) -> None:
        self._server = server
        self._prefix = prefix
        self._partitions = partitions
        self._wanted_ack = ack
        self._keys: Keys | None = None
        self._met: set[str] = set()  # servers, as they ran, that were judged
        self._accounted: set[str] = set()  # those of them that were known when the keys were found out
        self._synced = False  # whether changes are on the disk of all of those when they are answered for
        self._known: Remembered[bytes, Standing] = Remembered(REMEMBERED_SETTINGS)
        self.ack: Ack = "memory"
        """Where changes are once they are answered for; known once `keys` has been."""
        self.confirm: Command | None = None
        """What is asked behind every change, to be sure of that."""
        server.judged_by(self._judge)

    async def keys(self) -> Keys:
        """The store's keys, once the server is known to be fit for keeping counts."""
        keys = self._keys
        if keys is None or self._met != self._accounted:
            self._keys = None
            self._keys = keys = await self._judged_keys()
        return keys

    async def _judged_keys(self) -> Keys:
        self._synced = False  # until that is known again, nothing relies on it
        appendfsync = await self._server.config("appendfsync")
        servers = [fitness_of(info, appendfsync) for info in await self._server.info()]
        for server in servers:
            self._meet(server)
        self._accounted = set(self._met)
        self._synced = all(server.synced for server in servers)
        confirming = [server.confirming(self._wanted_ack) for server in servers]
        self.confirm = next((command for command in confirming if command), None)
        self.ack = self._wanted_ack or ("local" if self._synced else "memory")
        found = await self._format()
        if found.format != layout.FORMAT:
            raise StoreUnavailableError(
                f"the store was written by another version: its format is {found.format}, this one's "
                f"{layout.FORMAT}; export it with the version that wrote it, and import it under another prefix"
            )
        if self._partitions not in (None, found.partitions):
            raise StoreUnavailableError(
                f"WARP_STORE_PARTITIONS is {self._partitions}, and this store was made with {found.partitions}"
            )
        return Keys(self._prefix, found.partitions)

    def _judge(self, info: Mapping[str, Any], appendfsync: str | None) -> None:
        """Judge a server that a connection was just made to: in the middle of a call, after a fail-over."""
        server = fitness_of(info, appendfsync)
        server.confirming(self._wanted_ack)
        if server.run in self._met:
            return
        if self._synced and not server.synced and self._wanted_ack in (None, "local"):
            self._keys = None
            raise StoreUnavailableError("another server has taken over, which does not sync as the one before")
        self._meet(server)

    def _meet(self, server: Fitness) -> None:
        if server.run not in self._met and not server.appends:
            _log.warning("the server keeps no append-only file: what it is told last is lost when it stops")
        self._met.add(server.run)

    async def _format(self) -> Format:
        """What the store follows, since it was made, which may be now. One that is there may be full, or read only."""
        key = catalog_key(self._prefix)
        new = layout.encode(Format(layout.FORMAT, self._partitions or layout.PARTITIONS))
        older, raw = await self._server.call("HMGET", key, "partitions", "store")
        if raw is None and older is None:
            _, raw = await self._server.together([("HSETNX", key, "store", new), ("HGET", key, "store")])
        return Format(1, int(older)) if older else layout.decode_format(raw)

    async def collections(self) -> list[str]:
        """Names of all collections, in order."""
        await self.keys()
        fields = await self._server.call("HKEYS", catalog_key(self._prefix))
        return sorted(field[2:].decode() for field in fields if field.startswith(b"c:"))

    def reading(self, collection: str) -> Command:
        """The command whose answer `understood` takes."""
        return "HMGET", catalog_key(self._prefix), f"c:{collection}", f"v:{collection}"

    async def understood(
        self, collection: str, raw: Sequence[bytes | None]
    ) -> tuple[Standing | None, VectorSpace | None]:
        """A collection's settings and vector space."""
        settings, space = raw
        known = None if settings is None else self._known.get(settings)
        while settings is not None and known is None:
            # The registry is read only when it has changed; together with what has its digest.
            command = (*self.reading(collection), f"r:{collection}")
            settings, space, registry = await self._server.call(*command)
            if settings is not None:
                fixed = layout.decode_settings(settings)
                whole = msgspec.structs.replace(fixed.settings, registry=layout.decode_registry(registry))
                known = Standing(whole, fixed.generation, settings)
                self._known.put(settings, known)
        return known, layout.decode_space(space) if space else None

    async def fixed(self, collection: str) -> tuple[Standing | None, VectorSpace | None]:
        """The same, read now."""
        await self.keys()
        return await self.understood(collection, await self._server.call(*self.reading(collection)))

    async def put(
        self, collection: str, settings: CollectionSettings, generation: int, before: Standing | None
    ) -> Standing | None:
        """Keep a collection's settings, unless others stand there than `before`: then None."""
        settings_field, fixed, registry_field, registry = _written(collection, settings, generation)
        known = before.raw if before else b""
        arguments = [settings_field, known, fixed, registry_field, registry]
        (done,) = await self._server.run(_PUT, [(catalog_key(self._prefix), arguments)], self.confirm)
        return Standing(settings, generation, fixed) if done else None

    async def followed(self, collection: str) -> str:
        """The digest of the registry that all stored opinions follow: of the last that was put and seen through."""
        found = await self._server.call("HGET", catalog_key(self._prefix), f"f:{collection}")
        return found.decode() if found else digest_of(CollectionSettings())

    async def note_followed(self, collection: str, settings: CollectionSettings) -> None:
        """Say that all stored opinions follow this registry."""
        await self._server.call("HSET", catalog_key(self._prefix), f"f:{collection}", digest_of(settings))

    async def fixed_for(
        self, collection: str, space: VectorSpace | None, positions: tuple[float, ...] | None, create: bool
    ) -> Standing | None:
        """The settings that changes are to be made under, once the collection exists and its vector space is fixed.

        None when it does not exist, and need not be created.

        Raises
        ------
        CollectionChangedError : it has another scale or space; then nothing is created.
        """
        standing, fixed_space = await self.fixed(collection)
        if standing is None and not create:
            return None
        _check(collection, standing, fixed_space or space, space, positions)
        if standing is None or (space is not None and fixed_space is None):
            key = catalog_key(self._prefix)
            settings_field, fixed, registry_field, registry = _written(collection, CollectionSettings(), 0)
            arguments = [settings_field, fixed, registry_field, registry]
            arguments += ["", ""] if space is None else [f"v:{collection}", layout.encode(space)]
            await self._server.run(_CREATE, [(key, arguments)], self.confirm)
            standing, fixed_space = await self.fixed(collection)
            _check(collection, standing, fixed_space, space, positions)
        return standing


def _written(collection: str, settings: CollectionSettings, generation: int) -> list[Any]:
    """Settings as fields and values of the catalog."""
    without = msgspec.structs.replace(settings, registry={})
    fixed = FixedSettings(without, digest_of(settings), generation)
    return [f"c:{collection}", layout.encode(fixed), f"r:{collection}", layout.encode(settings.registry)]


def _check(
    collection: str,
    standing: Standing | None,
    fixed_space: VectorSpace | None,
    space: VectorSpace | None,
    positions: tuple[float, ...] | None,
) -> None:
    settings = standing.settings if standing else CollectionSettings()
    if space is not None and space != fixed_space:
        raise CollectionChangedError(f"the vectors of {collection!r} are {fixed_space}, not {space}")
    if positions is not None and positions != settings.positions:
        raise CollectionChangedError(f"the scale of {collection!r} has changed to {settings.positions}")
