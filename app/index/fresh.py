"""The documents that changed since a collection's segment was made.

Rows are only ever appended, and what a row holds never changes. So a reader that has noted how many there were, and the
arrays that held them, sees them as they were then, whatever the writer does meanwhile.
"""

from collections.abc import Mapping

import numpy as np

from app.index.segment import Hashes, Numbers, hash_of
from app.store.base import Vector

FIRST_ROWS = 1024


class Fresh:
    """Row i is, or was, document ids[i]; the arrays may be longer than that.

    Parameters
    ----------
    dimension : of the vectors, 0 while none has come.
    reserve : rows to expect. Memory that is not touched costs nothing, and growing copies.
    """

    def __init__(self, dimension: int, reserve: int) -> None:
        rows = max(FIRST_ROWS, reserve)
        self.matrix: Vector = np.zeros((rows, dimension), np.float32)
        self.hashes: Hashes = np.zeros(rows, np.uint64)
        self.died: Numbers = np.zeros(rows, np.int32)
        """Which death of the collection a row's was; 0 while it lives."""
        self.ids: list[str] = []
        self.opinions: list[Mapping[str, int]] = []
        self.document_bins: list[int] = []
        self.live: dict[str, int] = {}
        """The present row of each document."""
        self.members: dict[str, dict[int, int]] = {}
        """Row -> bin of the living, by entity."""

    def __len__(self) -> int:
        return len(self.ids)

    def append(self, document_id: str, bins: Mapping[str, int], document_bin: int, vector: Vector | None) -> None:
        """Add a document that is not alive here; `document_bin` as in `Segment.document_bins`."""
        row = len(self.ids)
        if row == len(self.hashes):
            self._grow(2 * row)
        if vector is not None:
            if not self.matrix.shape[1]:
                self.matrix = np.zeros((len(self.hashes), len(vector)), np.float32)
            self.matrix[row] = vector
        self.hashes[row] = hash_of(document_id)
        self.ids.append(document_id)
        self.opinions.append(bins)
        self.document_bins.append(document_bin)
        self.live[document_id] = row
        for entity, b in bins.items():
            self.members.setdefault(entity, {})[row] = b

    def remove(self, document_id: str, death: int) -> Mapping[str, int] | None:
        """Let a document die, and tell its opinions; None when it does not live here."""
        row = self.live.pop(document_id, None)
        if row is None:
            return None
        self.died[row] = death
        bins = self.opinions[row]
        for entity in bins:
            members = self.members[entity]
            del members[row]
            if not members:
                del self.members[entity]
        return bins

    def _grow(self, rows: int) -> None:
        for name in ("matrix", "hashes", "died"):
            old = getattr(self, name)
            grown = np.zeros((rows, *old.shape[1:]), old.dtype)
            grown[: len(old)] = old
            setattr(self, name, grown)
