"""How tests fill an index, and look into it."""

from collections.abc import Iterable, Mapping

import numpy as np

from app.index.base import Hit, Wanted
from app.index.collection import LocalCollection
from app.index.merging import merged
from app.store.base import IndexEntry, Vector
from warp_core import SENTIMENT_INTENSITY

EVERYTHING = 10**6
NO_QUERY = np.zeros(0, np.float32)


def entry(
    name: str,
    vector: Vector | None = None,
    bins: Mapping[str, int] | None = None,
    *,
    collection: str = "c",
    present: bool = True,
    excluded: bool = False,
    document_bin: int | None = None,
) -> IndexEntry:
    """A document as a store tells it."""
    return IndexEntry(collection, name, present, excluded, bins or {}, document_bin, vector)


def index_of(entries: Iterable[IndexEntry]) -> LocalCollection:
    """An index that was told all of these, in order."""
    index = LocalCollection()
    for one in entries:
        index.put(one)
    return index


def sealed(index: LocalCollection, approximate_from: int = EVERYTHING) -> LocalCollection:
    """The same documents over a new segment."""
    view = index.view()
    return LocalCollection(merged(view.parts(), approximate_from, lambda: None), view.excluded)


def search(index: LocalCollection, query: Vector, k: int) -> list[Hit]:
    """What a search finds, at once."""
    return index.view().search(query, k)


def wanted(queries: Mapping[int, Vector]) -> list[Wanted]:
    """Bins of the default scale with their queries."""
    return [Wanted(b, SENTIMENT_INTENSITY.positions[b], query) for b, query in queries.items()]


def members(index: LocalCollection, entity: str = "room") -> dict[str, int]:
    """Document -> bin of those that hold an opinion on the entity."""
    own = index.members(entity)
    every_bin = wanted(dict.fromkeys(own[1].tolist(), NO_QUERY))
    found = index.view().held(own, every_bin, EVERYTHING, (), together=True)
    assert len(set(found.ids)) == len(found.ids) == len(own[0])
    return dict(zip(found.ids, found.bins, strict=True))
