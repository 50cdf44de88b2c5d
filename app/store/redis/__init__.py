"""The store on Redis 7 or later, for many replicas. It is as durable as its append-only file is set to be."""

import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha1
from importlib.resources import files
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError, ResponseError

from app.errors import CollectionChangedError, StoreUnavailableError
from app.store.base import (
    Change,
    CollectionSettings,
    Cursor,
    Drift,
    Lookup,
    Outcome,
    Page,
    StoredDocument,
    VectorSpace,
)
from app.store.redis import layout
from app.store.redis.following import changes_past
from app.store.redis.layout import Keys, Server, partition_of
from app.store.redis.recounting import recount

_log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 1.0
CALL_TIMEOUT_S = 2.0
MAX_CONNECTIONS = 32
CHANGES_A_CALL = 50
"""Larger calls would hold up the server for other callers, and at last exceed what Lua can unpack."""


class _Script:
    """A Lua script of this package, called by its hash."""

    def __init__(self, name: str) -> None:
        self.source = (files("app.store.redis") / name).read_text()
        self.sha = sha1(self.source.encode(), usedforsecurity=False).hexdigest()


_APPLY, _CLAIM_SCALE = _Script("apply.lua"), _Script("claim_scale.lua")


class RedisStore:
    """`Store` over one Redis server. Opening it connects to nothing: the server may come later, and come back.

    Parameters
    ----------
    url : redis:// or rediss://, with password and database as usual.
    prefix : of all keys.
    """

    def __init__(self, url: str, prefix: str = "warp") -> None:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=MAX_CONNECTIONS,
            timeout=CALL_TIMEOUT_S,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_timeout=CALL_TIMEOUT_S,
            # The client's own default tries ten times more, whatever the command is.
            retry=Retry(NoBackoff(), 0),
        )
        self._redis: Server = Redis(connection_pool=pool)
        self._keys = Keys(prefix)
        self._partitions = 0

    async def close(self) -> None:
        await self._redis.aclose(close_connection_pool=True)

    # The catalog

    async def collections(self) -> list[str]:
        with _named():
            fields = await self._redis.hkeys(self._keys.catalog)
        return sorted(field[2:].decode() for field in fields if field.startswith(b"c:"))

    async def settings(self, collection: str) -> CollectionSettings | None:
        return (await self._fixed(collection))[0]

    async def vector_space(self, collection: str) -> VectorSpace | None:
        return (await self._fixed(collection))[1]

    async def put_settings(self, collection: str, settings: CollectionSettings) -> bool:
        before = (await self._fixed(collection))[0]
        if before is None or before.positions != settings.positions:
            # Every partition is asked to take the new scale, which it does while it holds no document. From then on
            # it refuses changes made for another.
            taken = await self._claim_scale(collection, settings.positions)
            if not all(taken):
                if before is not None:
                    await self._claim_scale(collection, before.positions)
                return False
        with _named():
            await self._redis.hset(self._keys.catalog, f"c:{collection}", layout.encode(settings))
        return True

    async def _claim_scale(self, collection: str, positions: tuple[float, ...]) -> list[bool]:
        count = await self._ready()
        calls = [(self._keys.partition(collection, p), [layout.encode(positions)]) for p in range(count)]
        return [bool(answer) for answer in await self._run(_CLAIM_SCALE, calls)]

    async def _fixed(self, collection: str) -> tuple[CollectionSettings | None, VectorSpace | None]:
        with _named():
            raw = await self._redis.hmget(self._keys.catalog, _catalog_fields(collection))
        return _fixed_of(raw)

    # Documents

    async def apply(
        self,
        collection: str,
        changes: Sequence[Change],
        space: VectorSpace | None = None,
        positions: tuple[float, ...] | None = None,
    ) -> list[Outcome]:
        count = await self._ready()
        settings = await self._fixed_for(collection, changes, space, positions)
        if settings is None:
            return ["absent"] * len(changes)  # only deletions, and no such collection
        head = [
            layout.encode(settings.positions),
            len(settings.positions),
            layout.LOG_LENGTH,
            time.time_ns() // 1000,
        ]
        batches = _batches(changes, count)
        calls = [
            (self._keys.partition(collection, p), [*head, *(a for i in batch for a in _arguments(changes[i]))])
            for p, batch in batches
        ]
        outcomes: list[Outcome] = ["absent"] * len(changes)
        for (_, batch), answer in zip(batches, await self._run(_APPLY, calls), strict=True):
            for i, outcome in zip(batch, answer, strict=True):
                outcomes[i] = outcome.decode()
        return outcomes

    async def _fixed_for(
        self,
        collection: str,
        changes: Sequence[Change],
        space: VectorSpace | None,
        positions: tuple[float, ...] | None,
    ) -> CollectionSettings | None:
        """The collection's settings, once it exists and its vector space is fixed; None when it need not exist.

        Raises
        ------
        CollectionChangedError : it has another scale or space; then nothing is created.
        """
        settings, fixed_space = await self._fixed(collection)
        if settings is None and not any(change.content for change in changes):
            return None
        _check_fixed(collection, settings or CollectionSettings(), fixed_space or space, space, positions)
        if settings is None or (space is not None and fixed_space is None):
            fields = _catalog_fields(collection)
            with _named():
                pipe = self._redis.pipeline(transaction=False)
                pipe.hsetnx(self._keys.catalog, fields[0], layout.encode(CollectionSettings()))
                if space is not None:
                    pipe.hsetnx(self._keys.catalog, fields[1], layout.encode(space))
                pipe.hmget(self._keys.catalog, fields)
                settings, fixed_space = _fixed_of((await pipe.execute())[-1])
            _check_fixed(collection, settings or CollectionSettings(), fixed_space, space, positions)
        return settings

    async def document(self, collection: str, document_id: str) -> StoredDocument | None:
        return (await self.documents(collection, [document_id])).get(document_id)

    async def documents(self, collection: str, ids: Sequence[str]) -> dict[str, StoredDocument]:
        found: dict[str, StoredDocument] = {}
        by_partition = _by_partition(dict.fromkeys(ids), await self._ready())
        with _named():
            pipe = self._redis.pipeline(transaction=False)
            for p, names in by_partition.items():
                fields = [f"{kind}:{name}" for name in names for kind in "dc"]
                pipe.hmget(self._keys.partition(collection, p), fields)
            answers = await pipe.execute() if by_partition else []
        for names, values in zip(by_partition.values(), answers, strict=True):
            for name, raw, content in zip(names, values[::2], values[1::2], strict=True):
                if raw and (record := layout.decode_document(raw)).present:
                    found[name] = StoredDocument(name, int(record.version), layout.decode_content(content))
        return found

    async def lookup(self, collection: str, entity: str | None, ids: Sequence[str]) -> Lookup:
        count = await self._ready()
        by_partition = _by_partition(dict.fromkeys(ids), count)
        with _named():
            pipe = self._redis.pipeline(transaction=False)
            pipe.hmget(self._keys.catalog, _catalog_fields(collection))
            for p in range(count):
                fields = ["p:", f"p:{entity or ''}", *(f"d:{name}" for name in by_partition.get(p, ()))]
                pipe.hmget(self._keys.partition(collection, p), fields)
            fixed, *partitions = await pipe.execute()
        settings, space = _fixed_of(fixed)
        known, settings = settings is not None, settings or CollectionSettings()
        n_bins = len(settings.positions)
        domain, own = [0] * n_bins, [0] * n_bins
        labels = {}
        for p, (everything, of_entity, *documents) in enumerate(partitions):
            domain = [a + b for a, b in zip(domain, layout.counts_of(everything, n_bins), strict=True)]
            if entity is not None:
                own = [a + b for a, b in zip(own, layout.counts_of(of_entity, n_bins), strict=True)]
            for name, raw in zip(by_partition.get(p, ()), documents, strict=True):
                if raw and (record := layout.decode_document(raw)).present:
                    labels[name] = record.labels(entity)
        return Lookup(settings, known, space, labels, own, domain)

    async def changes(self, cursor: Cursor | None) -> Page:
        count, names = await self._ready(), await self.collections()
        with _named():
            return await changes_past(cursor, self._redis, self._keys, names, count)

    async def drift(self) -> list[Drift]:
        count, names = await self._ready(), await self.collections()
        with _named():
            return [drift for name in names for drift in await recount(self._redis, self._keys, name, count)]

    # The server

    async def _ready(self) -> int:
        """The number of partitions, once the server is known to be fit for keeping counts."""
        if not self._partitions:
            with _named():
                pipe = self._redis.pipeline(transaction=False)
                pipe.hsetnx(self._keys.catalog, "partitions", layout.PARTITIONS)
                pipe.hget(self._keys.catalog, "partitions")
                pipe.info()
                _, partitions, server = await pipe.execute()
            _check_server(server)
            self._partitions = int(partitions)
        return self._partitions

    async def _run(self, script: _Script, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        """A script's answer for each key, in one round trip; a second one where the server does not know it yet."""
        with _named():
            answers = await self._send(script, calls)
            if any(isinstance(answer, NoScriptError) for answer in answers):
                await self._redis.script_load(script.source)
                unknown = [i for i, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
                for i, answer in zip(unknown, await self._send(script, [calls[i] for i in unknown]), strict=True):
                    answers[i] = answer
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
        return answers

    async def _send(self, script: _Script, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        pipe: Pipeline = self._redis.pipeline(transaction=False)
        for key, arguments in calls:
            pipe.evalsha(script.sha, 1, key, *arguments)
        return await pipe.execute(raise_on_error=False) if calls else []


@contextmanager
def _named() -> Iterator[None]:
    """Turn the driver's errors into the service's."""
    try:
        yield
    except ResponseError as error:
        if str(error).startswith("CHANGED"):
            raise CollectionChangedError(str(error)) from error
        raise StoreUnavailableError(f"the store refuses: {error}") from error
    except (RedisError, OSError) as error:
        raise StoreUnavailableError(f"the store cannot be reached: {error}") from error


def _check_server(server: Mapping[str, Any]) -> None:
    policy = server.get("maxmemory_policy", "noeviction")
    if policy.startswith("allkeys-"):
        raise StoreUnavailableError(f"the server may evict counts (maxmemory-policy {policy}); set noeviction")
    if not server.get("aof_enabled"):
        _log.warning("the server keeps no append-only file: what it is told last is lost when it stops")


def _check_fixed(
    collection: str,
    settings: CollectionSettings,
    fixed_space: VectorSpace | None,
    space: VectorSpace | None,
    positions: tuple[float, ...] | None,
) -> None:
    if space is not None and space != fixed_space:
        raise CollectionChangedError(f"the vectors of {collection!r} are {fixed_space}, not {space}")
    if positions is not None and positions != settings.positions:
        raise CollectionChangedError(f"the scale of {collection!r} has changed to {settings.positions}")


def _catalog_fields(collection: str) -> list[str]:
    return [f"c:{collection}", f"v:{collection}"]


def _fixed_of(raw: Sequence[bytes | None]) -> tuple[CollectionSettings | None, VectorSpace | None]:
    settings, space = raw
    return layout.decode_settings(settings) if settings else None, layout.decode_space(space) if space else None


def _by_partition(ids: Iterable[str], partitions: int) -> dict[int, list[str]]:
    split: dict[int, list[str]] = defaultdict(list)
    for name in ids:
        split[partition_of(name, partitions)].append(name)
    return split


def _batches(changes: Sequence[Change], partitions: int) -> list[tuple[int, list[int]]]:
    """Positions of changes, by partition, in order, and no more in one batch than a call may hold."""
    split: dict[int, list[int]] = defaultdict(list)
    for i, change in enumerate(changes):
        split[partition_of(change.id, partitions)].append(i)
    return [
        (p, positions[start : start + CHANGES_A_CALL])
        for p, positions in split.items()
        for start in range(0, len(positions), CHANGES_A_CALL)
    ]


def _arguments(change: Change) -> tuple[Any, ...]:
    """A change as `apply.lua` takes it."""
    content = change.content
    if content is None:
        return change.id, "", "", 0, -1, "[]", "", ""
    opinions = [part for opinion in content.opinions for part in (opinion.entity, opinion.bin)]
    return (
        change.id,
        "" if change.version is None else change.version,
        change.fingerprint.hex(),
        int(content.excluded),
        -1 if content.bin is None else content.bin,
        layout.encode(opinions),
        layout.encode(content),
        b"" if change.vector is None else change.vector.tobytes(),
    )
