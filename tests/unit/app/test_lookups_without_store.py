"""What a re-ranking reads, also while the store is away or the registry has just changed elsewhere."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import lookups as module
from app.follower import Follower
from app.index.local import LocalIndex
from app.lookups import Lookups
from app.store.base import CollectionSettings, ExternalTarget, Store
from app.store.facets import ALL
from app.store.sqlite import SqliteStore
from tests.conftest import Unreliable, put

NEVER_S = 3600
MERGED = CollectionSettings(registry={"breakfast": ("brekkie",)})
TARGET = ExternalTarget(MERGED.positions, (1.0, 0, 0, 0, 0, 0, 1.0))


class Service:
    """A store that can go away, what follows it, and what reads from it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.reached = Unreliable(store)
        index = LocalIndex()
        self.follower = Follower(self.reached, index, NEVER_S)
        self.lookups = Lookups(self.reached, index, self.follower, staleness_s=0, timeout_s=10)

    async def counts(self, entity: str) -> dict[int, int]:
        """Bin -> opinions, as the lookup tells."""
        (own,) = (await self.lookups.lookup("c", entity, [])).lookup.entity_counts
        return {b: n for b, n in enumerate(own) if n}


@pytest.fixture
def service(tmp_path: Path, runner: asyncio.Runner) -> Iterator[Service]:
    store = SqliteStore(tmp_path / "warp.db")
    made = Service(store)
    documents = [put("a", {"breakfast": 0, "pool": 3}), put("b", {"brekkie": 6})]
    runner.run(store.apply("c", documents))
    runner.run(made.follower.catch_up())
    yield made
    runner.run(store.close())


async def test_an_entity_is_looked_up_under_the_name_that_its_opinions_count_under(service: Service):
    await service.store.put_settings("c", MERGED)
    for name in ("brekkie", "breakfast"):
        found = await service.lookups.lookup("c", name, ["b"])
        assert (found.entity, found.outage) == ("breakfast", None)
        assert found.lookup.labels["b"].entity_bin == 6
        assert await service.counts(name) == {0: 1, 6: 1}
    assert (await service.lookups.lookup("c", "pool", [])).entity == "pool"
    assert (await service.lookups.lookup("c", None, ["b"])).entity is None


async def test_a_registry_that_changed_elsewhere_counts_from_the_first_lookup_on(service: Service):
    assert await service.counts("brekkie") == {6: 1}
    for settings, entity, counts in (
        (MERGED, "breakfast", {0: 1, 6: 1}),
        (CollectionSettings(registry={"meal": ("brekkie",)}), "meal", {6: 1}),
        (CollectionSettings(registry={"brekkie": ("breakfast",)}), "brekkie", {0: 1, 6: 1}),
        (CollectionSettings(), "brekkie", {6: 1}),
    ):
        await service.store.put_settings("c", settings)
        found = await service.lookups.lookup("c", "brekkie", [])
        assert (found.entity, await service.counts("brekkie")) == (entity, counts)


async def test_the_other_names_are_those_that_the_store_last_told(service: Service):
    assert await service.lookups.aliases("c") == {}
    await service.store.put_settings("c", MERGED)
    await service.lookups.lookup("c", "pool", [])
    assert await service.lookups.aliases("c") == {"brekkie": "breakfast"}
    service.reached.down = True
    assert await service.lookups.aliases("c") == {"brekkie": "breakfast"}
    assert await service.lookups.aliases("never seen") == {}
    service.reached.down = False
    assert await service.lookups.aliases("unknown") == {}


async def test_while_the_store_is_away_names_counts_and_labels_are_the_last_known(service: Service):
    await service.store.put_settings("c", MERGED)
    await service.follower.catch_up()
    await service.lookups.lookup("c", "pool", [])
    service.reached.down = True
    found = await service.lookups.lookup("c", "brekkie", ["a", "b", "unknown"], [ALL, "t:1:", "g:2:"])
    assert (found.entity, found.outage) == ("breakfast", "down for the test")
    assert {name: label.entity_bin for name, label in found.lookup.labels.items()} == {"a": 0, "b": 6}
    # of days and groups nothing is known: each has the counts of all
    assert found.lookup.entity_counts == [[1, 0, 0, 0, 0, 0, 1]] * 3
    assert found.lookup.domain_counts == [[1, 0, 0, 1, 0, 0, 1]] * 3
    assert (found.lookup.known, found.lookup.settings) == (True, MERGED)


async def test_while_the_store_is_away_a_target_is_the_last_known(service: Service):
    await service.store.put_settings("c", MERGED)
    await service.store.put_target("c", "breakfast", TARGET)
    await service.store.put_target("c", "pool", TARGET)
    assert (await service.lookups.lookup("c", "brekkie", [])).lookup.external == TARGET
    service.reached.down = True
    assert (await service.lookups.lookup("c", "brekkie", [])).lookup.external == TARGET
    assert (await service.lookups.lookup("c", "breakfast", [])).lookup.external == TARGET
    assert (await service.lookups.lookup("c", "pool", [])).lookup.external is None  # nobody has asked for it yet
    assert (await service.lookups.lookup("other", "breakfast", [])).lookup.external is None


async def test_a_target_that_was_forgotten_is_not_remembered(service: Service):
    await service.store.put_target("c", "pool", TARGET)
    await service.lookups.lookup("c", "pool", [])
    await service.store.put_target("c", "pool", None)
    await service.lookups.lookup("c", "pool", [])
    service.reached.down = True
    assert (await service.lookups.lookup("c", "pool", [])).lookup.external is None


async def test_of_many_targets_the_latest_are_remembered(service: Service, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "REMEMBERED_TARGETS", 2)
    service = Service(service.store)
    await service.follower.catch_up()
    names = ("x", "y", "z")
    for name in names:
        await service.store.put_target("c", name, TARGET)
    for name in ("x", "y", "x", "z"):
        await service.lookups.lookup("c", name, [])
    service.reached.down = True
    externals = {name: (await service.lookups.lookup("c", name, [])).lookup.external for name in names}
    assert externals == {"x": TARGET, "y": None, "z": TARGET}


async def test_while_the_follower_cannot_reach_the_store_nobody_waits_for_it(service: Service):
    service.follower.caught_up = False
    found = await service.lookups.lookup("c", "pool", ["a"])
    assert (found.outage, found.lookup.labels["a"].entity_bin) == ("the store cannot be reached", 3)
    assert await service.lookups.documents("c", ["a"]) == ({}, "the store cannot be reached")
    assert await service.lookups.documents("c", []) == ({}, None)


async def test_an_unknown_collection_is_not_remembered(service: Service):
    assert not (await service.lookups.lookup("new", "pool", [])).lookup.known
    await service.store.put_settings("new", MERGED)
    assert (await service.lookups.lookup("new", "brekkie", [])).entity == "breakfast"
