"""One collection in this process: a segment that never changes, and on top of it what changed since."""

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.index import approximate
from app.index.base import MAX_RESULTS, Held, Hit, Wanted
from app.index.fresh import Fresh
from app.index.merging import Part
from app.index.products import Rows, Scores, inner_products
from app.index.segment import EMPTY, Hashes, Members, Numbers, Segment, segment_of
from app.store.base import IndexEntry, Labels, Vector

SEAL_ROWS = 1000
SEAL_SHARE = 0.01
"""So many rows, and this part of a segment, have to change before a new segment is worth it."""
AT_ONCE = 10_000
"""Rows whose inner products take less time than handing them to a thread and waiting for it."""


@dataclass(frozen=True)
class View:
    """A collection as it was at one moment, for a reader in any thread; rows of the segment come before the fresh ones.

    Parameters
    ----------
    deaths : how many documents had died by then.
    died : of each row of the segment which death it was, 0 while it lives; goes on changing, with higher numbers.
    size : number of fresh rows; of `ids` and the arrays only as many are meant.
    """

    segment: Segment
    died: Numbers
    deaths: int
    size: int
    matrix: Vector
    hashes: Hashes
    fresh_died: Numbers
    ids: list[str]
    opinions: list[Mapping[str, int]]
    document_bins: list[int]
    excluded: frozenset[str]

    @property
    def dimension(self) -> int:
        """Length of the vectors; 0 while none has come."""
        return int(max(self.segment.matrix.shape[1], self.matrix.shape[1]))

    def parts(self) -> list[Part]:
        """The living documents as parts of segments."""
        n = self.size
        fresh = segment_of(self.ids[:n], self.opinions[:n], self.document_bins[:n], self.matrix, self.hashes[:n])
        living = self.living(np.arange(len(self.segment) + self.size))
        old = np.searchsorted(living, len(self.segment))
        return [Part(self.segment, living[:old]), Part(fresh, living[old:] - len(self.segment))]

    def changes(self, collection: str) -> Iterator[IndexEntry]:
        """What leads from the segment to this view, one entry a document that is another by now."""
        for name in self.segment.ids(np.flatnonzero((self.died > 0) & (self.died <= self.deaths))):
            yield IndexEntry(collection, name, False, False, {}, None, None)
        for row in (
            self.living(np.arange(len(self.segment), len(self.segment) + self.size)) - len(self.segment)
        ).tolist():
            vector = self.matrix[row] if self.matrix.shape[1] else None
            general = self.document_bins[row]
            yield IndexEntry(
                collection, self.ids[row], True, False, self.opinions[row], None if general < 0 else general, vector
            )

    def hidden(self, collection: str) -> Iterator[IndexEntry]:
        """The excluded documents, of which a segment knows nothing."""
        for name in self.excluded:
            yield IndexEntry(collection, name, True, True, {}, None, None)

    def search(self, query: Vector, k: int) -> list[Hit]:
        """See `CollectionIndex.search`."""
        if k < 1 or len(query) != self.dimension:
            return []
        k = min(k, MAX_RESULTS)
        n = len(self.segment)
        if len(self.segment.centroids):
            scores, rows = approximate.nearest(self.segment, query, k, self.living)
        else:
            rows = self.living(np.arange(n))
            scores, rows = approximate.best(self._scores(rows, query), rows, k)
        if self.size:
            fresh = self.living(np.arange(n, n + self.size))
            scores, rows = approximate.best(
                np.concatenate([scores, self._scores(fresh, query)]), np.concatenate([rows, fresh]), k
            )
        order = self._ranked(scores, rows)[:k]
        return list(zip(self._ids(rows[order]), scores[order].tolist(), strict=True))

    def held(
        self, members: Members, wanted: Sequence[Wanted], limit: int, without: Collection[str], together: bool
    ) -> Held:
        """See `CollectionIndex.held`."""
        found: list[tuple[str, int, float]] = []
        for group in [wanted] if together and wanted else [[one] for one in wanted]:
            rows, bins, scores = self._nearest(members, group, limit + len(without))
            left, upto = limit, 0
            while left and upto < len(rows):
                part = slice(upto, upto + left)
                named = zip(self._ids(rows[part]), bins[part].tolist(), scores[part].tolist(), strict=True)
                more = [one for one in named if one[0] not in without]
                found += more
                upto, left = part.stop, left - len(more)
        return Held.of(found)

    def _nearest(self, members: Members, group: Sequence[Wanted], n: int) -> tuple[Rows, Numbers, Scores]:
        """The n members in the bins of a group that are most similar, best first, and all that equal the last."""
        rows = [members[0][members[1] == one.bin] for one in group]
        scores = np.concatenate([self._scores(own, one.query) for own, one in zip(rows, group, strict=True)])
        bins = np.repeat([one.bin for one in group], [len(own) for own in rows])
        every = np.concatenate(rows)
        kept = approximate.highest(scores, n)
        order = kept[self._ranked(scores[kept], every[kept])]
        return every[order], bins[order], scores[order]

    def living(self, rows: Rows) -> Rows:
        """Those of the rows, which are in ascending order or all of the segment, whose document is alive."""
        if not self.deaths:
            return rows
        n = len(self.segment)
        split = int(np.searchsorted(rows, n)) if len(rows) and rows[-1] >= n else len(rows)
        died = np.concatenate([self.died[rows[:split]], self.fresh_died[rows[split:] - n]])
        alive: Rows = rows[(died == 0) | (died > self.deaths)]
        return alive

    def _scores(self, rows: Rows, query: Vector) -> Scores:
        """Similarities of rows in ascending order."""
        n = len(self.segment)
        split = int(np.searchsorted(rows, n))
        return np.concatenate(
            [
                inner_products(self.segment.matrix, rows[:split], query),
                inner_products(self.matrix, rows[split:] - n, query),
            ]
        )

    def _ranked(self, scores: Scores, rows: Rows) -> NDArray[np.intp]:
        """Positions by score; equals by the hash of the id, which is the same in every process."""
        order = np.argsort(-scores)
        ordered = scores[order]
        if (ordered[1:] == ordered[:-1]).any():
            old = rows < len(self.segment)
            hashes = np.empty(len(rows), np.uint64)
            hashes[old] = self.segment.hashes[rows[old]]
            hashes[~old] = self.hashes[rows[~old] - len(self.segment)]
            order = np.lexsort((hashes, -scores))
        return order

    def _ids(self, rows: Rows) -> list[str]:
        n = len(self.segment)
        old = rows < n
        ids = self.segment.ids(rows[old])
        if len(ids) == len(rows):
            return ids
        following = iter(ids)
        return [next(following) if row < n else self.ids[row - n] for row in rows.tolist()]


class LocalCollection:
    """`CollectionIndex` over a segment. One thread writes, and asks; what takes long it hands to another."""

    def __init__(self, segment: Segment = EMPTY, excluded: Iterable[str] = ()) -> None:
        self.segment = segment
        self._excluded = set(excluded)
        self._excluded_now: frozenset[str] | None = None  # the same for views, made when asked for
        self._fresh = Fresh(segment.matrix.shape[1], reserve=int(2 * SEAL_SHARE * len(segment)))
        self._died: Numbers = np.zeros(len(segment), np.int32)
        self._deaths = 0
        self._documents = len(segment)
        sizes = np.diff(segment.member_ends).tolist()
        self._held = dict(zip(segment.names, sizes, strict=True))
        """How many opinions there are on each entity."""
        self._bins = Counter(dict(enumerate(np.bincount(segment.opinion_bins).tolist())))
        """How many opinions there are in each bin, on all entities."""
        self._names: list[str] | None = None  # sorted names of the entities, made when asked for

    def __len__(self) -> int:
        return self._documents

    # Writing

    def put(self, entry: IndexEntry) -> None:
        """Take over a document's present state; what was known of it before is forgotten."""
        self._remove(entry.id)
        if not entry.present:
            return
        if entry.excluded:
            self._excluded.add(entry.id)
            self._excluded_now = None
            return
        self._fresh.append(entry.id, entry.bins, -1 if entry.document_bin is None else entry.document_bin, entry.vector)
        self._documents += 1
        self._count(entry.bins, 1)

    def _remove(self, document_id: str) -> None:
        if document_id in self._excluded:
            self._excluded.remove(document_id)
            self._excluded_now = None
        bins = self._fresh.remove(document_id, self._deaths + 1)
        if bins is None:
            row = self.segment.find(document_id)
            if row < 0 or self._died[row]:
                return
            self._died[row] = self._deaths + 1
            bins = self.segment.bins(row)
        self._deaths += 1
        self._documents -= 1
        self._count(bins, -1)

    def _count(self, bins: Mapping[str, int], change: int) -> None:
        for entity, b in bins.items():
            before = self._held.get(entity, 0)
            if before + change:
                self._held[entity] = before + change
            else:
                del self._held[entity]
            if not before or not before + change:
                self._names = None
            self._bins[b] += change

    @property
    def changed(self) -> int:
        """Rows that are new or dead since the segment was made."""
        return len(self._fresh) + self._deaths

    def needs_sealing(self) -> bool:
        """Whether so much has changed that a new segment is worth it."""
        return self.changed >= max(SEAL_ROWS, SEAL_SHARE * len(self.segment))

    # Reading

    def view(self) -> View:
        """The collection as it is now."""
        fresh = self._fresh
        if self._excluded_now is None:
            self._excluded_now = frozenset(self._excluded)
        return View(
            self.segment,
            self._died,
            self._deaths,
            len(fresh),
            fresh.matrix,
            fresh.hashes,
            fresh.died,
            fresh.ids,
            fresh.opinions,
            fresh.document_bins,
            self._excluded_now,
        )

    def labels(self, entity: str | None, ids: Sequence[str]) -> dict[str, Labels]:
        fresh, segment = self._fresh, self.segment
        fresh_rows, old, old_rows = self._rows_of(ids)
        found = {
            name: _labels(fresh.opinions[row].get(entity, -1) if entity else -1, fresh.document_bins[row])
            for name, row in fresh_rows
        }
        own, general = segment.bins_on(entity, old_rows), segment.document_bins[old_rows]
        found.update(zip(old, map(_labels, own.tolist(), general.tolist()), strict=True))
        found.update(dict.fromkeys(self.excluded(ids), _EXCLUDED))
        return found

    def excluded(self, ids: Sequence[str]) -> Collection[str]:
        return self._excluded.intersection(ids) if self._excluded else ()

    def counts(self, entity: str | None, n_bins: int) -> list[int]:
        if entity is None:
            return [self._bins[b] for b in range(n_bins)]
        counted: list[int] = np.bincount(self.members(entity)[1], minlength=n_bins).tolist()
        return counted

    def entities(self, after: str, limit: int) -> list[tuple[str, int]]:
        if self._names is None:
            self._names = sorted(self._held)
        start = bisect_right(self._names, after)
        return [(name, self._held[name]) for name in self._names[start : start + limit]]

    def knows(self, entity: str) -> bool:
        return entity in self._held

    def members(self, entity: str) -> Members:
        """The living documents that hold an opinion on an entity."""
        rows, bins = self.segment.members(entity)
        if self._deaths:
            alive = self._died[rows] == 0
            rows, bins = rows[alive], bins[alive]
        fresh = self._fresh.members.get(entity)
        if not fresh:
            return rows, bins
        n = len(fresh)
        fresh_rows, fresh_bins = np.fromiter(fresh.keys(), np.int64, n), np.fromiter(fresh.values(), np.int32, n)
        return np.concatenate([rows, fresh_rows + len(self.segment)]), np.concatenate([bins, fresh_bins])

    async def search(self, query: Vector, k: int) -> list[Hit]:
        view = self.view()
        if len(view.segment) + view.size <= AT_ONCE:
            return view.search(query, k)
        return await asyncio.to_thread(view.search, query, k)

    async def held(
        self, entity: str, wanted: Sequence[Wanted], limit: int, without: Collection[str], together: bool = False
    ) -> Held:
        members = self.members(entity)
        if not len(members[0]):
            return Held([], [], [])
        view = self.view()
        if len(members[0]) <= AT_ONCE:
            return view.held(members, wanted, limit, without, together)
        return await asyncio.to_thread(view.held, members, wanted, limit, without, together)

    async def vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        fresh_rows, old, old_rows = self._rows_of(ids)
        found = {name: self._fresh.matrix[row] for name, row in fresh_rows}
        found.update(zip(old, self.segment.matrix[old_rows], strict=True))
        return {name: vector for name, vector in found.items() if len(vector)}

    def _rows_of(self, ids: Sequence[str]) -> tuple[list[tuple[str, int]], list[str], Rows]:
        """Where documents are: fresh ones with their rows, and those of the segment, their rows apart."""
        live = self._fresh.live
        fresh, others = [], []
        for name in ids:
            row = live.get(name)
            if row is None:
                others.append(name)
            else:
                fresh.append((name, row))
        rows = self.segment.rows_of(others)
        here = np.flatnonzero(rows >= 0)
        here = here[self._died[rows[here]] == 0]
        return fresh, [others[i] for i in here.tolist()], rows[here]


_EXCLUDED = Labels(None, None, excluded=True)


@lru_cache(maxsize=1024)
def _labels(entity_bin: int, document_bin: int) -> Labels:
    """One record for all documents that say the same; -1 is no opinion."""
    return Labels(None if entity_bin < 0 else entity_bin, None if document_bin < 0 else document_bin, excluded=False)
