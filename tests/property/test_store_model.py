"""Every store equals a dict of documents, whatever changes come in whatever order."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from app.store.base import Change, Cursor, Document, IndexEntry, Outcome
from tests.conftest import Backend, bins_of, put, walk

COLLECTIONS, IDS, ENTITIES = ("one", "two"), ("a", "b", "c"), ("x", "y")

contents = st.tuples(st.dictionaries(st.sampled_from(ENTITIES), st.integers(0, 2), max_size=3), st.booleans())


@dataclass
class Known:
    """What the model knows of a document; a deleted one has no content but keeps its version."""

    version: int
    content: Document | None


class StoreModel(RuleBasedStateMachine):
    """One store beside one dict a collection."""

    def __init__(self, backend: type[Backend]) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.store = backend(Path(self.directory.name)).open()
        self.known: dict[str, dict[str, Known]] = {collection: {} for collection in COLLECTIONS}
        self.followed: list[IndexEntry] = []
        self.cursor: Cursor | None = None

    def teardown(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()
        self.directory.cleanup()

    @rule(
        collection=st.sampled_from(COLLECTIONS),
        batch=st.dictionaries(
            st.sampled_from(IDS), st.tuples(contents, st.none() | st.integers(0, 4)), min_size=1, max_size=3
        ),
    )
    def store_documents(
        self, collection: str, batch: Mapping[str, tuple[tuple[dict[str, int], bool], int | None]]
    ) -> None:
        self.apply(
            collection,
            [put(name, bins, version=v, excluded=excluded) for name, ((bins, excluded), v) in batch.items()],
        )

    @rule(collection=st.sampled_from(COLLECTIONS), name=st.sampled_from(IDS), ahead=st.none() | st.integers(-1, 1))
    def store_the_same_again(self, collection: str, name: str, ahead: int | None) -> None:
        known = self.known[collection].get(name)
        if known and known.content:
            bins = {o.entity: o.bin for o in known.content.opinions}
            version = None if ahead is None else max(0, known.version + ahead)
            self.apply(collection, [put(name, bins, version=version, excluded=known.content.excluded)])

    @rule(collection=st.sampled_from(COLLECTIONS), names=st.lists(st.sampled_from(IDS), min_size=1, max_size=2))
    def delete(self, collection: str, names: list[str]) -> None:
        self.apply(collection, [Change(name) for name in names])

    def apply(self, collection: str, changes: list[Change]) -> None:
        expected = [self.outcome(self.known[collection], change) for change in changes]
        assert self.runner.run(self.store.apply(collection, changes)) == expected
        for change in changes:  # only the store knows which version it gave
            known = self.known[collection].get(change.id)
            if change.version is None and known and known.content:
                stored = self.runner.run(self.store.document(collection, change.id))
                assert stored
                assert stored.version >= known.version
                known.version = stored.version

    @staticmethod
    def outcome(documents: dict[str, Known], change: Change) -> Outcome:
        known = documents.get(change.id)
        present = known is not None and known.content is not None
        if change.content is None:
            if known is None or not present:
                return "absent"
            known.content = None
            return "deleted"
        if change.version is None:
            if known and known.content == change.content:
                return "unchanged"
        elif known and change.version < known.version:
            return "stale"
        elif known and change.version == known.version:
            return "unchanged" if known.content == change.content else "conflict" if present else "stale"
        taken = known.version + 1 if change.version is None and known else change.version
        documents[change.id] = Known(taken or 0, change.content)
        return "updated" if present else "created"

    @invariant()
    def the_store_equals_the_model(self) -> None:
        self.runner.run(self.compare())

    async def compare(self) -> None:
        for collection, documents in self.known.items():
            stored = await self.store.documents(collection, IDS)
            assert {name: Known(one.version, one.content) for name, one in stored.items()} == {
                name: known for name, known in documents.items() if known.content
            }
            counting = [known.content for known in documents.values() if known.content and not known.content.excluded]
            opinions = [o for content in counting for o in content.opinions]
            for entity in ENTITIES:
                lookup = await self.store.lookup(collection, entity, [])
                assert Counter(dict(enumerate(lookup.entity_counts[0]))) == Counter(
                    o.bin for o in opinions if o.entity == entity
                )
                assert Counter(dict(enumerate(lookup.domain_counts[0]))) == Counter(o.bin for o in opinions)
        present = {
            (collection, name): {o.entity: o.bin for o in known.content.opinions}
            for collection, documents in self.known.items()
            for name, known in documents.items()
            if known.content
        }
        assert bins_of((await walk(self.store)).entries) == present
        news = await walk(self.store, self.cursor)
        self.followed, self.cursor = [*self.followed, *news.entries], news.cursor
        assert bins_of(self.followed) == present
        assert await self.store.drift() == []


def test_a_store_equals_its_model(backend: Backend) -> None:
    run_state_machine_as_test(
        lambda: StoreModel(type(backend)),
        settings=settings(
            max_examples=50, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
