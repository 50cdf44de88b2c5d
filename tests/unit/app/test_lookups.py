import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from app.follower import Follower
from app.index.local import LocalIndex
from app.lookups import Found, Lookups
from app.store.base import CollectionSettings, Labels, Lookup, Store
from tests.conftest import put

NEVER_S = 3600


class Counted:
    """A store that notes what is looked up, and may take its time for an answer."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.asked: list[list[str]] = []
        self.answers = True
        self.reached = asyncio.Event()

    async def lookup(self, collection: str, entity: str | None, ids: Sequence[str], facets: Sequence[str]) -> Lookup:
        self.asked.append(list(ids))
        self.reached.set()
        if not self.answers:
            await asyncio.Event().wait()
        return await self._store.lookup(collection, entity, ids, facets)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Reader:
    """Lookups over a store, an index that follows it, and what was asked of it."""

    def __init__(
        self, store: Store, staleness_s: float = NEVER_S, timeout_s: float = 10, retry_s: float = NEVER_S
    ) -> None:
        self.store = Counted(store)
        index = LocalIndex()
        self.follower = Follower(store, index, NEVER_S)
        self._lookups = Lookups(self.store, index, self.follower, staleness_s, timeout_s, retry_s)

    async def of(self, *ids: str, entity: str | None = "room", others: Sequence[str] = ()) -> Found:
        return await self._lookups.lookup("c", entity, ids, others=others)

    def forget(self) -> None:
        self._lookups.forget()


async def test_what_the_index_labels_and_counts_that_are_known_are_not_asked_for_again(store: Store):
    await store.apply("c", [put("a", {"room": 1}), put("b", {"room": 6})])
    reader = Reader(store)
    await reader.follower.catch_up()
    for _ in range(3):
        found = await reader.of("a", "b")
        assert {name: labels.entity_bin for name, labels in found.lookup.labels.items()} == {"a": 1, "b": 6}
        assert found.lookup.entity_counts == [[0, 1, 0, 0, 0, 0, 1]]
    assert reader.store.asked == [[]]


LABELLED = {"a": Labels(1, None, False), "whole": Labels(None, 5, False), "other": Labels(None, None, False)}


@pytest.mark.parametrize("behind", [False, True])
async def test_labels_are_the_stores_whether_the_index_has_them_or_is_behind(store: Store, behind: bool):
    await store.apply("c", [put("a", {"room": 1}), put("whole", bin=5), put("other", {"bar": 2})])
    reader = Reader(store, staleness_s=0 if behind else NEVER_S)
    await reader.follower.catch_up()
    await store.apply("c", [put("new", {"room": 6})])
    found = await reader.of("a", "whole", "other", "new", "unknown")
    assert list(map(set, reader.store.asked)) == ([{"a", "whole", "other", "new", "unknown"}] if behind else [set()])
    assert found.lookup.labels == {**LABELLED, **({"new": Labels(6, None, False)} if behind else {})}
    assert (await reader.of("a", "whole", entity=None)).lookup.labels == {
        "a": Labels(None, None, False),
        "whole": LABELLED["whole"],
    }


async def test_that_a_labelled_document_is_excluded_is_still_found_out(store: Store):
    await store.apply("c", [put("a", {"room": 1}), put("hidden", {"room": 1}, excluded=True)])
    reader = Reader(store)
    await reader.follower.catch_up()
    found = await reader.of(others=["a", "hidden", "unknown"])
    assert reader.store.asked == [[]]
    assert found.lookup.labels == {"hidden": Labels(None, None, True)}
    await store.apply("c", [put("a", {"room": 1}, excluded=True), put("hidden", {"room": 1})])
    await reader.follower.catch_up()
    assert set((await reader.of(others=["a", "hidden"])).lookup.labels) == {"a"}


async def test_after_a_registry_change_elsewhere_labels_are_the_stores_until_the_index_has_followed(
    store: Store,
):
    await store.apply("c", [put("a", {"breakfast": 1}), put("b", {"brekkie": 6})])
    reader = Reader(store)
    await reader.follower.catch_up()
    await reader.of("a", "b", entity="breakfast")
    await store.put_settings("c", CollectionSettings(registry={"breakfast": ("brekkie",)}))
    reader.forget()  # as time would
    for _ in range(2):
        found = await reader.of("a", "b", entity="breakfast")
        assert [found.lookup.labels[name].entity_bin for name in ("a", "b")] == [1, 6]
        assert found.lookup.entity_counts == [[0, 1, 0, 0, 0, 0, 1]]
    asked = len(reader.store.asked)
    await reader.follower.catch_up()
    found = await reader.of("a", "b", entity="breakfast")
    assert [found.lookup.labels[name].entity_bin for name in ("a", "b")] == [1, 6]
    assert len(reader.store.asked) == asked


async def test_counts_are_read_anew_when_they_are_too_old_or_something_was_written_here(store: Store):
    await store.apply("c", [put("a", {"room": 1})])
    kept, short_lived = Reader(store), Reader(store, staleness_s=0)
    for reader in (kept, short_lived):
        await reader.follower.catch_up()
        assert (await reader.of()).lookup.domain_counts == [[0, 1, 0, 0, 0, 0, 0]]
    await store.apply("c", [put("b", {"room": 1})])
    assert (await kept.of()).lookup.domain_counts == [[0, 1, 0, 0, 0, 0, 0]]
    assert (await short_lived.of()).lookup.domain_counts == [[0, 2, 0, 0, 0, 0, 0]]
    kept.forget()
    assert (await kept.of()).lookup.domain_counts == [[0, 2, 0, 0, 0, 0, 0]]


async def test_counts_that_were_asked_for_before_a_write_are_neither_told_nor_kept_after_it(store: Store):
    await store.apply("c", [put("a", {"room": 1})])
    reader = Reader(store)
    await reader.follower.catch_up()
    under_way = asyncio.create_task(reader.of())
    await reader.store.reached.wait()
    await store.apply("c", [put("b", {"room": 1})])
    reader.forget()
    for _ in range(2):
        assert (await reader.of()).lookup.domain_counts == [[0, 2, 0, 0, 0, 0, 0]]
        await under_way
    assert len(reader.store.asked) == 2


async def test_counts_that_many_ask_for_at_once_are_read_once(store: Store):
    await store.apply("c", [put("a", {"room": 1})])
    reader = Reader(store)
    await reader.follower.catch_up()
    for round_ in (1, 2):
        several = [reader.of() for _ in range(9)]
        every = await asyncio.gather(*several, reader.of(entity="bar"))
        assert [found.lookup.entity_counts for found in every] == [[[0, 1, 0, 0, 0, 0, 0]]] * 9 + [[[0] * 7]]
        assert len(reader.store.asked) == 2 * round_
        reader.forget()


async def test_a_read_goes_on_for_the_others_when_the_one_who_began_it_leaves(store: Store):
    await store.apply("c", [put("a", {"room": 1})])
    reader = Reader(store)
    await reader.follower.catch_up()
    first, second = asyncio.create_task(reader.of()), asyncio.create_task(reader.of())
    await reader.store.reached.wait()
    first.cancel()
    assert (await second).lookup.domain_counts == [[0, 1, 0, 0, 0, 0, 0]]
    assert first.cancelled()
    assert len(reader.store.asked) == 1


async def test_an_outage_is_told_to_all_who_wait_for_the_same_counts(store: Store):
    await store.apply("c", [put("a", {"room": 1})])
    reader = Reader(store, timeout_s=0.2)
    await reader.follower.catch_up()
    reader.store.answers = False
    every = await asyncio.gather(*(reader.of("a") for _ in range(3)))
    assert ["in time" in (found.outage or "") for found in every] == [True] * 3
    assert [found.lookup.labels["a"].entity_bin for found in every] == [1] * 3
    assert len(reader.store.asked) == 1


async def test_a_store_that_does_not_answer_in_time_is_done_without_and_left_alone_for_a_while(store: Store):
    await store.apply("c", [put("a", {"room": 1})])
    reader = Reader(store, staleness_s=0, timeout_s=0.5)
    await reader.follower.catch_up()
    await reader.of("a")
    reader.store.answers = False
    for _ in range(3):
        found = await reader.of("a")
        assert "in time" in (found.outage or "")
        assert found.lookup.labels["a"].entity_bin == 1
        assert found.lookup.entity_counts == [[0, 1, 0, 0, 0, 0, 0]]
    assert len(reader.store.asked) == 2


async def test_a_store_that_answers_again_is_asked_again(store: Store):
    reader = Reader(store, staleness_s=0, timeout_s=0.5, retry_s=0)
    await reader.follower.catch_up()
    reader.store.answers = False
    assert (await reader.of("a")).outage
    reader.store.answers = True
    assert (await reader.of("a")).outage is None
