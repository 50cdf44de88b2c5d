"""Every store equals a dict of documents, whatever happens in whatever order."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from operator import itemgetter
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from app import transfer
from app.store.base import Change, CollectionSettings, Cursor, Document, ExternalTarget, IndexEntry, Outcome
from app.store.facets import ALL, of_day, of_group
from tests.conftest import BACKENDS, Backend, bins_of, put, walk
from tests.redis_server import NoServerError

COLLECTIONS, IDS, ENTITIES = ("one", "two"), ("a", "b", "c"), ("x", "y", "z")
DAYS = {"2024-01-01": date(2024, 1, 1), "2024-01-01T23:30:00-02:00": date(2024, 1, 2)}
GROUPS = {"u": {"is": "u"}, "v": {"is": "v"}}
FACETS = {
    ALL: lambda _: True,
    **{of_day(day): lambda content, day=day: DAYS.get(content.timestamp) == day for day in DAYS.values()},
    **{of_group("is", value): lambda content, v=value: content.attributes.get("is") == v for value in GROUPS},
}
REGISTRIES: Sequence[dict[str, tuple[str, ...]]] = ({}, {"x": ("y",)}, {"y": ("x",)}, {"z": ("x", "y")})

collections, ids = st.sampled_from(COLLECTIONS), st.sampled_from(IDS)
versions = st.none() | st.integers(0, 5)
contents = st.fixed_dictionaries(
    {
        "bins": st.dictionaries(st.sampled_from(ENTITIES), st.integers(0, 2), max_size=3),
        "excluded": st.sampled_from([False, False, True]),
        "timestamp": st.none() | st.sampled_from(list(DAYS)),
        "attributes": st.sampled_from([{}, *GROUPS.values()]),
    }
)


@dataclass
class Known:
    """What the model knows of a document; a deleted one has no content but keeps its version."""

    version: int
    content: Document | None


@dataclass
class KnownCollection:
    """What the model knows of a collection."""

    documents: dict[str, Known] = field(default_factory=dict)
    registry: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    targets: dict[str, ExternalTarget] = field(default_factory=dict)
    exists: bool = False

    def labels(self, content: Document) -> dict[str, int]:
        """Bin by the entity that the registry names; of two on one, the first counts."""
        found: dict[str, int] = {}
        for opinion in content.opinions:
            found = {self.name_of(opinion.entity): opinion.bin, **found}
        return found

    def name_of(self, entity: str) -> str:
        """The name that the registry has for an entity."""
        return next((name for name, others in self.registry.items() if entity in others), entity)

    def put_registry(self, registry: Mapping[str, tuple[str, ...]]) -> None:
        """Targets of names that are another entity's now are given to that one, unless it has one."""
        self.registry, self.exists = registry, True
        given, self.targets = self.targets, {}
        self.targets |= {entity: target for entity, target in given.items() if self.name_of(entity) == entity}
        for entity, target in sorted(given.items(), key=itemgetter(0)):
            self.targets.setdefault(self.name_of(entity), target)

    def present(self) -> dict[str, Document]:
        """The documents that are there."""
        return {name: known.content for name, known in self.documents.items() if known.content}

    def outcome(self, change: Change) -> Outcome:
        """What becomes of a change, which is made."""
        known = self.documents.get(change.id)
        present = known is not None and known.content is not None
        if change.content is None:
            return self._deleted(known, change)
        self.exists = True
        if change.version is None:
            if known and known.content == change.content:
                return "unchanged"
        elif known and change.version < known.version:
            return "stale"
        elif known and change.version == known.version:
            return "unchanged" if known.content == change.content else "conflict" if present else "stale"
        taken = known.version + 1 if change.version is None and known else change.version
        self.documents[change.id] = Known(taken or 0, change.content)
        return "updated" if present else "created"

    def _deleted(self, known: Known | None, change: Change) -> Outcome:
        present = known is not None and known.content is not None
        if change.version is None:
            if known is None or not present:
                return "absent"
            known.content = None
            return "deleted"
        self.exists = True
        if known and change.version < known.version:
            return "stale"
        if known and change.version == known.version:
            return "conflict" if present else "absent"
        self.documents[change.id] = Known(change.version, None)
        return "deleted" if present else "absent"


class StoreModel(RuleBasedStateMachine):
    """One store beside one dict a collection."""

    def __init__(self, backend: type[Backend]) -> None:
        super().__init__()
        self.backend = backend
        self.directory = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.store = backend(Path(self.directory.name)).open()
        self.known = {collection: KnownCollection() for collection in COLLECTIONS}
        self.followed: list[IndexEntry] = []
        self.cursor: Cursor | None = None

    def teardown(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()
        self.directory.cleanup()

    @rule(collection=collections, batch=st.dictionaries(ids, st.tuples(contents, versions), min_size=1, max_size=3))
    def store_documents(self, collection: str, batch: Mapping[str, tuple[dict[str, object], int | None]]) -> None:
        self.apply(collection, [put(name, version=version, **content) for name, (content, version) in batch.items()])

    @rule(collection=collections, name=ids, ahead=st.none() | st.integers(-1, 1))
    def store_the_same_again(self, collection: str, name: str, ahead: int | None) -> None:
        known = self.known[collection].documents.get(name)
        if known and known.content:
            version = None if ahead is None else max(0, known.version + ahead)
            same = known.content
            bins = {opinion.entity: opinion.bin for opinion in same.opinions}
            fields = {"excluded": same.excluded, "timestamp": same.timestamp, "attributes": same.attributes}
            self.apply(collection, [put(name, bins, version=version, **fields)])

    @rule(collection=collections, batch=st.lists(st.tuples(ids, versions), min_size=1, max_size=2))
    def delete(self, collection: str, batch: Sequence[tuple[str, int | None]]) -> None:
        self.apply(collection, [Change(name, version=version) for name, version in batch])

    def apply(self, collection: str, changes: list[Change]) -> None:
        known = self.known[collection]
        expected = [known.outcome(change) for change in changes]
        assert self.runner.run(self.store.apply(collection, changes)) == expected
        for change in changes:  # only the store knows which version it gave
            one = known.documents.get(change.id)
            if change.version is None and one and one.content:
                stored = self.runner.run(self.store.document(collection, change.id))
                assert stored
                assert stored.version >= one.version
                one.version = stored.version

    @rule(collection=collections, registry=st.sampled_from(REGISTRIES))
    def put_registry(self, collection: str, registry: dict[str, tuple[str, ...]]) -> None:
        assert self.runner.run(self.store.put_settings(collection, CollectionSettings(registry=registry)))
        self.known[collection].put_registry(registry)

    @rule(collection=collections, entity=st.sampled_from(ENTITIES), weight=st.none() | st.sampled_from([1.0, 2.5]))
    def put_target(self, collection: str, entity: str, weight: float | None) -> None:
        known = self.known[collection]
        target = None if weight is None else ExternalTarget((0.0, 1.0), (weight, 1.0))
        name = known.name_of(entity)
        was_there = known.targets.pop(name, None) is not None
        if target:
            known.targets[name], known.exists = target, True
        assert self.runner.run(self.store.put_target(collection, entity, target)) == was_there

    @rule()
    def forget_deletions(self) -> None:
        self.runner.run(self.store.purge(0))
        for known in self.known.values():
            known.documents = {name: one for name, one in known.documents.items() if one.content}

    @rule(repairs=st.booleans())
    def recount(self, repairs: bool) -> None:
        assert self.runner.run(self.store.repair() if repairs else self.store.drift()) == []
        assert bins_of(self.runner.run(walk(self.store)).entries) == self.present()

    @precondition(lambda self: any(known.exists for known in self.known.values()))
    @rule(data=st.data())
    def take_elsewhere(self, data: st.DataObject) -> None:
        """What is read into another store is there as it was here, byte for byte."""
        collection = data.draw(st.sampled_from([name for name, known in self.known.items() if known.exists]))
        others = BACKENDS[BACKENDS.index(self.backend) :] + BACKENDS
        self.runner.run(self.compare_copy(collection, others[1]))

    async def compare_copy(self, collection: str, kind: type[Backend]) -> None:
        lines = [line async for line in transfer.exported(self.store, collection)]
        with tempfile.TemporaryDirectory() as directory:
            try:
                copy = kind(Path(directory)).open()
            except NoServerError:
                return
            try:
                for _ in range(2):  # the second time changes nothing
                    told = [n async for n in transfer.imported(copy, "copy", iter(lines))]
                    assert sum(told) == len(lines) - 1 == len(self.known[collection].documents)
                    assert [line async for line in transfer.exported(copy, "copy")] == lines
                assert await copy.drift() == []
            finally:
                await copy.close()

    @invariant()
    def the_store_equals_the_model(self) -> None:
        self.runner.run(self.compare())

    async def compare(self) -> None:
        for collection, known in self.known.items():
            stored = await self.store.documents(collection, IDS)
            assert {name: Known(one.version, one.content) for name, one in stored.items()} == {
                name: one for name, one in known.documents.items() if one.content
            }
            counting = [content for content in known.present().values() if not content.excluded]
            for entity in ENTITIES:
                lookup = await self.store.lookup(collection, entity, [], list(FACETS))
                assert (lookup.known, lookup.external) == (known.exists, known.targets.get(entity))
                rows = zip(FACETS.values(), lookup.entity_counts, lookup.domain_counts, strict=True)
                for counts_in, own, domain in rows:
                    labels = [known.labels(content) for content in counting if counts_in(content)]
                    assert Counter(dict(enumerate(own))) == Counter(one[entity] for one in labels if entity in one)
                    assert Counter(dict(enumerate(domain))) == Counter(b for one in labels for b in one.values())
        news = await walk(self.store, self.cursor)
        self.followed, self.cursor = [*([] if news.reset else self.followed), *news.entries], news.cursor
        assert bins_of(self.followed) == self.present()

    def present(self) -> dict[tuple[str, str], dict[str, int]]:
        """What an index should hold."""
        return {
            (collection, name): known.labels(content)
            for collection, known in self.known.items()
            for name, content in known.present().items()
        }


def hold_against_model(backend: type[Backend], examples: int, steps: int) -> None:
    """Run as many machines of as many steps on places of their own."""
    run_state_machine_as_test(
        lambda: StoreModel(backend),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )


def test_a_store_equals_its_model(backend: Backend) -> None:
    hold_against_model(type(backend), 50, 25)
