"""What a re-ranking reads: from what this process knows of the store, and from the store itself where it must.

The index is at most one poll behind what other processes write, and never behind what this one has written. What it has
of a document is not read again, and counts are read again only when they are as old as that. So a re-ranking whose
candidates are labelled, by the request or by the index, costs the store nothing.
"""

from collections import OrderedDict
from collections.abc import Sequence
from time import monotonic
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from app.errors import StoreUnavailableError
from app.follower import Follower
from app.index import CollectionIndex, Index
from app.store.base import CollectionSettings, Labels, Lookup, Store, StoredDocument

K = TypeVar("K")
V = TypeVar("V")

REMEMBERED = 10_000
"""Entities whose counts are kept, and collections whose settings are kept for when the store cannot be reached."""


class _Counted(NamedTuple):
    """A lookup without labels, and when it was made."""

    lookup: Lookup
    at: float


class Lookups:
    """The store's reads that a re-ranking can do without.

    While the follower cannot reach the store, which it tries all the time, nobody else waits for it either.

    Parameters
    ----------
    staleness_s : how old the counts of an entity may be; what this process writes is told by `forget`.
    """

    def __init__(self, store: Store, index: Index, follower: Follower, staleness_s: float) -> None:
        self._store = store
        self._index = index
        self._follower = follower
        self._staleness_s = staleness_s
        self._settings: OrderedDict[str, CollectionSettings] = OrderedDict()
        self._counted: OrderedDict[tuple[str, str | None], _Counted] = OrderedDict()
        self._forgotten = 0  # times that `forget` was called: what was asked for before is not kept after

    async def lookup(
        self, collection: str, entity: str | None, ids: Sequence[str], labelled: Sequence[str] = ()
    ) -> tuple[Lookup, str | None]:
        """Labels and counts, and why they are only the last known ones, when they are.

        Parameters
        ----------
        ids : documents whose labels are wanted.
        labelled : documents that are labelled already; of them only those that are excluded matter.
        """
        index = self._index[collection]
        labels = _labels(index, entity, ids)
        missing = [name for name in ids if name not in labels]
        missing += [name for name, bins in zip(labelled, map(index.bins, labelled), strict=True) if bins is None]
        try:
            self._check()
            counted = None if missing else self._counted.get((collection, entity))
            if counted is None or monotonic() - counted.at > self._staleness_s:
                found = await self._read(collection, entity, missing)
            else:
                found = counted.lookup
        except StoreUnavailableError as error:
            settings = self._settings.get(collection)
            return _last_known(index, settings, entity, [*ids, *labelled]), error.detail
        return replace(found, labels={**labels, **found.labels}), None

    async def _read(self, collection: str, entity: str | None, ids: Sequence[str]) -> Lookup:
        before, begin = self._forgotten, monotonic()
        found = await self._store.lookup(collection, entity, ids)
        if found.known:
            _keep(self._settings, collection, found.settings)
            if self._forgotten == before:
                _keep(self._counted, (collection, entity), _Counted(replace(found, labels={}), begin))
        return found

    def forget(self) -> None:
        """Something was written here: read all counts anew."""
        self._forgotten += 1
        self._counted.clear()

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


def _keep(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > REMEMBERED:
        kept.popitem(last=False)


def _labels(index: CollectionIndex, entity: str | None, ids: Sequence[str]) -> dict[str, Labels]:
    """Labels of the documents that the index knows to hold an opinion on the entity; it has no others."""
    if entity is None:
        return {}
    return {
        name: Labels(bins[entity], None, excluded=False)
        for name in ids
        if (bins := index.bins(name)) is not None and entity in bins
    }


def _last_known(
    index: CollectionIndex, settings: CollectionSettings | None, entity: str | None, ids: Sequence[str]
) -> Lookup:
    fixed = settings or CollectionSettings()
    n_bins = len(fixed.positions)
    labels = {
        name: Labels(bins.get(entity) if entity is not None else None, None, excluded=False)
        for name in ids
        if (bins := index.bins(name)) is not None
    }
    own = index.counts(entity, n_bins) if entity is not None else [0] * n_bins
    return Lookup(fixed, settings is not None, None, labels, own, index.counts(None, n_bins))
