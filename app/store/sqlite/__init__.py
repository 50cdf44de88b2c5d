"""The embedded store: one SQLite file, WAL, `synchronous=FULL`: what is answered for is on the disk."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

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
    Lookup,
    Outcome,
    Page,
    Record,
    StoredDocument,
    VectorSpace,
)
from app.store.facets import ALL
from app.store.sqlite import reads, writes
from app.store.sqlite.schema import SCHEMA, VERSION

P = ParamSpec("P")
T = TypeVar("T")

READERS = 2
BUSY_TIMEOUT_S = 30


class SqliteStore:
    """`Store` over one file; several processes may share it. Writes queue in one thread, reads run beside them."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._writer = ThreadPoolExecutor(1, "store-write")
        self._readers = ThreadPoolExecutor(READERS, "store-read")
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _patiently(lambda: _prepare(self._connection()))
        except StoreUnavailableError:
            self._close_connections()
            raise
        except (OSError, sqlite3.Error) as error:
            self._close_connections()
            raise StoreUnavailableError(f"the store cannot be opened at {self._path}: {error}") from error

    async def close(self) -> None:
        for pool in (self._writer, self._readers):
            await asyncio.to_thread(pool.shutdown)
        self._close_connections()

    def _close_connections(self) -> None:
        while self._open:
            self._open.pop().close()

    # Reads

    async def collections(self) -> list[str]:
        return await self._read(reads.collections)

    async def settings(self, collection: str) -> CollectionSettings | None:
        return await self._read(reads.collection_settings, collection)

    async def vector_space(self, collection: str) -> VectorSpace | None:
        return await self._read(reads.vector_space, collection)

    async def document(self, collection: str, document_id: str) -> StoredDocument | None:
        return (await self._read(reads.documents, collection, [document_id])).get(document_id)

    async def documents(self, collection: str, ids: Sequence[str]) -> dict[str, StoredDocument]:
        return await self._read(reads.documents, collection, ids)

    async def lookup(
        self, collection: str, entity: str | None, ids: Sequence[str], facets: Sequence[str] = (ALL,)
    ) -> Lookup:
        return await self._read(reads.lookup, collection, entity, ids, facets)

    async def targets(self, collection: str) -> dict[str, ExternalTarget]:
        return await self._read(reads.targets, collection)

    async def records(self, collection: str) -> AsyncIterator[Record]:
        after = ""
        while page := await self._read(reads.records, collection, after):
            for record in page:
                yield record
            after = page[-1].id

    async def changes(self, cursor: Cursor | None) -> Page:
        return await self._read(reads.changes, cursor)

    async def drift(self) -> list[Drift | Damage]:
        found, _ = await self._read(reads.drift)
        return [*found, *await self._read(reads.damage)]

    # Writes

    async def put_settings(self, collection: str, settings: CollectionSettings) -> bool:
        return await self._write(writes.put_settings, collection, settings)

    async def apply(
        self,
        collection: str,
        changes: Sequence[Change],
        space: VectorSpace | None = None,
        positions: tuple[float, ...] | None = None,
    ) -> list[Outcome]:
        return await self._write(writes.apply, collection, changes, space, positions)

    async def acknowledgement(self) -> Ack:
        return "local"

    async def put_target(self, collection: str, entity: str, target: ExternalTarget | None) -> bool:
        return await self._write(writes.put_target, collection, entity, target)

    async def repair(self) -> list[Drift | Damage]:
        while True:
            found, repairs = await self._read(reads.drift)
            if not found or await self._write(writes.repair, found, repairs):
                return [*found, *await self._read(reads.damage)]

    async def purge(self, tombstone_life_s: float = TOMBSTONE_LIFE_S) -> int:
        return await self._write(writes.purge, time.time_ns() // 1000 - int(tombstone_life_s * 1e6))

    # Connections: one a thread, since SQLite serialises the use of a single one

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self._path, BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=64
            )
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = full")
            self._local.connection = connection
            self._open.append(connection)
        return connection

    async def _read(
        self, query: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._run(self._readers, "deferred", query, *args, **kwargs)

    async def _write(
        self, change: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        # Shielded: a caller that goes away must not leave its write unaccounted for.
        return await asyncio.shield(self._run(self._writer, "immediate", change, *args, **kwargs))

    async def _run(
        self,
        pool: ThreadPoolExecutor,
        transaction: str,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        def run() -> T:
            connection = self._connection()
            connection.execute(f"begin {transaction}")
            try:
                result = work(connection, *args, **kwargs)
                connection.execute("commit")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("rollback")
                raise
            return result

        try:
            return await asyncio.get_running_loop().run_in_executor(pool, run)
        except sqlite3.Error as error:
            raise StoreUnavailableError(f"the store refused: {error}") from error
        except msgspec.MsgspecError as error:
            raise StoreUnavailableError(f"a stored value cannot be read: {error}; see warp-rerank verify") from error


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables, unless they are there; other ones are left as they are."""
    connection.execute("begin immediate")
    try:
        (version,) = connection.execute("pragma user_version").fetchone()
        (tables,) = connection.execute("select count(*) from sqlite_master").fetchone()
        if tables and version != VERSION:
            raise StoreUnavailableError(
                f"the store was written by another version: its tables are of version {version}, these of {VERSION}; "
                "export it with the version that wrote it, and import it into a new one"
            )
        for statement in SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(f"pragma user_version = {VERSION}")
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise


def _patiently(step: Callable[[], T]) -> T:
    """Do what another process may hold up. SQLite does not wait by itself while the journal mode is changed."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            if (
                error.sqlite_errorcode not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                or time.monotonic() > deadline
            ):
                raise
            time.sleep(0.05)
