"""The store on Redis 7 or later, for many replicas. It is as durable as its append-only file is set to be."""

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from operator import add

from app.errors import StoreUnavailableError
from app.store.base import (
    TOMBSTONE_LIFE_S,
    Ack,
    Change,
    CollectionSettings,
    Cursor,
    Damage,
    Drift,
    ExternalTarget,
    Labels,
    Lookup,
    Outcome,
    Page,
    Record,
    StoredDocument,
    VectorSpace,
)
from app.store.facets import ALL
from app.store.redis import changing, layout, recounting, targets
from app.store.redis.catalog import Catalog
from app.store.redis.connecting import open_server
from app.store.redis.following import changes_past
from app.store.redis.layout import Keys, Standing, digest_of, rules_of

PAGE = 500
"""Documents that an export reads at once."""
ATTEMPTS = 10
"""How often settings are put that others have changed meanwhile."""


class RedisStore:
    """`Store` over one Redis server, the master that sentinels name, or a cluster; connected to when it is asked.

    Parameters
    ----------
    url : see `app.store.redis.connecting.open_server`.
    prefix : of all keys.
    partitions, ack : see `app.store.redis.catalog.Catalog`.
    """

    def __init__(self, url: str, prefix: str = "warp", partitions: int | None = None, ack: Ack | None = None) -> None:
        self._server = open_server(url)
        self._catalog = Catalog(self._server, prefix, partitions, ack)

    async def close(self) -> None:
        await self._server.close()

    # Collections

    async def collections(self) -> list[str]:
        return await self._catalog.collections()

    async def settings(self, collection: str) -> CollectionSettings | None:
        standing, _ = await self._catalog.fixed(collection)
        return standing.settings if standing else None

    async def vector_space(self, collection: str) -> VectorSpace | None:
        return (await self._catalog.fixed(collection))[1]

    async def put_settings(self, collection: str, settings: CollectionSettings) -> bool:
        for _ in range(ATTEMPTS):
            standing, _ = await self._catalog.fixed(collection)
            followed = await self._catalog.followed(collection)
            same = standing is not None and rules_of(standing.settings) == rules_of(settings)
            put: bool | None
            if standing is not None and same and followed == digest_of(settings):
                put = await self._catalog.put(collection, settings, standing.generation, standing) is not None
            else:
                put = await self._put_rules(collection, standing, settings, followed)
            if put is None:
                return False
            if put:
                await self._see_through(collection)
                return True
        raise StoreUnavailableError(f"the settings of {collection!r} are changed by others all the time")

    async def _put_rules(
        self, collection: str, standing: Standing | None, settings: CollectionSettings, followed: str
    ) -> bool | None:
        """Have partitions and catalog take new rules, and documents follow. False: others came first; None: a scale
        forbids it.
        """
        keys, confirm = await self._catalog.keys(), self._catalog.confirm
        # Partitions before the catalog, so that it does not tell of rules that documents forbid.
        new = Standing(settings, 1 + (standing.generation if standing else 0))
        newest = await changing.claimed(self._server, keys, collection, new, confirm)
        if newest is not None and newest > new.generation:  # the catalog has lost what they were told of
            new = Standing(settings, newest + 1)
            newest = await changing.claimed(self._server, keys, collection, new, confirm)
        if newest is None:
            # Partitions without documents may have taken them: they get back those that stand, as newer ones.
            if standing and (again := await self._catalog.put(collection, standing.settings, new.generation, standing)):
                await changing.claimed(self._server, keys, collection, again, confirm)
            return None
        if not await self._catalog.put(collection, settings, new.generation, standing):
            return False
        if standing:
            # After a change that was broken off nobody knows under which names opinions count: all are looked at.
            known = followed == digest_of(standing.settings)
            moved = standing.settings.renamed(settings) if known else None
            await changing.relabel(self._server, self._catalog, collection, moved)
            await targets.follow_registry(self._server, self._catalog, collection)
        await self._catalog.note_followed(collection, settings)
        return True

    async def _see_through(self, collection: str) -> None:
        """Have all documents follow the registry that stands: who put another one at the same time may have moved
        opinions after it was put.
        """
        while (present := await self.settings(collection)) is not None:
            if await self._catalog.followed(collection) == digest_of(present):
                break
            await changing.relabel(self._server, self._catalog, collection, None)
            await targets.follow_registry(self._server, self._catalog, collection)
            await self._catalog.note_followed(collection, present)

    # Documents

    async def acknowledgement(self) -> Ack:
        await self._catalog.keys()
        return self._catalog.ack

    async def apply(
        self,
        collection: str,
        changes: Sequence[Change],
        space: VectorSpace | None = None,
        positions: tuple[float, ...] | None = None,
    ) -> list[Outcome]:
        return await changing.apply(self._server, self._catalog, collection, changes, space, positions)

    async def document(self, collection: str, document_id: str) -> StoredDocument | None:
        return (await self.documents(collection, [document_id])).get(document_id)

    async def documents(self, collection: str, ids: Sequence[str]) -> dict[str, StoredDocument]:
        records = await self._records(collection, dict.fromkeys(ids))
        return {one.id: StoredDocument(one.id, one.version, one.content) for one in records if one.content is not None}

    async def records(self, collection: str) -> AsyncIterator[Record]:
        keys = await self._catalog.keys()
        names: list[bytes] = []
        for p in range(keys.partitions):
            at = 0
            while True:
                key = keys.partition(collection, p)
                at, found = await self._server.call("HSCAN", key, at, "MATCH", "d:*", "COUNT", PAGE)
                names += [field[2:] for field in found]
                if at == 0:
                    break
        ordered = [name.decode() for name in sorted(set(names))]
        for start in range(0, len(ordered), PAGE):
            for record in await self._records(collection, ordered[start : start + PAGE]):
                yield record

    async def _records(self, collection: str, ids: Iterable[str]) -> list[Record]:
        """Those of the documents that are stored, or deleted and remembered, in the order of the ids."""
        keys = await self._catalog.keys()
        by_partition = _by_partition(ids, keys)
        answers = await self._server.together(
            [
                ("HMGET", keys.partition(collection, p), *(f"{kind}:{name}" for name in names for kind in "dcv"))
                for p, names in by_partition.items()
            ]
        )
        found: dict[str, Record] = {}
        for names, values in zip(by_partition.values(), answers, strict=True):
            for name, raw, content, vector in zip(names, values[::3], values[1::3], values[2::3], strict=True):
                try:
                    if raw:
                        found[name] = _record(name, layout.decode_document(raw), content, vector)
                except layout.UNREADABLE as error:
                    raise layout.unreadable(collection, name, error) from error
        return [found[name] for name in ids if name in found]

    # Counts

    async def lookup(
        self, collection: str, entity: str | None, ids: Sequence[str], facets: Sequence[str] = (ALL,)
    ) -> Lookup:
        keys = await self._catalog.keys()
        by_partition = _by_partition(dict.fromkeys(ids), keys)
        counts = [f"{facet}{name}" for name in ("", entity or "") for facet in facets]
        fixed, target, *partitions = await self._server.together(
            [
                self._catalog.reading(collection),
                targets.reading(keys, collection, entity or ""),
                *(
                    (
                        "HMGET",
                        keys.partition(collection, p),
                        *counts,
                        *(f"d:{name}" for name in by_partition.get(p, ())),
                    )
                    for p in range(keys.partitions)
                ),
            ]
        )
        standing, space = await self._catalog.understood(collection, fixed)
        known, settings = standing is not None, standing.settings if standing else CollectionSettings()
        n_bins = len(settings.positions)
        totals = [[0] * n_bins for _ in counts]
        labels: dict[str, Labels] = {}
        name = ""
        try:
            for p, values in enumerate(partitions):
                for total, name, raw in zip(totals, counts, values, strict=False):  # noqa: B007 - an error tells it
                    if raw:
                        total[:] = map(add, total, layout.counts_of(raw, n_bins))
                for name, raw in zip(by_partition.get(p, ()), values[len(counts) :], strict=True):
                    if raw and (record := layout.decode_document(raw)).present:
                        labels[name] = record.on(entity)
        except layout.UNREADABLE as error:
            raise layout.unreadable(collection, name, error) from error
        domain, own = totals[: len(facets)], totals[len(facets) :]
        if entity is None:
            own = [[0] * n_bins for _ in facets]
        return Lookup(settings, known, space, labels, own, domain, layout.decode_target(target) if target else None)

    async def put_target(self, collection: str, entity: str, target: ExternalTarget | None) -> bool:
        return await targets.put(self._server, self._catalog, collection, entity, target)

    async def targets(self, collection: str) -> dict[str, ExternalTarget]:
        return await targets.every(self._server, await self._catalog.keys(), collection)

    # Looking after

    async def changes(self, cursor: Cursor | None) -> Page:
        return await changes_past(cursor, self._server, await self._catalog.keys(), await self.collections())

    async def drift(self) -> list[Drift | Damage]:
        return await self._recount(repairs=False)

    async def repair(self) -> list[Drift | Damage]:
        return await self._recount(repairs=True)

    async def _recount(self, repairs: bool) -> list[Drift | Damage]:
        keys = await self._catalog.keys()
        found: list[Drift | Damage] = []
        for name in await self.collections():
            n_bins = len((await self.settings(name) or CollectionSettings()).positions)
            found += await recounting.recount(self._server, keys, name, n_bins, repairs)
        return found

    async def purge(self, tombstone_life_s: float = TOMBSTONE_LIFE_S) -> int:
        keys = await self._catalog.keys()
        before_us = time.time_ns() // 1000 - int(tombstone_life_s * 1e6)
        names = await self.collections()
        return sum([await recounting.purge(self._server, keys, name, before_us) for name in names])


def _record(name: str, record: layout.DocumentRecord, content: bytes | None, vector: bytes | None) -> Record:
    version, fingerprint = int(record.version), bytes.fromhex(record.fingerprint)
    if not record.present:
        return Record(name, version)
    return Record(name, version, layout.decode_content(content or b""), fingerprint, vector or b"")


def _by_partition(ids: Iterable[str], keys: Keys) -> dict[int, list[str]]:
    split: dict[int, list[str]] = defaultdict(list)
    for name in ids:
        split[keys.partition_of(name)].append(name)
    return split
