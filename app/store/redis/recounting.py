"""Counts held against a recount of the stored opinions, partition by partition, each read at one moment."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from app.store.base import Drift
from app.store.facets import split
from app.store.redis import layout
from app.store.redis.layout import Keys
from app.store.redis.server import Script, Server

Count = tuple[str, str, int]
"""Facet, entity and bin."""
DOCUMENTS: Count = ("", "", 0)
"""The number of documents is looked at as a count too."""

COUNTS_A_CALL = 1000
"""What Lua can unpack bounds how many counts a call may set."""
SCAN_COUNT = 1000

_REPAIR, _PURGE = Script("repair.lua"), Script("purge.lua")
_COUNT_KINDS = (b"p:", b"t:", b"g:")


async def recount(server: Server, keys: Keys, collection: str, n_bins: int, repairs: bool) -> list[Drift]:
    """The counts of a collection that differ in any partition; with `repairs` they are set right as well.

    Told are their sums over all partitions, as they were before.
    """
    counted: Counter[Count] = Counter()
    recounted: Counter[Count] = Counter()
    differing: set[Count] = set()
    for p in range(keys.partitions):
        key = keys.partition(collection, p)
        found = await _recount_partition(server, key, n_bins)
        while repairs and found.missing() and not await _repair(server, key, n_bins, found):
            found = await _recount_partition(server, key, n_bins)
        counted.update(found.counted)
        recounted.update(found.recounted)
        differing |= found.missing().keys()
    return [Drift(collection, *count, counted[count], recounted[count]) for count in sorted(differing)]


@dataclass(frozen=True)
class _Recount:
    """Of one partition.

    Parameters
    ----------
    counted : its counts.
    recounted : the same from its documents.
    unreadable : documents that nobody can read. Their opinions do not count, and no change of them is taken.
    repairs : how many there were before.
    """

    counted: Counter[Count]
    recounted: Counter[Count]
    unreadable: list[bytes]
    repairs: int

    def missing(self) -> dict[Count, int]:
        """What has to be added to the counts that differ."""
        names = self.counted.keys() | self.recounted.keys()
        return {name: n for name in names if (n := self.recounted[name] - self.counted[name])}


async def _recount_partition(server: Server, key: str, n_bins: int) -> _Recount:
    fields: dict[bytes, bytes] = await server.call("HGETALL", key)
    counted: Counter[Count] = Counter()
    recounted: Counter[Count] = Counter()
    unreadable = []
    for field, raw in fields.items():
        if field[:2] in _COUNT_KINDS:
            facet, entity = split(field)
            counted.update({(facet, entity, b): n for b, n in enumerate(_readable(raw, n_bins))})
        elif field[:2] == b"d:":
            record = _document(raw)
            if record is None:
                unreadable.append(field[2:])
            elif record.present:
                recounted[DOCUMENTS] += 1
                for facet in () if record.excluded else record.facets:
                    for entity, b in record.bins.items():
                        recounted[facet, entity, b] += 1
                        recounted[facet, "", b] += 1
    state = fields.get(b"m")
    counted[DOCUMENTS] = layout.decode_state(state).documents if state else 0
    return _Recount(counted, recounted, unreadable, int(fields.get(b"r", b"0")))


def _readable(raw: bytes, n_bins: int) -> list[int]:
    """A count; nothing of one that is none, which the repair takes for zero as well."""
    try:
        return layout.counts_of(raw, n_bins)
    except ValueError:
        return []


def _document(raw: bytes) -> layout.DocumentRecord | None:
    """A document; None of one that cannot be read, whose opinions nobody can know, so that they do not count."""
    try:
        return layout.decode_document(raw)
    except layout.UNREADABLE:
        return None


async def _repair(server: Server, key: str, n_bins: int, found: _Recount) -> bool:
    """Add what is missing; False when another repair came first."""
    missing, repairs = found.missing(), found.repairs
    documents = missing.pop(DOCUMENTS, 0)
    counts = iter(missing.items())
    while (chunk := list(islice(counts, COUNTS_A_CALL))) or documents:
        arguments = [part for (facet, entity, b), n in chunk for part in (facet + entity, b, n)]
        (done,) = await server.run(_REPAIR, [(key, [repairs, n_bins, documents, *arguments])])
        if not done:
            return False
        documents, repairs = 0, repairs + 1
    if found.unreadable:  # gone, they can be ingested again
        await server.call("HDEL", key, *(kind + name for name in found.unreadable for kind in (b"d:", b"c:", b"v:")))
    return True


async def purge(server: Server, keys: Keys, collection: str, before_us: int) -> int:
    """Forget documents that were deleted before a time, and counts of zero; how many of both."""
    forgotten = 0
    for p in range(keys.partitions):
        key, at = keys.partition(collection, p), 0
        while True:
            at, fields = await server.call("HSCAN", key, at, "COUNT", SCAN_COUNT)
            names = list(_removable(fields, before_us))
            if names:
                forgotten += sum(await server.run(_PURGE, [(key, [before_us, *names])]))
            if at == 0:
                break
    return forgotten


def _removable(fields: dict[bytes, bytes], before_us: int) -> Iterator[bytes]:
    for field, raw in fields.items():
        if field[:2] in _COUNT_KINDS:
            if not raw.strip(b"0,"):
                yield field
        elif field[:2] == b"d:":
            record = _document(raw)
            if record and not record.present and record.changed_us < before_us:
                yield field
