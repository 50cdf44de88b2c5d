"""What every store promises to those who use it at the same time."""

import asyncio
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from app.store.base import Change, CollectionSettings, Store
from tests.conftest import counted, put


async def test_a_reader_sees_all_of_a_batch_or_nothing(store: Store, another_store: Callable[[], Store]) -> None:
    """Four batches move 300 documents from bin to bin while another store looks; labels and counts always agree."""
    ids = [f"d{i}" for i in range(300)]
    reader = another_store()
    looks: list[dict[int, int]] = []

    async def look() -> None:
        while True:
            lookup = await reader.lookup("c", "room", ids)
            looks.append({b: n for b, n in enumerate(lookup.entity_counts) if n})
            assert Counter(labels.entity_bin for labels in lookup.labels.values()) == looks[-1]

    looking = asyncio.create_task(look())
    for b in (0, 2, 4, 6):
        await store.apply("c", [put(name, {"room": b}) for name in ids])
    looking.cancel()
    await asyncio.wait([looking])
    assert looking.cancelled()
    assert len(looks) >= 4
    assert all(counts in ({}, {0: 300}, {2: 300}, {4: 300}, {6: 300}) for counts in looks)


async def test_writers_at_the_same_time_keep_the_counts_equal_to_a_recount(
    store: Store, another_store: Callable[[], Store]
) -> None:
    stores = [store, another_store(), another_store()]
    ids = [f"d{i}" for i in range(10)]

    async def write(writer: int) -> None:
        rng = np.random.default_rng(writer)
        for _ in range(25):
            bins, chosen = rng.integers(0, 8, 4).tolist(), rng.choice(ids, 4).tolist()
            assert await stores[writer % 3].put_settings("c", CollectionSettings())
            await stores[writer % 3].apply(
                "c",
                [
                    Change(name) if b == 7 else put(name, {"room": b, f"{name} only": 3}, excluded=b == 6)
                    for name, b in zip(chosen, bins, strict=True)
                ],
            )

    await asyncio.gather(*map(write, range(6)))
    stored = await store.documents("c", ids)
    counting = [one.content.opinions[0].bin for one in stored.values() if not one.content.excluded]
    assert await counted(store, "c", "room") == Counter(counting)
    assert await counted(store, "c") == Counter([*counting, *[3] * len(counting)])
    assert await store.drift() == []
    entries = await store.entries_since(0, 1000)
    assert sorted(e.id for e in entries) == ids
    assert {e.id: dict(e.bins) for e in entries if e.present} == {
        name: {o.entity: o.bin for o in one.content.opinions} for name, one in stored.items()
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
async def test_a_write_whose_caller_went_away_is_whole(store: Store, steps: int) -> None:
    ids = [f"d{i}" for i in range(50)]
    writing = asyncio.create_task(store.apply("c", [put(name, {"room": 3}) for name in ids]))
    for _ in range(steps):
        await asyncio.sleep(0)
    writing.cancel()
    await asyncio.wait([writing])
    assert await store.apply("c", [put("after", {"room": 3})]) == ["created"]
    stored = await store.documents("c", ids)
    assert len(stored) in (0, 50)
    assert await counted(store, "c", "room") == {3: len(stored) + 1}
    assert await store.drift() == []
