"""What a re-ranking reads: from the store, and, while that cannot be reached, from what this process knows of it."""

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from app.errors import StoreUnavailableError
from app.follower import Follower
from app.index import CollectionIndex, Index
from app.store.base import CollectionSettings, ExternalTarget, Labels, Lookup, Store, StoredDocument
from app.store.facets import ALL

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

REMEMBERED_SETTINGS = 1000
REMEMBERED_TARGETS = 10_000
"""How many of each are kept for the time when the store cannot be reached."""


class Found(NamedTuple):
    """What was read, and for which entity: opinions may count under another name than the one asked for."""

    lookup: Lookup
    entity: str | None
    outage: str | None
    """Why it is only the last known, when it is."""


class Lookups:
    """The store's reads that a re-ranking can do without.

    While the follower cannot reach the store, which it tries all the time, nobody else waits for it either.
    """

    def __init__(self, store: Store, index: Index, follower: Follower) -> None:
        self._store = store
        self._index = index
        self._follower = follower
        self._settings: _Remembered[str, CollectionSettings] = _Remembered(REMEMBERED_SETTINGS)
        self._targets: _Remembered[tuple[str, str], ExternalTarget] = _Remembered(REMEMBERED_TARGETS)

    async def aliases(self, collection: str) -> Mapping[str, str]:
        """The entities' other names, as last known: name that opinions count under, by other name."""
        settings = self._settings.get(collection)
        if settings is None:
            try:
                self._check()
                settings = await self._store.settings(collection)
            except StoreUnavailableError:
                return {}
            if settings is None:
                return {}
            self._settings.put(collection, settings)
        return settings.aliases

    async def lookup(
        self, collection: str, entity: str | None, ids: Sequence[str], facets: Sequence[str] = (ALL,)
    ) -> Found:
        """Labels of documents, and counts of an entity under whatever name it is asked for."""
        asked = entity
        known = self._settings.get(collection)
        try:
            while True:
                if asked is not None:
                    entity = known.aliases.get(asked, asked) if known else asked
                self._check()
                found = await self._store.lookup(collection, entity, ids, facets)
                known = found.settings
                if asked is None or known.aliases.get(asked, asked) == entity:
                    break
        except StoreUnavailableError as error:
            external = self._targets.get((collection, entity or ""))
            last = _last_known(self._index[collection], known, entity, ids, len(facets), external)
            return Found(last, entity, error.detail)
        if found.known:
            self._settings.put(collection, found.settings)
        if found.external and entity is not None:
            self._targets.put((collection, entity), found.external)
        else:
            self._targets.forget((collection, entity or ""))
        return Found(found, entity, None)

    async def documents(self, collection: str, ids: Sequence[str]) -> tuple[dict[str, StoredDocument], str | None]:
        """Those of the documents that are stored, and why there are none, when the store cannot be reached."""
        if not ids:
            return {}, None
        try:
            self._check()
            return await self._store.documents(collection, ids), None
        except StoreUnavailableError as error:
            return {}, error.detail

    def _check(self) -> None:
        if not self._follower.caught_up:
            raise StoreUnavailableError("the store cannot be reached")


class _Remembered(Generic[K, V]):
    """A bounded number of values; the one that was put longest ago goes first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._size:
            self._values.popitem(last=False)

    def forget(self, key: K) -> None:
        self._values.pop(key, None)


def _last_known(
    index: CollectionIndex,
    settings: CollectionSettings | None,
    entity: str | None,
    ids: Sequence[str],
    facets: int,
    external: ExternalTarget | None,
) -> Lookup:
    """Of days and groups nothing is known here: each facet has the counts of all opinions, which gives their shares."""
    fixed = settings or CollectionSettings()
    n_bins = len(fixed.positions)
    labels = {
        name: Labels(bins.get(entity) if entity is not None else None, None, excluded=False)
        for name in ids
        if (bins := index.bins(name)) is not None
    }
    own = index.counts(entity, n_bins) if entity is not None else [0] * n_bins
    domain = index.counts(None, n_bins)
    return Lookup(fixed, settings is not None, None, labels, [own] * facets, [domain] * facets, external)
