"""Counts held against a recount of the stored opinions, partition by partition, each read at one moment."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from app.store.base import Drift
from app.store.facets import split
from app.store.redis import layout
from app.store.redis.layout import Keys
from app.store.redis.server import Script, Server

COUNTS_A_CALL = 1000
"""What Lua can unpack bounds how many counts a call may set."""
SCAN_COUNT = 1000

_REPAIR, _PURGE = Script("repair.lua"), Script("purge.lua")
_COUNT_KINDS = (b"p:", b"t:", b"g:")


async def recount(server: Server, keys: Keys, collection: str, n_bins: int, repairs: bool) -> list[Drift]:
    """The counts of a collection that differ, summed over its partitions; with `repairs` they are set right as well."""
    found: Counter[tuple[str, str, int]] = Counter()
    recounted: Counter[tuple[str, str, int]] = Counter()
    for p in range(keys.partitions):
        key = keys.partition(collection, p)
        differing = await _recount_partition(server, key, n_bins)
        while repairs and differing.counts and not await _repair(server, key, n_bins, differing):
            differing = await _recount_partition(server, key, n_bins)
        for name, (n, m) in differing.counts.items():
            found[name] += n
            recounted[name] += m
    return [Drift(collection, *name, found[name], recounted[name]) for name in sorted(found.keys() | recounted.keys())]


class _Differing:
    """What differs in a partition: counted and recounted, by facet, entity and bin."""

    def __init__(self, repairs: int) -> None:
        self.repairs = repairs
        self.counts: dict[tuple[str, str, int], tuple[int, int]] = {}


async def _recount_partition(server: Server, key: str, n_bins: int) -> _Differing:
    fields: dict[bytes, bytes] = await server.call("HGETALL", key)
    counted: Counter[tuple[str, str, int]] = Counter()
    recounted: Counter[tuple[str, str, int]] = Counter()
    for field, raw in fields.items():
        if field[:2] in _COUNT_KINDS:
            facet, entity = split(field)
            counted.update({(facet, entity, b): n for b, n in enumerate(_readable(raw, n_bins))})
        elif field[:2] == b"d:" and (record := layout.decode_document(raw)).present:
            recounted["", "", 0] += 1
            for facet in () if record.excluded else record.facets:
                for entity, b in record.bins.items():
                    recounted[facet, entity, b] += 1
                    recounted[facet, "", b] += 1
    state = fields.get(b"m")
    counted["", "", 0] = layout.decode_state(state).documents if state else 0
    differing = _Differing(int(fields.get(b"r", b"0")))
    for name in counted.keys() | recounted.keys():
        if counted[name] != recounted[name]:
            differing.counts[name] = counted[name], recounted[name]
    return differing


def _readable(raw: bytes, n_bins: int) -> list[int]:
    """A count; nothing of one that is none, which the repair takes for zero as well."""
    try:
        return layout.counts_of(raw, n_bins)
    except ValueError:
        return []


async def _repair(server: Server, key: str, n_bins: int, differing: _Differing) -> bool:
    """Add what is missing; False when another repair came first."""
    missing = {name: m - n for name, (n, m) in differing.counts.items()}
    documents = missing.pop(("", "", 0), 0)
    counts = iter(missing.items())
    repairs = differing.repairs
    while (chunk := list(islice(counts, COUNTS_A_CALL))) or documents:
        arguments = [part for (facet, entity, b), n in chunk for part in (facet + entity, b, n)]
        ((done,),) = [await server.run(_REPAIR, [(key, [repairs, n_bins, documents, *arguments])])]
        if not done:
            return False
        documents, repairs = 0, repairs + 1
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
            record = layout.decode_document(raw)
            if not record.present and record.changed_us < before_us:
                yield field
