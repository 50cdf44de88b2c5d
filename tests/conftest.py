"""What the tests share: `async def` tests, and a store over every backend."""

import asyncio
import inspect
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from app.errors import StoreUnavailableError
from app.store import open_store
from app.store.base import Change, Document, Opinion, Store, Vector


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an `async def` test on an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


class Backend(Protocol):
    """A place of its own for one store's data, empty at first."""

    def __init__(self, directory: Path) -> None: ...

    def open(self) -> Store:
        """A store on the data; two of them share it, as two processes would."""

    def open_broken(self) -> Store:
        """Try to open what cannot be opened."""

    def miscount(self, collection: str, entity: str, b: int, by: int) -> None:
        """Falsify a count behind the store's back."""


class Sqlite:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file = directory / "warp.db"

    def open(self) -> Store:
        return open_store(f"sqlite:///{self._file}")

    def open_broken(self) -> Store:
        return open_store(f"sqlite:///{self._directory}")

    def miscount(self, collection: str, entity: str, b: int, by: int) -> None:
        update = "update population set n = n + ? where collection = ? and entity = ? and bin = ?"
        with closing(sqlite3.connect(self._file)) as db, db:
            assert db.execute(update, (by, collection, entity, b)).rowcount == 1


BACKENDS: list[type[Backend]] = [Sqlite]


@pytest.fixture(params=BACKENDS, ids=lambda kind: kind.__name__.lower())
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    return request.param(tmp_path)


@pytest.fixture
def another_store(backend: Backend) -> Iterator[Callable[[], Store]]:
    """Opens stores on the same data; all are closed at the end."""
    with ExitStack() as opened:

        def another() -> Store:
            store = backend.open()
            opened.callback(lambda: asyncio.run(store.close()))
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


async def counted(store: Store, collection: str, entity: str | None = None) -> dict[int, int]:
    """Bin -> opinions on an entity, or on all entities; only what is not zero."""
    lookup = await store.lookup(collection, entity, [])
    counts = lookup.domain_counts if entity is None else lookup.entity_counts
    return {b: n for b, n in enumerate(counts) if n}


class Unreliable:
    """A store that refuses every call while it is down."""

    def __init__(self, store: Store) -> None:
        self.down = False
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if self.down:
            raise StoreUnavailableError("down for the test")
        return getattr(self._store, name)
