"""Counts held against a recount of the stored opinions."""

from collections import Counter

from app.store.base import Drift
from app.store.redis import layout
from app.store.redis.layout import Keys, Server


async def recount(server: Server, keys: Keys, collection: str, partitions: int) -> list[Drift]:
    """The counts of a collection that differ, summed over its partitions, each of which is read at one moment."""
    counted: Counter[tuple[str, int]] = Counter()
    recounted: Counter[tuple[str, int]] = Counter()
    for p in range(partitions):
        fields: dict[bytes, bytes] = await server.hgetall(keys.partition(collection, p))
        for field, raw in fields.items():
            kind, name = field[:2], field[2:].decode()
            if kind == b"p:":
                counted.update({(name, b): n for b, n in enumerate(layout.counts_of(raw, 0))})
            elif kind == b"d:" and (record := layout.decode_document(raw)).present and not record.excluded:
                for entity, b in record.bins.items():
                    recounted.update([(entity, b), ("", b)])
    differing = sorted(count for count in counted.keys() | recounted.keys() if counted[count] != recounted[count])
    return [Drift(collection, entity, b, counted[entity, b], recounted[entity, b]) for entity, b in differing]
