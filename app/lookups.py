"""What a re-ranking reads: from the store, and, while that cannot be reached, from what this process knows of it."""

from collections import OrderedDict
from collections.abc import Sequence

from app.errors import StoreUnavailableError
from app.follower import Follower
from app.index.base import CollectionIndex, Index
from app.store.base import CollectionSettings, Labels, Lookup, Store, StoredDocument

REMEMBERED_SETTINGS = 1000
"""Collections whose settings are kept for the time when the store cannot be reached."""


class Lookups:
    """The store's reads that a re-ranking can do without.

    While the follower cannot reach the store, which it tries all the time, nobody else waits for it either.
    """

    def __init__(self, store: Store, index: Index, follower: Follower) -> None:
        self._store = store
        self._index = index
        self._follower = follower
        self._settings: OrderedDict[str, CollectionSettings] = OrderedDict()

    async def lookup(self, collection: str, entity: str | None, ids: Sequence[str]) -> tuple[Lookup, str | None]:
        """Labels and counts, and why they are only the last known ones, when they are."""
        try:
            self._check()
            found = await self._store.lookup(collection, entity, ids)
        except StoreUnavailableError as error:
            settings = self._settings.get(collection)
            return _last_known(self._index[collection], settings, entity, ids), error.detail
        if found.known:
            self._settings[collection] = found.settings
            self._settings.move_to_end(collection)
            if len(self._settings) > REMEMBERED_SETTINGS:
                self._settings.popitem(last=False)
        return found, None

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
