"""What every store promises to those who use it at the same time."""

import asyncio
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from app.store.base import Change, CollectionSettings, IndexEntry, Store
from tests.conftest import bins_of, counted, pages, put

IDS = [f"d{i}" for i in range(10)]


async def scribble(store: Store, seed: int) -> None:
    """Put and delete a few documents again and again."""
    rng = np.random.default_rng(seed)
    for _ in range(25):
        bins, chosen = rng.integers(0, 8, 4).tolist(), rng.choice(IDS, 4).tolist()
        assert await store.put_settings("c", CollectionSettings())
        await store.apply(
            "c",
            [
                Change(name) if b == 7 else put(name, {"room": b, f"{name} only": 3}, excluded=b == 6)
                for name, b in zip(chosen, bins, strict=True)
            ],
        )


async def scribble_at_once(*stores: Store) -> None:
    await asyncio.gather(*(scribble(store, seed) for seed, store in enumerate(stores)))


async def test_a_reader_sees_each_document_together_with_its_counts(
    store: Store, another_store: Callable[[], Store]
) -> None:
    ids = [f"d{i}" for i in range(300)]
    reader = another_store()
    seen: list[Counter[int | None]] = []

    async def move() -> None:
        for b in (0, 2, 4, 6):
            await store.apply("c", [put(name, {"room": b, "food": 6 - b}) for name in ids])

    moving = asyncio.create_task(move())
    while not moving.done():
        lookup = await reader.lookup("c", "room", ids)
        room = Counter(labels.entity_bin for labels in lookup.labels.values())
        food = Counter({6 - b: n for b, n in room.items()})
        assert Counter(dict(enumerate(lookup.entity_counts[0]))) == room
        assert Counter(dict(enumerate(lookup.domain_counts[0]))) == room + food
        seen.append(room)
    await moving
    assert any(room != seen[0] for room in seen)


async def test_writers_at_the_same_time_keep_the_counts_equal_to_a_recount(
    store: Store, another_store: Callable[[], Store]
) -> None:
    await scribble_at_once(*[store, another_store(), another_store()] * 2)
    stored = await store.documents("c", IDS)
    counting = [one.content.opinions[0].bin for one in stored.values() if not one.content.excluded]
    assert await counted(store, "c", "room") == Counter(counting)
    assert await counted(store, "c") == Counter([*counting, *[3] * len(counting)])
    assert await store.drift() == []


async def test_one_who_follows_the_writers_ends_with_what_is_stored(
    store: Store, another_store: Callable[[], Store]
) -> None:
    writing = asyncio.create_task(scribble_at_once(another_store(), another_store(), another_store()))
    entries: list[IndexEntry] = []
    cursor, last = None, False
    while not last:
        last = writing.done()
        async for page in pages(store, cursor):
            entries += page.entries
            cursor = page.cursor
    await writing
    assert bins_of(entries) == {
        ("c", name): {opinion.entity: opinion.bin for opinion in one.content.opinions}
        for name, one in (await store.documents("c", IDS)).items()
    }


async def test_writers_of_one_version_agree_on_one_winner(store: Store, another_store: Callable[[], Store]) -> None:
    other = another_store()
    for version in range(20):
        outcomes = await asyncio.gather(
            store.apply("c", [put("d", {"room": 0}, version=version)]),
            other.apply("c", [put("d", {"room": 6}, version=version)]),
        )
        assert sorted(o for (o,) in outcomes) == ["conflict", "updated" if version else "created"]
    assert sum((await counted(store, "c", "room")).values()) == 1


@pytest.mark.parametrize("steps", range(5))
async def test_a_write_whose_caller_went_away_is_whole_in_each_document_and_may_be_repeated(
    store: Store, steps: int
) -> None:
    batch = [put(f"d{i}", {"room": 3}) for i in range(50)]
    writing = asyncio.create_task(store.apply("c", batch))
    for _ in range(steps):
        await asyncio.sleep(0)
    writing.cancel()
    await asyncio.wait([writing])
    lookup = await store.lookup("c", "room", [change.id for change in batch])
    assert sum(lookup.entity_counts[0]) == len(lookup.labels)
    assert set(await store.apply("c", batch)) <= {"created", "unchanged"}
    assert await counted(store, "c", "room") == {3: 50}
    assert await store.drift() == []
