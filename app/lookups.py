"""What a re-ranking reads: from what this process knows of the store, and from the store itself where it must.

The index is at most one poll behind what other processes write, and never behind what this one has written. So labels
are the index's, and counts are read again only when they are as old as that: a re-ranking costs the store nothing. Only
while the index is further behind, or follows a change of the registry, is the store asked for labels.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from time import monotonic
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from app.errors import StoreUnavailableError
from app.follower import Follower
from app.index.base import CollectionIndex, Index
from app.remembered import Remembered
from app.store.base import CollectionSettings, ExternalTarget, Labels, Lookup, Store, StoredDocument
from app.store.facets import ALL

T = TypeVar("T")

REMEMBERED_SETTINGS = 1000
REMEMBERED_TARGETS = 10_000
"""How many of each are kept for the time when the store cannot be reached."""
REMEMBERED_COUNTS = 10_000
BEHIND = 3
"""An index that was not found in step for so many times as long as it should take is behind."""
RETRY_S = 0.5

_EXCLUDED = Labels(None, None, excluded=True)


class Found(NamedTuple):
    """What was read, and for which entity: opinions may count under another name than the one asked for."""

    lookup: Lookup
    entity: str | None
    outage: str | None
    """Why it is only the last known, when it is."""


class _Counted(NamedTuple):
    """A lookup without labels, and when it was made."""

    lookup: Lookup
    at: float


class Lookups:
    """The store's reads that a re-ranking can do without.

    While the follower cannot reach the store, which it tries all the time, nobody else waits for it either. Until it
    has noticed, whoever was not answered in time spares the others the same.

    Parameters
    ----------
    staleness_s : how old counts may be. What this process itself writes is told by `forget`.
    timeout_s : how long the store may take for an answer.
    retry_s : how long a store that took longer is left alone.
    """

    def __init__(
        self,
        store: Store,
        index: Index,
        follower: Follower,
        staleness_s: float,
        timeout_s: float,
        retry_s: float = RETRY_S,
    ) -> None:
        self._store = store
        self._index = index
        self._follower = follower
        self._staleness_s = staleness_s
        self._timeout_s = timeout_s
        self._retry_s = retry_s
        self._silent_until: float | None = None  # it did not answer in time: when one may ask again
        self._settings: Remembered[str, CollectionSettings] = Remembered(REMEMBERED_SETTINGS)
        self._targets: Remembered[tuple[str, str], ExternalTarget] = Remembered(REMEMBERED_TARGETS)
        self._counts: Remembered[Hashable, _Counted] = Remembered(REMEMBERED_COUNTS)
        self._reading: dict[Hashable, asyncio.Task[Lookup]] = {}
        self._relabelled_s = 0.0  # when a registry was last seen to be another than before
        self._forgotten = 0  # times that `forget` was called: what was asked for before is not kept after

    async def aliases(self, collection: str) -> Mapping[str, str]:
        """The entities' other names, as last known: name that opinions count under, by other name."""
        settings = await self._last_settings(collection)
        return {} if settings is None else settings.aliases

    async def is_collection(self, name: str) -> bool:
        """Whether there is a collection of that name, as far as is known."""
        return await self._last_settings(name) is not None

    async def _last_settings(self, collection: str) -> CollectionSettings | None:
        """As last known; None when there is no such collection, or the store cannot tell."""
        settings = self._settings.get(collection)
        if settings is None:
            try:
                settings = await self._asked(lambda: self._store.settings(collection))
            except StoreUnavailableError:
                return None
            if settings is not None:
                self._settings.put(collection, settings)
        return settings

    async def lookup(
        self,
        collection: str,
        entity: str | None,
        ids: Sequence[str],
        facets: Sequence[str] = (ALL,),
        others: Sequence[str] = (),
    ) -> Found:
        """Labels of documents, and counts of an entity under whatever name it is asked for.

        Parameters
        ----------
        ids : documents whose labels are wanted.
        others : documents of which only matters whether they are excluded; they may hold those of `ids` again.
        """
        asked = entity
        known = self._settings.get(collection)
        index = self._index[collection]
        try:
            while True:
                if asked is not None:
                    entity = known.aliases.get(asked, asked) if known else asked
                found = await self._found(collection, index, entity, ids, facets, others)
                # What was asked for by names that have changed, or labelled by an index that has not followed, is
                # asked for once more.
                before, known = known, found.settings
                same_labels = before is None or known.registry == before.registry
                if same_labels and (asked is None or known.aliases.get(asked, asked) == entity):
                    return Found(found, entity, None)
        except StoreUnavailableError as error:
            external = self._targets.get((collection, entity or ""))
            last = _last_known(index, known, entity, _labels(index, entity, ids, others), len(facets), external)
            return Found(last, entity, error.detail)

    async def _found(
        self,
        collection: str,
        index: CollectionIndex,
        entity: str | None,
        ids: Sequence[str],
        facets: Sequence[str],
        others: Sequence[str],
    ) -> Lookup:
        self._check()
        if self._is_behind():
            return await self._read(collection, entity, list({*ids, *others}), facets)
        labels = _labels(index, entity, ids, others)
        counted = self._counts.get((collection, entity, *facets))
        if counted is not None and monotonic() - counted.at <= self._staleness_s:
            return replace(counted.lookup, labels=labels)
        return replace(await self._read_for_all(collection, entity, facets), labels=labels)

    async def _read_for_all(self, collection: str, entity: str | None, facets: Sequence[str]) -> Lookup:
        """Counts, read once for all who ask for them before the answer is there; whoever leaves leaves it to the rest.

        They are too old for many requests at the same moment: for all that are under way.
        """
        key, reading = (collection, entity, *facets), self._reading
        task = reading.get(key)
        if task is None:
            task = reading[key] = asyncio.create_task(self._read(collection, entity, (), facets))

            def done(task: asyncio.Task[Lookup]) -> None:
                del reading[key]
                if not task.cancelled():
                    task.exception()  # seen, also where nobody waits for it any longer

            task.add_done_callback(done)
        return await asyncio.shield(task)

    async def _read(self, collection: str, entity: str | None, ids: Sequence[str], facets: Sequence[str]) -> Lookup:
        before, begin = self._forgotten, monotonic()
        found = await self._asked(lambda: self._store.lookup(collection, entity, ids, facets))
        if found.known:
            last = self._settings.get(collection)
            if last is not None and last.registry != found.settings.registry:
                self._relabelled_s = monotonic()
            self._settings.put(collection, found.settings)
        if found.external and entity is not None:
            self._targets.put((collection, entity), found.external)
        else:
            self._targets.forget((collection, entity or ""))
        if found.known and self._forgotten == before:
            self._counts.put((collection, entity, *facets), _Counted(replace(found, labels={}), begin))
        return found

    def forget(self) -> None:
        """Something was written here: all counts are read anew."""
        self._forgotten += 1
        self._counts = Remembered(REMEMBERED_COUNTS)
        self._reading = {}

    async def documents(self, collection: str, ids: Sequence[str]) -> tuple[dict[str, StoredDocument], str | None]:
        """Those of the documents that are stored, and why there are none, when the store cannot be reached."""
        if not ids:
            return {}, None
        try:
            return await self._asked(lambda: self._store.documents(collection, ids)), None
        except StoreUnavailableError as error:
            return {}, error.detail

    def _is_behind(self) -> bool:
        lag = self._follower.lag
        return lag.seconds > BEHIND * self._staleness_s or (lag.step_s or 0) < self._relabelled_s

    def _check(self) -> None:
        if not self._follower.caught_up:
            raise StoreUnavailableError("the store cannot be reached")

    async def _asked(self, question: Callable[[], Awaitable[T]]) -> T:
        """What the store answers in time.

        Raises
        ------
        StoreUnavailableError : it does not.
        """
        self._check()
        now = monotonic()
        if self._silent_until is not None and now < self._silent_until:
            raise StoreUnavailableError("the store does not answer in time")
        if self._silent_until is not None:
            self._silent_until = now + self._retry_s  # this one tries, the others wait for what comes of it
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await question()
        except TimeoutError:
            self._silent_until = monotonic() + self._retry_s
            raise StoreUnavailableError("the store does not answer in time") from None
        self._silent_until = None
        return answer


def _labels(index: CollectionIndex, entity: str | None, ids: Sequence[str], others: Sequence[str]) -> dict[str, Labels]:
    """What the index knows of the documents; of the others, which are excluded."""
    hidden = dict.fromkeys(index.excluded(others), _EXCLUDED)
    return {**index.labels(entity, ids), **hidden} if ids else hidden


def _last_known(
    index: CollectionIndex,
    settings: CollectionSettings | None,
    entity: str | None,
    labels: Mapping[str, Labels],
    facets: int,
    external: ExternalTarget | None,
) -> Lookup:
    """Of days and groups nothing is known here: each facet has the counts of all opinions, which gives their shares."""
    fixed = settings or CollectionSettings()
    n_bins = len(fixed.positions)
    own = index.counts(entity, n_bins) if entity is not None else [0] * n_bins
    domain = index.counts(None, n_bins)
    return Lookup(fixed, settings is not None, None, labels, [own] * facets, [domain] * facets, external)
