"""Counts held against a recount of the stored opinions, partition by partition, each read at one moment."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from secrets import token_hex

from app.errors import StoreUnavailableError
from app.store.base import Damage, Drift
from app.store.facets import split
from app.store.redis import layout
from app.store.redis.layout import Keys, PartitionState
from app.store.redis.server import Script, Server

Count = tuple[str, str, int]
"""Facet, entity and bin."""
DOCUMENTS: Count = ("", "", 0)
"""The number of documents is looked at as a count too."""

COUNTS_A_CALL = 1000
"""What Lua can unpack bounds how many counts a call may set."""
SCAN_COUNT = 1000

FORGOTTEN_A_CALL = 1000

_REPAIR, _PURGE = Script("repair.lua"), Script("purge.lua")
_FORGET, _RESTATE = Script("forget.lua"), Script("restate.lua")
_COUNT_KINDS = (b"p:", b"t:", b"g:")


async def recount(server: Server, keys: Keys, collection: str, n_bins: int, repairs: bool) -> list[Drift | Damage]:
    """The counts of a collection that differ in any partition, and what cannot be read; with `repairs` they are set
    right as well.

    Told are the counts' sums over all partitions, as they were before.
    """
    damages: list[Damage] = []
    counted: Counter[Count] = Counter()
    recounted: Counter[Count] = Counter()
    differing: set[Count] = set()
    for p in range(keys.partitions):
        key = keys.partition(collection, p)
        found = await _recount_partition(server, key, n_bins)
        while repairs and found.differs and not await _repair(server, key, n_bins, found):
            found = await _recount_partition(server, key, n_bins)
        damages += [Damage(collection, "document", name.decode()) for name in sorted(found.unreadable)]
        damages += [Damage(collection, "content", name.decode()) for name in sorted(found.contentless)]
        damages += [Damage(collection, "target", name.decode()) for name in sorted(found.targets)]
        damages += [] if found.state is None else [Damage(collection, "state", str(p))]
        counted.update(found.counted)
        recounted.update(found.recounted)
        differing |= found.missing().keys()
    return [*(Drift(collection, *count, counted[count], recounted[count]) for count in sorted(differing)), *damages]


@dataclass(frozen=True)
class _Recount:
    """Of one partition.

    Parameters
    ----------
    counted : its counts.
    recounted : the same from its documents.
    unreadable : documents that nobody can read, with what is stored of each. Their opinions do not count, and no change
        of them is taken.
    contentless : documents whose content nobody can read. Their opinions are known, and count.
    targets : entities whose external target nobody can read.
    state : the partition's, where nobody can read it.
    seq : of the last change that its log tells of.
    void : counts that nobody can read, each by its first bin; they count for nothing.
    repairs : how many there were before.
    """

    counted: Counter[Count]
    recounted: Counter[Count]
    unreadable: dict[bytes, bytes]
    contentless: list[bytes]
    targets: list[bytes]
    state: bytes | None
    seq: int
    void: set[Count]
    repairs: int

    @property
    def differs(self) -> bool:
        """Whether there is something to repair."""
        return bool(self.missing() or self.unreadable or self.state is not None)

    def missing(self) -> dict[Count, int]:
        """What has to be added to the counts that differ, or cannot be read."""
        names = self.counted.keys() | self.recounted.keys() | self.void
        return {name: n for name in names if (n := self.recounted[name] - self.counted[name]) or name in self.void}


async def _recount_partition(server: Server, key: str, n_bins: int) -> _Recount:
    fields: dict[bytes, bytes] = await server.call("HGETALL", key)
    counted: Counter[Count] = Counter()
    recounted: Counter[Count] = Counter()
    unreadable: dict[bytes, bytes] = {}
    contentless: list[bytes] = []
    targets: list[bytes] = []
    seq = 0
    void: set[Count] = set()
    for field, raw in fields.items():
        if field[:2] in _COUNT_KINDS:
            facet, entity = split(field)
            try:
                counted.update({(facet, entity, b): n for b, n in enumerate(layout.counts_of(raw, n_bins))})
            except layout.UNREADABLE:
                void.add((facet, entity, 0))
        elif field[:2] == b"d:":
            record = layout.readable_document(raw)
            if record is None:
                unreadable[field[2:]] = raw
            elif record.present:
                if not layout.is_content(fields.get(b"c:" + field[2:])):
                    contentless.append(field[2:])
                recounted[DOCUMENTS] += 1
                for facet in () if record.excluded else record.facets:
                    for entity, b in record.bins.items():
                        recounted[facet, entity, b] += 1
                        recounted[facet, "", b] += 1
        elif field[:2] == b"x:":
            if not layout.is_target(raw):
                targets.append(field[2:])
        elif field[:2] == b"l:":
            with contextlib.suppress(*layout.UNREADABLE):
                seq = max(seq, layout.decode_log(raw).seq)
    state, broken = fields.get(b"m"), None
    try:
        counted[DOCUMENTS] = layout.decode_state(state).documents if state is not None else 0
    except StoreUnavailableError:
        counted[DOCUMENTS], broken = recounted[DOCUMENTS], state
    repairs = int(fields.get(b"r", b"0"))
    return _Recount(counted, recounted, unreadable, contentless, targets, broken, seq, void, repairs)


async def _repair(server: Server, key: str, n_bins: int, found: _Recount) -> bool:
    """Add what is missing; False when another repair came first."""
    if found.state is not None:
        # A change that the log does not tell of: whoever follows reads all anew.
        anew = PartitionState(found.seq + 1, token_hex(8), found.recounted[DOCUMENTS])
        (done,) = await server.run(_RESTATE, [(key, [found.state, layout.encode(anew)])])
        if not done:
            return False
    missing, repairs = found.missing(), found.repairs
    documents = missing.pop(DOCUMENTS, 0)
    counts = iter(missing.items())
    while (chunk := list(islice(counts, COUNTS_A_CALL))) or documents:
        arguments = [part for (facet, entity, b), n in chunk for part in (facet + entity, b, n)]
        (done,) = await server.run(_REPAIR, [(key, [repairs, n_bins, documents, *arguments])])
        if not done:
            return False
        documents, repairs = 0, repairs + 1
    left = list(found.unreadable.items())
    for start in range(0, len(left), FORGOTTEN_A_CALL):  # gone, they can be ingested again
        named = [part for told in left[start : start + FORGOTTEN_A_CALL] for part in told]
        await server.run(_FORGET, [(key, (layout.LOG_LENGTH, *named))])
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
            record = layout.readable_document(raw)
            if record and not record.present and record.changed_us < before_us:
                yield field
