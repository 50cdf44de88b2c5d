"""Segments, or parts of them -> one segment: how dead rows are dropped and new ones find their place.

Only array operations, which let other threads run; what takes long asks now and then whether it should go on.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.index import approximate
from app.index.products import Rows
from app.index.ragged import Ends, gathered, joined
from app.index.segment import Lists, Numbers, Segment, assembled, unordered
from app.store.base import Vector

BLOCK = 16_384
"""Rows that are copied, or given their list, between two checkpoints."""


@dataclass(frozen=True)
class Part:
    """Some rows of a segment."""

    segment: Segment
    rows: Rows


class Merger:
    """The documents of all parts as one segment; those of one list, or all, in the order of the parts.

    Parameters
    ----------
    approximate_from : from this many documents on they are ordered for the approximate search.
    checkpoint : called now and then; what it raises ends the work.
    """

    def __init__(self, parts: Sequence[Part], approximate_from: int, checkpoint: Callable[[], None]) -> None:
        self._parts = parts
        self._checkpoint = checkpoint
        self._starts = np.cumsum([0, *(len(part.rows) for part in parts)])
        self.dimension = max((part.segment.matrix.shape[1] for part in parts), default=0)
        self._order = np.arange(len(self))
        self._lists = unordered(self.dimension)
        if self.dimension and len(self) >= approximate_from:
            self._order, self._lists = self._in_lists()

    def __len__(self) -> int:
        return int(self._starts[-1])

    def segment(self, matrix: Vector) -> Segment:
        """The segment whose vectors are `matrix`: what `blocks` gives, or an empty one to be replaced."""
        ids = joined([gathered(part.segment.id_bytes, part.segment.id_ends, part.rows) for part in self._parts])
        hashes = np.concatenate([part.segment.hashes[part.rows] for part in self._parts])[self._order]
        general = np.concatenate([part.segment.document_bins[part.rows] for part in self._parts])[self._order]
        names, entities, bins, ends = self._opinions()
        opinions = entities, bins, ends
        return assembled(matrix, gathered(*ids, self._order), hashes, names, opinions, general, self._lists)

    def blocks(self) -> Iterator[Vector]:
        """The vectors in order, some rows at a time."""
        for start in range(0, len(self), BLOCK):
            self._checkpoint()
            yield self._vectors(self._order[start : start + BLOCK])

    def _vectors(self, places: Rows) -> Vector:
        """Vectors of documents by their place in the parts, one part after another; shape (len(places), dimension)."""
        vectors = np.zeros((len(places), self.dimension), np.float32)
        for part, start, end in zip(self._parts, self._starts, self._starts[1:], strict=False):
            own = (places >= start) & (places < end)
            if part.segment.matrix.shape[1]:
                vectors[own] = part.segment.matrix[part.rows[places[own] - start]]
        return vectors

    def _opinions(self) -> tuple[list[str], Numbers, Numbers, Ends]:
        """Names of the entities in order, and each document's opinions with entities by number."""
        entities, bins = [], []
        used: set[str] = set()
        for part in self._parts:
            segment = part.segment
            entities.append(gathered(segment.opinion_entities, segment.opinion_ends, part.rows))
            bins.append(gathered(segment.opinion_bins, segment.opinion_ends, part.rows))
            used.update(segment.names[number] for number in np.unique(entities[-1][0]).tolist())
        names = sorted(used)
        numbers = {name: number for number, name in enumerate(names)}
        for i, part in enumerate(self._parts):
            renumbered = np.array([numbers.get(name, -1) for name in part.segment.names], np.int32)
            entities[i] = renumbered[entities[i][0]], entities[i][1]
        held, ends = gathered(*joined(entities), self._order)
        return names, held, gathered(*joined(bins), self._order)[0], ends

    def _in_lists(self) -> tuple[Rows, Lists]:
        """The documents' places in list order, and the lists."""
        wanted = approximate.n_lists(len(self))
        old = max((part.segment for part in self._parts), key=lambda segment: len(segment.centroids))
        centroids, spread = old.centroids[:-1], old.spread
        kept = wanted / 2 <= len(centroids) <= wanted * 2
        if not kept:
            generator = np.random.default_rng(1)
            chosen = generator.choice(len(self), min(len(self), wanted * approximate.SAMPLE), replace=False)
            sample = self._vectors(np.sort(chosen))
            sample = sample[sample.any(axis=1)]
            centroids = approximate.trained(sample, min(wanted, len(sample)), self._checkpoint)
            lists = approximate.nearest_list(sample, centroids)
            spread = np.array([approximate.spread_of(sample, lists, centroids)], np.float32)
        numbers = np.concatenate(
            [
                np.repeat(np.arange(len(centroids) + 1), np.diff(part.segment.list_ends))[part.rows]
                if kept and part.segment is old
                else self._assigned(start, end, centroids)
                for part, start, end in zip(self._parts, self._starts, self._starts[1:], strict=False)
            ]
        )
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum([0, *np.bincount(numbers, minlength=len(centroids) + 1)])
        # The zero vectors are a list of their own, with a zero centroid: it comes where their similarity lies.
        return order, (np.concatenate([centroids, np.zeros((1, self.dimension), np.float32)]), ends, spread)

    def _assigned(self, start: int, end: int, centroids: Vector) -> NDArray[np.int64]:
        numbers = []
        for at in range(start, end, BLOCK):
            self._checkpoint()
            places = np.arange(at, min(at + BLOCK, end))
            numbers.append(approximate.nearest_list(self._vectors(places), centroids))
        return np.concatenate([np.zeros(0, np.int64), *numbers])


def merged(parts: Sequence[Part], approximate_from: int, checkpoint: Callable[[], None]) -> Segment:
    """The documents of all parts as one segment in memory; see `Merger`."""
    merger = Merger(parts, approximate_from, checkpoint)
    matrix = np.zeros((len(merger), merger.dimension), np.float32)
    at = 0
    for block in merger.blocks():
        matrix[at : at + len(block)] = block
        at += len(block)
    return merger.segment(matrix)
