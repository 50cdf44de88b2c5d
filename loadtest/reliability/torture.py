"""Writers, a follower and a watcher on one store, while something goes wrong; then the check."""

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.errors import StoreUnavailableError
from app.store import open_store
from app.store.base import CollectionSettings, Cursor, IndexEntry, Store
from loadtest.reliability.checking import Findings, astray, check
from loadtest.reliability.content import COLLECTION, ENTITIES, NUMBER_OF, SPACE
from loadtest.reliability.ledger import Batch, Gate, read
from loadtest.reliability.nursery import Nursery, usual_nursery
from loadtest.reliability.writer import Orders

PREFIX = "torture"
WRITERS = 8
WATCH_S = 0.5
SETTLE_S = 20


@dataclass(frozen=True)
class Running:
    """A writer that runs."""

    nursery: Nursery
    process: int
    number: int
    ledger: Path


class Torture:
    """One run. Use as a context: on leaving it no writer is left.

    Parameters
    ----------
    directory : for ledgers and logs.
    url : of the store, as those who check reach it.
    writers_url : as the writers reach it, or http:// of a service over it; `url` when left out.
    ack : that the writers ask of the store.
    watched : whether the store's own recount must find nothing at any time.
    dimension : of the vectors.
    """

    def __init__(
        self,
        directory: Path,
        url: str,
        writers_url: str | None = None,
        *,
        writers: int = WRITERS,
        seed: int = 1,
        ack: str | None = None,
        watched: bool = True,
        dimension: int = SPACE.dimension,
    ) -> None:
        self.random = random.Random(seed)
        self._directory = directory
        self._url, self._writers_url = url, writers_url or url
        self.writers, self._ack, self._dimension = writers, ack, dimension
        self._gate = Gate(directory / "gate")
        self._epoch = time.monotonic() - 1
        self._running: list[Running] = []
        self._ledgers: list[Path] = []
        self._since = 0.0
        self._watched = Findings()
        self._follower = Follower()
        self._jobs = [self._follower.follow, *([self._watch] if watched else [])]

    def __enter__(self) -> "Torture":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill_writers()

    async def run(
        self,
        seconds: float,
        disturb: Callable[["Torture"], Awaitable[None]] | None = None,
        nurseries: Sequence[Nursery] = (),
    ) -> Findings:
        """Let the writers write while the follower follows and something disturbs them, then check.

        Parameters
        ----------
        seconds : how long; `disturb` is waited for even when it takes longer.
        nurseries : where the first writers come from, one each.
        """
        self._gate.set(Gate.WAIT)
        store = open_store(self._url, PREFIX)
        await store.put_settings(COLLECTION, CollectionSettings())
        await store.close()
        for nursery in [*nurseries, *[usual_nursery()] * (self.writers - len(nurseries))]:
            self.start_writer(nursery)
        async with self.watching():
            await self.go_on()
            await asyncio.gather(asyncio.sleep(seconds), *([disturb(self)] if disturb else []))
            self._gate.set(Gate.END)
            await asyncio.to_thread(self._join)
        return await self.check()

    # Writers

    def start_writer(self, nursery: Nursery | None = None) -> None:
        """Start one more; by default with what is installed here."""
        number = len(self._ledgers)
        self._ledgers.append(self._directory / f"ledger{number}")
        orders = Orders(
            number % Gate.MAX_WRITERS,
            self._writers_url,
            PREFIX,
            ledger=str(self._ledgers[-1]),
            gate=str(self._directory / "gate"),
            seed=self.random.getrandbits(32),
            epoch=self._epoch,
            ack=self._ack,
            dimension=self._dimension,
        )
        nursery = nursery or usual_nursery()
        self._running.append(Running(nursery, nursery.start(orders), orders.number, self._ledgers[-1]))

    def kill_writer(self) -> None:
        """Kill one in the middle of its work, and start another."""
        victim = self._running.pop(self.random.randrange(len(self._running)))
        self._kill([victim])
        self.start_writer(victim.nursery)

    def kill_writers(self) -> None:
        """Kill all."""
        self._kill(self._running)
        self._running.clear()

    def _kill(self, victims: Sequence[Running]) -> None:
        for victim in victims:
            os.kill(victim.process, signal.SIGKILL)
        for victim in victims:
            victim.nursery.wait_for(victim.process)
            self._gate.leave(victim.number)

    async def go_on(self) -> None:
        """Wait until all writers are there, and let them send."""
        while not all(writer.ledger.exists() for writer in self._running):  # noqa: ASYNC110 - other processes make them
            await asyncio.sleep(0.01)
        self._gate.set(Gate.RUN)

    def pause(self) -> None:
        """No writer sends anything new."""
        self._gate.set(Gate.WAIT)

    async def quiet(self) -> None:
        """Wait until no writer is sending any more."""
        while self._gate.busy:  # noqa: ASYNC110 - other processes set it
            await asyncio.sleep(0.01)

    def _join(self) -> None:
        for writer in self._running:
            if status := writer.nursery.wait_for(writer.process):
                raise RuntimeError(f"a writer failed; its exit code is {status}")
        self._running.clear()

    # Those who look

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Follow the store, and ask it now and then for its own recount, which must never find anything."""
        stopping = asyncio.Event()
        store = open_store(self._url, PREFIX)
        tasks = [asyncio.create_task(job(store, stopping)) for job in self._jobs]
        try:
            yield
        finally:
            stopping.set()
            await asyncio.gather(*tasks)
            await store.close()

    async def _watch(self, store: Store, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            with contextlib.suppress(StoreUnavailableError):
                self._watched.drift += map(str, await store.drift())
                for entity in ENTITIES:
                    lookup = await store.lookup(COLLECTION, entity, [])
                    self._watched.negatives += sum(n < 0 for row in lookup.entity_counts for n in row)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), WATCH_S)

    def batches(self) -> list[Batch]:
        """What the writers have noted by now."""
        return read([ledger for ledger in self._ledgers if ledger.exists()])  # one killed at once has none

    async def check(self) -> Findings:
        """Check all that was sent so far; nobody may be writing. What is found lost is not told again."""
        batches, now = self.batches(), time.monotonic()
        store = open_store(self._url, PREFIX)
        try:
            await _reachable(store)
            findings = await check(store, batches, self._since)
            await self._follower.catch_up(store)
            stored = await store.documents(COLLECTION, list(NUMBER_OF))
        finally:
            await store.close()
        contents = {name: document.content for name, document in stored.items()}
        findings.astray += astray(self._follower.entries, contents, self._dimension)
        findings.drift += self._watched.drift
        findings.negatives += self._watched.negatives
        if findings.lost:
            self._since = now
        return findings


class Follower:
    """An index's view of the store, from the beginning."""

    def __init__(self) -> None:
        self.entries: dict[str, IndexEntry] = {}
        self._cursor: Cursor | None = None
        self._walking = asyncio.Lock()

    async def follow(self, store: Store, stopping: asyncio.Event) -> None:
        """Follow until told to stop, whatever becomes of the store."""
        while not stopping.is_set():
            with contextlib.suppress(StoreUnavailableError):
                await self.catch_up(store)
            await asyncio.sleep(0.05)

    async def catch_up(self, store: Store) -> None:
        """Follow to the end."""
        async with self._walking:
            more = True
            while more:
                page = await store.changes(self._cursor)
                if page.reset:
                    self.entries.clear()
                self.entries.update({entry.id: entry for entry in page.entries})
                self._cursor, more = page.cursor, page.more


async def _reachable(store: Store) -> None:
    """Wait until the store answers again after what was done to it."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        try:
            await store.changes(None)
        except StoreUnavailableError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)
        else:
            return
