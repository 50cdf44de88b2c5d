"""How tests fill an index, and look into it."""

from collections.abc import Iterable, Mapping

from app.index import CollectionIndex
from app.store.base import IndexEntry, Vector


def entry(
    name: str,
    vector: Vector | None = None,
    bins: Mapping[str, int] | None = None,
    *,
    collection: str = "c",
    present: bool = True,
    excluded: bool = False,
) -> IndexEntry:
    """A document as a store tells it."""
    return IndexEntry(collection, name, present, excluded, bins or {}, vector)


def index_of(entries: Iterable[IndexEntry]) -> CollectionIndex:
    """An index that was told all of these, in order."""
    index = CollectionIndex()
    for one in entries:
        index.put(one)
    return index


def members(index: CollectionIndex, entity: str = "room") -> dict[str, int]:
    """Document -> bin of those that hold an opinion on the entity."""
    found = index.members(entity)
    names = index.ids(found.rows)
    assert len(names) == len(set(names)) == len(found.rows)
    return dict(zip(names, found.bins.tolist(), strict=True))
