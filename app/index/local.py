"""All collections in this process."""

from collections.abc import Mapping

import msgspec

from app.index.collection import LocalCollection, View
from app.store.base import IndexEntry


class LocalIndex:
    """`Index` over what the follower tells.

    Parameters
    ----------
    keeps_vectors : False where another engine holds them.
    collections : what it starts with.
    """

    def __init__(self, keeps_vectors: bool = True, collections: Mapping[str, LocalCollection] | None = None) -> None:
        self.keeps_vectors = keeps_vectors
        self._collections = dict(collections or {})

    def __len__(self) -> int:
        return sum(map(len, self._collections.values()))

    def __getitem__(self, collection: str) -> LocalCollection:
        return self._collections.get(collection, _NOTHING)

    async def close(self) -> None:
        """Nothing is held open."""

    def put(self, entry: IndexEntry) -> None:
        """Take over a document's present state, the latest that the store has."""
        if entry.collection not in self._collections:
            self._collections[entry.collection] = LocalCollection()
        if not self.keeps_vectors and entry.vector is not None:
            entry = msgspec.structs.replace(entry, vector=None)
        self._collections[entry.collection].put(entry)

    def adopt(self, other: "LocalIndex") -> None:
        """Take over all of another index, and forget what was here."""
        self._collections = other._collections

    def replaced(self, some: Mapping[str, LocalCollection]) -> "LocalIndex":
        """The same collections, but some of them others."""
        return LocalIndex(self.keeps_vectors, {**self._collections, **some})

    def views(self) -> dict[str, View]:
        """All collections as they are now."""
        return {name: index.view() for name, index in self._collections.items()}

    def to_seal(self) -> list[str]:
        """Names of the collections that are worth a new segment."""
        return [name for name, index in self._collections.items() if index.needs_sealing()]


_NOTHING = LocalCollection()
"""A collection of which nothing has come yet; only ever read."""
