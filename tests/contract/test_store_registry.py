"""What every store promises about a registry: stored opinions count under the entity that it names for them."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import date

import msgspec
import numpy as np
import pytest

from app.errors import CollectionChangedError
from app.store.base import Change, CollectionSettings, IndexEntry, Labels, Store, VectorSpace
from app.store.facets import ALL, of_day, of_group
from tests.conftest import bins_of, counted, pages, put, walk

MERGED = CollectionSettings(registry={"breakfast": ("brekkie", "morning meal")})
PLAIN = CollectionSettings()
DAY, FAMILY = of_day(date(2024, 1, 1)), of_group("traveller", "family")
NAMES = ("breakfast", "brekkie", "morning meal", "room")


async def told(store: Store, facet: str = ALL) -> dict[str, dict[int, int]]:
    """Bin -> opinions of each entity that has any."""
    counts = {name: await counted(store, "c", name, facet) for name in NAMES}
    return {name: found for name, found in counts.items() if found}


async def test_names_put_into_the_registry_move_stored_opinions_and_taken_out_move_them_back(store: Store) -> None:
    about = {"timestamp": "2024-01-01", "attributes": {"traveller": "family"}}
    await store.apply("c", [put("a", {"brekkie": 6, "room": 1}, **about), put("b", {"breakfast": 0}, **about)])
    await store.apply("c", [put("hidden", {"brekkie": 3}, excluded=True), put("gone", {"brekkie": 3}), Change("gone")])
    apart = {"breakfast": {0: 1}, "brekkie": {6: 1}, "room": {1: 1}}
    together = {"breakfast": {0: 1, 6: 1}, "room": {1: 1}}
    for settings, expected in ((MERGED, together), (PLAIN, apart), (MERGED, together)):
        assert await store.put_settings("c", settings)
        for facet in (ALL, DAY, FAMILY):
            assert await told(store, facet) == expected
            assert await counted(store, "c", None, facet) == {0: 1, 1: 1, 6: 1}
        assert await store.drift() == []
    found = await store.lookup("c", "breakfast", ["a", "b", "hidden"])
    assert found.labels == {"a": Labels(6, None, False), "b": Labels(0, None, False), "hidden": Labels(3, None, True)}
    assert (await store.lookup("c", "brekkie", ["a"])).labels == {"a": Labels(None, None, False)}


async def test_of_opinions_that_fall_together_the_first_of_the_document_counts(store: Store) -> None:
    await store.apply(
        "c", [put("a", {"morning meal": 6, "brekkie": 5, "breakfast": 4}), put("b", {"brekkie": 1, "breakfast": 0})]
    )
    await store.put_settings("c", MERGED)
    assert (await told(store), await counted(store, "c")) == ({"breakfast": {6: 1, 1: 1}}, {6: 1, 1: 1})
    await store.apply("c", [put("c", {"breakfast": 2, "morning meal": 3})])
    assert await told(store) == {"breakfast": {6: 1, 1: 1, 2: 1}}
    await store.put_settings("c", PLAIN)
    assert await told(store) == {"breakfast": {4: 1, 0: 1, 2: 1}, "brekkie": {5: 1, 1: 1}, "morning meal": {6: 1, 3: 1}}
    assert await store.drift() == []


async def test_a_name_may_become_the_name_of_another_entity_or_swap_with_its_own(store: Store) -> None:
    await store.apply("c", [put("a", {"breakfast": 0, "brekkie": 1, "morning meal": 2, "room": 3})])
    everything: list[tuple[Mapping[str, tuple[str, ...]], dict[str, dict[int, int]]]] = [
        ({"breakfast": ("brekkie",)}, {"breakfast": {0: 1}, "morning meal": {2: 1}, "room": {3: 1}}),
        ({"brekkie": ("breakfast",)}, {"brekkie": {0: 1}, "morning meal": {2: 1}, "room": {3: 1}}),
        ({"room": ("breakfast", "brekkie")}, {"room": {0: 1}, "morning meal": {2: 1}}),
        ({"unseen": NAMES}, {}),
        ({"brekkie": ("room",), "breakfast": ("morning meal",)}, {"brekkie": {1: 1}, "breakfast": {0: 1}}),
        ({}, {name: {b: 1} for b, name in enumerate(NAMES)}),
    ]
    for registry, expected in everything:
        await store.put_settings("c", CollectionSettings(registry=dict(registry)))
        assert await told(store) == expected
        assert await store.drift() == []
    await store.put_settings("c", CollectionSettings(registry={"unseen": NAMES}))
    assert await counted(store, "c", "unseen") == await counted(store, "c") == {0: 1}


async def test_the_same_content_is_unchanged_under_another_registry_and_keeps_version_and_vector(store: Store) -> None:
    vector, space = np.array([3, 4], np.float32), VectorSpace(2, None)
    await store.apply("c", [put("v", {"brekkie": 6}, version=5, vector=vector), put("d", {"brekkie": 5})], space)
    before = [record async for record in store.records("c")]
    for settings in (MERGED, PLAIN, MERGED):
        await store.put_settings("c", settings)
        assert [record async for record in store.records("c")] == before
        again = [put("v", {"brekkie": 6}, version=5), put("v", {"brekkie": 6}), put("d", {"brekkie": 5})]
        assert await store.apply("c", again) == ["unchanged"] * 3
    assert await store.apply("c", [put("v", {"brekkie": 0}, version=5)]) == ["conflict"]
    stored = await store.document("c", "v")
    assert stored
    assert [opinion.entity for opinion in stored.content.opinions] == ["brekkie"]  # as it was given


async def test_one_who_follows_is_told_of_the_documents_whose_opinions_moved_and_of_no_others(store: Store) -> None:
    await store.apply("c", [put("a", {"brekkie": 6, "room": 1}), put("b", {"room": 0}), put("c", {"breakfast": 3})])
    await store.apply("other", [put("a", {"brekkie": 6})])
    cursor = (await walk(store)).cursor
    await store.put_settings("c", MERGED)
    page = await walk(store, cursor)
    assert bins_of(page.entries)["c", "a"] == {"breakfast": 6, "room": 1}
    assert {entry.id for entry in page.entries} <= {"a", "c"}  # what counted under the canonical name may be told again
    assert ("other", "a") not in bins_of(page.entries)
    assert await counted(store, "other", "brekkie") == {6: 1}


async def test_more_documents_than_a_store_reads_at_once_move_all(store: Store) -> None:
    await store.apply("c", [put(f"d{i}", {("brekkie", "room")[i % 2]: i % 7}) for i in range(3000)])
    await store.put_settings("c", MERGED)
    assert await counted(store, "c", "brekkie") == {}
    assert sum((await counted(store, "c", "breakfast")).values()) == 1500
    assert await store.drift() == []


async def test_a_reader_sees_no_opinion_twice_or_lost_while_opinions_move(
    store: Store, another_store: Callable[[], Store]
) -> None:
    n, reader = 400, another_store()
    await store.apply("c", [put(f"d{i}", {"brekkie": i % 7}) for i in range(n)])

    async def change() -> None:
        for settings in (MERGED, PLAIN, MERGED):
            await store.put_settings("c", settings)

    changing = asyncio.create_task(change())
    while not changing.done():
        lookup = await reader.lookup("c", "breakfast", [f"d{i}" for i in range(n)])
        assert sum(lookup.domain_counts[0]) == n
        held = sum(labels.entity_bin is not None for labels in lookup.labels.values())
        assert sum(lookup.entity_counts[0]) == held
    await changing
    assert sum((await counted(store, "c", "breakfast")).values()) == n


async def patiently(store: Store, changes: list[Change]) -> None:
    """Apply, again where the registry changed too often meanwhile, as an ingest's caller would."""
    while True:
        try:
            await store.apply("c", changes)
        except CollectionChangedError:
            continue
        return


async def test_a_document_that_comes_while_the_registry_changes_ends_under_the_name_it_has_in_the_end(
    store: Store, another_store: Callable[[], Store]
) -> None:
    stores, ids = [another_store() for _ in range(3)], [f"d{i}" for i in range(40)]
    await store.put_settings("c", PLAIN)

    async def write(at: Store, seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(15):
            chosen = rng.choice(ids, 5, replace=False).tolist()
            await patiently(at, [put(name, {NAMES[rng.integers(3)]: int(rng.integers(7))}) for name in chosen])

    async def change() -> None:
        for i in range(8):
            await store.put_settings("c", (MERGED, PLAIN)[i % 2])
        await store.put_settings("c", MERGED)

    entries: list[IndexEntry] = []
    await asyncio.gather(change(), *(write(at, seed) for seed, at in enumerate(stores)))
    async for page in pages(store):
        entries += page.entries
    stored = await store.documents("c", ids)
    assert set(await told(store)) == {"breakfast"}
    assert sum((await counted(store, "c", "breakfast")).values()) == len(stored)
    assert all(set(bins) == {"breakfast"} for bins in bins_of(entries).values())
    assert await store.drift() == []


@pytest.mark.parametrize("steps", [2, 6, 10, 14, 18, 24])
async def test_a_change_of_the_registry_that_was_broken_off_is_whole_once_it_is_repeated(
    store: Store, steps: int
) -> None:
    await store.apply("c", [put(f"d{i}", {"brekkie": i % 7}) for i in range(100)])
    changing = asyncio.create_task(store.put_settings("c", MERGED))
    for _ in range(steps):
        await asyncio.sleep(0.0005)
    changing.cancel()
    await asyncio.wait([changing])
    assert sum((await counted(store, "c")).values()) == 100
    assert await store.put_settings("c", MERGED)
    assert await counted(store, "c", "brekkie") == {}
    assert sum((await counted(store, "c", "breakfast")).values()) == 100
    assert await store.drift() == []


async def test_of_two_registries_put_at_once_all_opinions_follow_the_one_that_stands(
    store: Store, another_store: Callable[[], Store]
) -> None:
    other = another_store()
    rivals = [CollectionSettings(registry={"room": ("brekkie",)}), MERGED, PLAIN]
    await store.apply("c", [put(f"d{i}", {NAMES[i % 3]: i % 7}) for i in range(60)])
    rng = np.random.default_rng(3)
    for _ in range(15):
        one, two = (rivals[i] for i in rng.integers(3, size=2))
        await asyncio.gather(store.put_settings("c", one), other.put_settings("c", two))
        standing = await store.settings("c")
        assert standing in (one, two)
        canonical = [standing.aliases.get(NAMES[i % 3], NAMES[i % 3]) for i in range(60)]
        assert {name: sum(n.values()) for name, n in (await told(store)).items()} == {
            name: canonical.count(name) for name in canonical
        }
    assert await store.drift() == []


async def test_other_settings_may_change_beside_the_registry(store: Store) -> None:
    await store.apply("c", [put("a", {"brekkie": 6})])
    await store.put_settings("c", MERGED)
    reworded = msgspec.structs.replace(MERGED, stars=None)
    await store.put_settings("c", reworded)
    assert (await store.settings("c"), await told(store)) == (reworded, {"breakfast": {6: 1}})
    assert not await store.put_settings("c", CollectionSettings((0.0, 1.0), None))
    assert (await store.settings("c"), await told(store)) == (reworded, {"breakfast": {6: 1}})
