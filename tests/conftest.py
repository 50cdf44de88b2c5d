"""What the tests share: `async def` tests, and a store over every backend."""

import asyncio
import atexit
import inspect
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest
import redis

from app.errors import StoreUnavailableError
from app.store import open_store
from app.store.base import Change, Cursor, Document, IndexEntry, Opinion, Page, Store, Vector
from app.store.facets import ALL
from app.store.redis.layout import PARTITIONS, Keys, counts_of
from tests.redis_cluster import shared_cluster
from tests.redis_server import NoServerError, shared_server


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an `async def` test on an event loop of its own: that of its fixtures, when these have one."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    run = pyfuncitem.funcargs["runner"].run if "runner" in pyfuncitem.funcargs else asyncio.run
    run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """The event loop that a test and its fixtures share; a connection can be closed on no other."""
    with asyncio.Runner() as runner:
        yield runner


class Backend(Protocol):
    """A place of its own for one store's data, empty at first."""

    def __init__(self, directory: Path) -> None: ...

    def open(self) -> Store:
        """A store on the data; two of them share it, as two processes would."""

    def open_broken(self) -> Store:
        """A store that cannot be opened, or reached: it says so at once, or when it is asked."""

    def miscount(self, collection: str, entity: str, b: int, by: int, facet: str = ALL) -> None:
        """Falsify a count behind the store's back; without an entity, that of all entities."""

    def garble(self, collection: str, document_id: str, value: bytes) -> None:
        """Put something in the place of a document's content."""

    def garble_target(self, collection: str, entity: str, value: bytes) -> None:
        """Put something in the place of an entity's external target."""


class Sqlite:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file = directory / "warp.db"

    def open(self) -> Store:
        return open_store(f"sqlite:///{self._file}")

    def open_broken(self) -> Store:
        return open_store(f"sqlite:///{self._directory}")

    def miscount(self, collection: str, entity: str, b: int, by: int, facet: str = ALL) -> None:
        where = "where collection = ? and entity = ? and facet = ? and bin = ?"
        with closing(sqlite3.connect(self._file)) as db, db:
            db.execute("insert or ignore into population values (?, ?, ?, ?, 0)", (collection, entity, facet, b))
            db.execute(f"update population set n = n + ? {where}", (by, collection, entity, facet, b))

    def garble(self, collection: str, document_id: str, value: bytes) -> None:
        with closing(sqlite3.connect(self._file)) as db, db:
            db.execute(
                "update document set content = cast(? as text) where collection = ? and id = ?",
                (value, collection, document_id),
            )

    def garble_target(self, collection: str, entity: str, value: bytes) -> None:
        with closing(sqlite3.connect(self._file)) as db, db:
            db.execute(
                "update target set target = cast(? as text) where collection = ? and entity = ?",
                (value, collection, entity),
            )


@cache
def _kept_open(connect: Callable[[str], Any], url: str) -> Any:
    client = connect(url)
    atexit.register(client.close)
    return client


class Redis:
    """A prefix of its own on a server that all tests share."""

    _server: Callable[[], Any] = staticmethod(shared_server)

    def __init__(self, directory: Path) -> None:
        self._url = self._server().url
        self._prefix = f"test:{sha256(str(directory).encode()).hexdigest()[:16]}"
        self._keys = Keys(self._prefix, PARTITIONS)

    def open(self) -> Store:
        return open_store(self._url, self._prefix)

    def open_broken(self) -> Store:
        return open_store("redis://127.0.0.1:1/0")

    def _client(self) -> Any:
        """A connection of ours, made once for all tests."""
        return _kept_open(redis.Redis.from_url, self._url)

    def miscount(self, collection: str, entity: str, b: int, by: int, facet: str = ALL) -> None:
        counts = counts_of(self.field(collection, 0, f"{facet}{entity}"), 7)
        counts[b] += by
        self.set_field(collection, 0, f"{facet}{entity}", ",".join(map(str, counts)))

    def garble(self, collection: str, document_id: str, value: bytes) -> None:
        self.set_field(collection, self.partition_of(document_id), f"c:{document_id}", value)

    def garble_target(self, collection: str, entity: str, value: bytes) -> None:
        self.set_field(collection, self.partition_of(entity), f"x:{entity}", value)

    def partition_of(self, name: str) -> int:
        """The partition of a document, or of an external target."""
        return self._keys.partition_of(name)

    def field(self, collection: str, partition: int, name: str) -> bytes | None:
        """A field of a partition, as `app/store/redis/apply.lua` lists them."""
        return self._client().hget(self._keys.partition(collection, partition), name)

    def state(self, collection: str, partition: int) -> tuple[int, str, int]:
        """What a partition says of itself: number of changes, their chain, number of documents."""
        return msgspec.json.decode(self.field(collection, partition, "m") or b"", type=tuple[int, str, int])

    def set_field(self, collection: str, partition: int, name: str, value: str | bytes) -> None:
        """Falsify a field of a partition."""
        self._client().hset(self._keys.partition(collection, partition), name, value)


class Cluster(Redis):
    """The same on a cluster."""

    _server = staticmethod(shared_cluster)

    def _client(self) -> Any:
        node = shared_cluster().nodes[0]
        return _kept_open(redis.RedisCluster.from_url, f"redis://127.0.0.1:{node.port}")

    def open_broken(self) -> Store:
        return open_store("redis+cluster://127.0.0.1:1")


BACKENDS: list[type[Backend]] = [Sqlite, Redis, Cluster]


@pytest.fixture(params=BACKENDS, ids=lambda kind: kind.__name__.lower())
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    try:
        return request.param(tmp_path)
    except NoServerError as error:
        if "CI" in os.environ:  # there they must run
            raise
        pytest.skip(str(error))


@pytest.fixture
def another_store(backend: Backend, runner: asyncio.Runner) -> Iterator[Callable[[], Store]]:
    """Opens stores on the same data; all are closed at the end."""
    with ExitStack() as opened:

        def another() -> Store:
            store = backend.open()
            opened.callback(lambda: runner.run(store.close()))
            return store

        yield another


@pytest.fixture
def store(another_store: Callable[[], Store]) -> Store:
    return another_store()


def put(
    name: str,
    bins: Mapping[str, int] | None = None,
    *,
    version: int | None = None,
    vector: Vector | None = None,
    **fields: Any,
) -> Change:
    """The change that stores a document; its content is the same when all fields are."""
    content = Document(opinions=[Opinion(entity, b) for entity, b in (bins or {}).items()], **fields)
    return Change(name, content, msgspec.json.encode(content), vector, version)


async def counted(store: Store, collection: str, entity: str | None = None, facet: str = ALL) -> dict[int, int]:
    """Bin -> opinions on an entity, or on all entities; only what is not zero."""
    lookup = await store.lookup(collection, entity, [], [facet])
    (counts,) = lookup.domain_counts if entity is None else lookup.entity_counts
    return {b: n for b, n in enumerate(counts) if n}


async def pages(store: Store, cursor: Cursor | None = None) -> AsyncIterator[Page]:
    """What changed past a cursor, page after page to the end."""
    more = True
    while more:
        page = await store.changes(cursor)
        yield page
        cursor, more = page.cursor, page.more


async def walk(store: Store, cursor: Cursor | None = None) -> Page:
    """The same as one page; while nobody writes, each document is there once."""
    walked = [page async for page in pages(store, cursor)]
    entries = [entry for page in walked for entry in page.entries]
    assert len({(entry.collection, entry.id) for entry in entries}) == len(entries)
    assert not any(page.reset for page in walked[1:])
    return Page(entries, walked[-1].cursor, False, walked[0].reset)


def bins_of(entries: Iterable[IndexEntry]) -> dict[tuple[str, str], dict[str, int]]:
    """Opinions of the documents that are present, by collection and id; of two entries the later counts."""
    latest = {(entry.collection, entry.id): entry for entry in entries}
    return {key: dict(entry.bins) for key, entry in latest.items() if entry.present}


class Unreliable:
    """A store that refuses every call while it is down."""

    def __init__(self, store: Store) -> None:
        self.down = False
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if self.down:
            raise StoreUnavailableError("down for the test")
        return getattr(self._store, name)
