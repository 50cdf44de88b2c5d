"""The local index against a plain dictionary, over random histories of changes, sealing, saving and reloading."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.index.collection import LocalCollection
from app.index.local import LocalIndex
from app.index.snapshots import Snapshots
from app.store.base import Labels, Vector
from tests.indexes import entry, members

DIMENSION = 3
EVERY_NAME = [f"d{i}" for i in range(12)] + ["é", "\U0001f600"]
NAMES = st.sampled_from(EVERY_NAME)
ENTITIES = st.sampled_from(["room", "food", "Zoë"])
OPINIONS = st.dictionaries(ENTITIES, st.integers(0, 6), max_size=3)
VECTORS = st.one_of(st.none(), st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=DIMENSION, max_size=DIMENSION))


Known = tuple[dict[str, int], int | None, Vector | None]
"""Bin by entity, bin of the whole document, vector."""


def vector_of(numbers: list[float] | None) -> Vector | None:
    return None if numbers is None else np.array(numbers, np.float32)


class IndexAgainstDictionary(RuleBasedStateMachine):
    """`known` is what was put, by document. With `approximate_from` 1 each segment is ordered in lists."""

    approximate_from = 10**6

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()
        self.snapshots = self.opened()
        self.index = LocalIndex()
        self.known: dict[str, Known] = {}
        self.excluded: set[str] = set()
        self.saved: tuple[dict[str, Known], set[str]] | None = None

    def teardown(self) -> None:
        self._directory.cleanup()

    def opened(self) -> Snapshots:
        return Snapshots(Path(self._directory.name), "store", True, self.approximate_from)

    @property
    def collection(self) -> LocalCollection:
        return self.index["c"]

    @rule(name=NAMES, bins=OPINIONS, general=st.none() | st.integers(0, 6), numbers=VECTORS)
    def put(self, name: str, bins: dict[str, int], general: int | None, numbers: list[float] | None) -> None:
        self.index.put(entry(name, vector_of(numbers), bins, document_bin=general))
        self.known[name] = bins, general, vector_of(numbers)
        self.excluded.discard(name)

    @rule(name=NAMES, excluded=st.booleans())
    def remove(self, name: str, excluded: bool) -> None:
        gone = entry(name, None, {"room": 1}, excluded=True) if excluded else entry(name, present=False)
        self.index.put(gone)
        self.known.pop(name, None)
        self.excluded.discard(name)
        if excluded:
            self.excluded.add(name)

    @rule(seal=st.booleans())
    def save(self, seal: bool) -> None:
        with self.snapshots.locked() as locked:
            assert locked
            sealed = self.snapshots.save(self.index.views(), 1, ["c"] if seal and self.known else [], lambda: None)
        self.index = self.index.replaced(sealed)
        self.saved = dict(self.known), set(self.excluded)

    @precondition(lambda self: self.saved is not None)
    @rule()
    def reload(self) -> None:
        self.snapshots = self.opened()
        loaded = self.snapshots.load()
        assert loaded is not None
        self.index = loaded.index
        assert self.saved is not None
        self.known, self.excluded = dict(self.saved[0]), set(self.saved[1])

    @rule(query=st.lists(st.sampled_from([-1.0, 0.0, 0.3, 1.0]), min_size=DIMENSION, max_size=DIMENSION))
    def search(self, query: list[float]) -> None:
        hits = dict(self.collection.view().search(np.array(query, np.float32), 100))
        if not any(vector is not None for *_, vector in self.known.values()):
            assert set(hits.values()) <= {0.0}
            return
        exact = {
            name: 0.0 if vector is None else float(vector @ np.array(query, np.float32))
            for name, (*_, vector) in self.known.items()
        }
        assert hits == pytest.approx(exact, abs=1e-6)

    @rule(k=st.integers(1, 4))
    def search_for_few(self, k: int) -> None:
        query = np.array([1.0, 0.3, -0.2], np.float32)
        every = self.collection.view().search(query, 100)
        assert [score for _, score in every] == sorted((score for _, score in every), reverse=True)
        if self.approximate_from > 1:
            assert self.collection.view().search(query, k) == every[:k]

    @invariant()
    def knows_the_same(self) -> None:
        assert len(self.collection) == len(self.known)
        entities: dict[str, int] = {}
        for bins, *_ in self.known.values():
            for entity in bins:
                entities[entity] = entities.get(entity, 0) + 1
        assert self.collection.entities("", 99) == sorted(entities.items())
        for entity in ("room", "food", "Zoë"):
            held = {name: bins[entity] for name, (bins, *_) in self.known.items() if entity in bins}
            assert members(self.collection, entity) == held
            assert self.collection.counts(entity, 7) == [list(held.values()).count(b) for b in range(7)]
        every = [b for bins, *_ in self.known.values() for b in bins.values()]
        assert self.collection.counts(None, 7) == [every.count(b) for b in range(7)]
        for entity in ("room", "Zoë", "never", None):
            said = {
                name: Labels(bins.get(entity or ""), general, excluded=False)
                for name, (bins, general, _) in self.known.items()
            }
            hidden = dict.fromkeys(self.excluded, Labels(None, None, excluded=True))
            assert self.collection.labels(entity, EVERY_NAME) == {**said, **hidden}
        assert set(self.collection.excluded(EVERY_NAME)) == self.excluded


class ApproximateAgainstDictionary(IndexAgainstDictionary):
    approximate_from = 1


TestExact = IndexAgainstDictionary.TestCase
TestExact.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestApproximate = ApproximateAgainstDictionary.TestCase
TestApproximate.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
