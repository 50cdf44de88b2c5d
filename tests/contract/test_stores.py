"""What every store promises about what it keeps. A new backend is one entry in `tests.conftest.BACKENDS`."""

from collections.abc import Callable

import numpy as np
import pytest

from app.errors import CollectionChangedError, StoreUnavailableError
from app.store.base import (
    Change,
    CollectionSettings,
    Document,
    Drift,
    Labels,
    Opinion,
    PoleQueries,
    Store,
    VectorSpace,
)
from tests.conftest import Backend, bins_of, counted, put, walk

LOW, HIGH = {"room": 0}, {"room": 6}
SPACE = VectorSpace(2, "model")
ODD_NAMES = {  # each with names that it must not be taken for
    "NFC": ("\u00e9", ["e\u0301", "e", "\u00c9"]),
    "NFD": ("e\u0301", ["\u00e9", "e"]),
    "null": ("a\0b", ["a", "ab"]),
    "control": ("\x01\x1f\x7f", ["\x01", "\\u0001\x1f\x7f"]),
    "quotes": ("'\"`\\", ["'", "'\"`\\\\"]),
    "placeholders": ("%s ? :a {b} $1 *", ["s", "% ? :a {b} $1 *"]),
    "separators": ("a:b/c|d\n\u2028", ["a", "a:b", "a:b/c|d"]),
    "emoji": ("\U0001f468\u200d\U0001f469", ["\U0001f468", "\U0001f468\U0001f469"]),
    "noncharacters": ("\ufffe\uffff\U0010ffff", ["\ufffd\ufffd\U0010ffff"]),
    "number": ("1", ["01", "1.0"]),
    "space": (" ", ["  ", "\u00a0"]),
    "512 bytes": ("\u20ac" * 170 + "xy", ["\u20ac" * 170 + "x"]),
}


async def test_counts_follow_every_change(store: Store) -> None:
    steps: list[tuple[Change, dict[int, int], dict[int, int]]] = [
        # change, opinions on the room by bin, opinions on all entities by bin
        (put("a", {"room": 0, "food": 6}), {0: 1}, {0: 1, 6: 1}),
        (put("b", {"room": 0}), {0: 2}, {0: 2, 6: 1}),
        (put("a", {"room": 3}), {0: 1, 3: 1}, {0: 1, 3: 1}),
        (put("c", {"food": 3}, excluded=True), {0: 1, 3: 1}, {0: 1, 3: 1}),
        (put("b", {"room": 0}, excluded=True), {3: 1}, {3: 1}),
        (put("c", {"food": 3}), {3: 1}, {3: 2}),
        (put("b", {"room": 6}, excluded=True), {3: 1}, {3: 2}),
        (put("b", {"room": 6}), {3: 1, 6: 1}, {3: 2, 6: 1}),
        (put("b", {"room": 6}, excluded=True), {3: 1}, {3: 2}),
        (Change("b"), {3: 1}, {3: 2}),
        (Change("a"), {}, {3: 1}),
        (Change("c"), {}, {}),
    ]
    for change, room, everything in steps:
        await store.apply("c", [change])
        assert (await counted(store, "c", "room"), await counted(store, "c")) == (room, everything)
        assert await store.drift() == []


async def test_an_excluded_document_is_stored_and_flagged(store: Store) -> None:
    await store.apply("c", [put("x", {"room": 2}, bin=5, excluded=True), put("y", bin=4), put("z", {"room": 1})])
    lookup = await store.lookup("c", "room", ["x", "y", "z", "nothing"])
    assert lookup.known
    assert lookup.labels == {"x": Labels(2, 5, True), "y": Labels(None, 4, False), "z": Labels(1, None, False)}
    assert await counted(store, "c", "room") == {1: 1}
    stored = await store.document("c", "x")
    assert stored
    assert stored.content.excluded


async def test_a_deleted_document_has_no_labels(store: Store) -> None:
    await store.apply("c", [put("x", {"room": 2}, bin=5), put("y", {"room": 2})])
    await store.apply("c", [Change("x")])
    assert (await store.lookup("c", "room", ["x", "y"])).labels == {"y": Labels(2, None, False)}


async def test_an_unknown_collection_is_empty_and_looking_or_deleting_creates_none(store: Store) -> None:
    await store.apply("c", [Change("d")])
    lookup = await store.lookup("c", "room", ["d"])
    assert (lookup.known, lookup.labels, lookup.settings, lookup.space) == (False, {}, CollectionSettings(), None)
    assert (list(lookup.entity_counts), list(lookup.domain_counts)) == ([[0] * 7], [[0] * 7])
    assert await store.settings("c") is None
    assert await store.vector_space("c") is None
    assert await store.apply("c", []) == []
    assert await store.collections() == []


async def test_collections_never_touch(store: Store) -> None:
    await store.apply("one", [put("d", {"room": 0}, vector=np.ones(2, np.float32))], SPACE)
    await store.apply("two", [put("d", {"room": 6}, text="two")])
    await store.put_settings("two", CollectionSettings(pole_queries=PoleQueries(neutral="{entity}?")))
    assert await store.collections() == ["one", "two"]
    assert (await counted(store, "one"), await counted(store, "two")) == ({0: 1}, {6: 1})
    assert (await store.vector_space("one"), await store.vector_space("two")) == (SPACE, None)
    assert await store.settings("one") == CollectionSettings()

    assert await store.apply("one", [Change("d")]) == ["deleted"]
    stored = await store.document("two", "d")
    assert stored
    assert stored.content.text == "two"
    assert (await counted(store, "one", "room"), await counted(store, "two", "room")) == ({}, {6: 1})


async def test_the_scale_stays_while_documents_are_held_and_the_rest_may_change(store: Store) -> None:
    stars = CollectionSettings(positions=(1.0, 2.5, 5.0), stars=(1.0, 2.0, 3.0, 4.0, 5.0))
    assert await store.put_settings("c", CollectionSettings())
    assert await store.put_settings("c", stars)
    await store.apply("c", [put("d", {"room": 2})])
    assert len((await store.lookup("c", "room", [])).entity_counts[0]) == 3
    assert not await store.put_settings("c", CollectionSettings())
    assert await store.settings("c") == stars
    reworded = CollectionSettings(stars.positions, stars.stars, PoleQueries(positive="praise of {entity}"))
    assert await store.put_settings("c", reworded)
    assert (await store.settings("c"), (await store.lookup("c", None, [])).settings) == (reworded, reworded)


async def test_the_scale_may_change_once_all_documents_are_deleted(store: Store) -> None:
    await store.apply("c", [put("d", {"room": 6})])
    await store.apply("c", [Change("d")])
    assert await store.put_settings("c", CollectionSettings(positions=(0.0, 1.0), stars=None))


async def test_changes_made_for_another_scale_are_refused_whole(store: Store) -> None:
    default, other = CollectionSettings().positions, (1.0, 2.0)
    assert await store.apply("c", [put("a", LOW)], positions=default) == ["created"]
    with pytest.raises(CollectionChangedError):
        await store.apply("c", [put("b", LOW), Change("a")], positions=other)
    assert sorted(await store.documents("c", ["a", "b"])) == ["a"]
    assert await store.apply("c", [put("b", LOW), Change("a")], positions=default) == ["created", "deleted"]


async def test_what_is_refused_for_its_scale_leaves_no_collection_and_no_vector_space(store: Store) -> None:
    with pytest.raises(CollectionChangedError):
        await store.apply("c", [put("a", LOW, vector=np.ones(2, np.float32))], SPACE, positions=(1.0, 2.0))
    assert (await store.collections(), await store.vector_space("c")) == ([], None)


async def test_the_first_vectors_fix_the_vector_space_and_others_are_refused_whole(store: Store) -> None:
    await store.apply("c", [put("a", LOW)])
    assert await store.vector_space("c") is None
    await store.apply("c", [put("b", LOW, vector=np.ones(2, np.float32))], SPACE)
    assert await store.apply("c", [put("b", HIGH)], SPACE) == ["updated"]
    for other in (VectorSpace(3, "model"), VectorSpace(2, "other"), VectorSpace(2, None)):
        with pytest.raises(CollectionChangedError):
            await store.apply("c", [put("new", LOW), Change("a")], other)
    assert (await store.vector_space("c"), (await store.lookup("c", None, [])).space) == (SPACE, SPACE)
    assert sorted(await store.documents("c", ["a", "b", "new"])) == ["a", "b"]


async def test_a_document_comes_back_with_all_its_fields(store: Store) -> None:
    content = Document(
        text="line\n\0 \u00e9 e\u0301 \U0001f600",
        opinions=[Opinion("room", 0, 0.0, "its size", "fact", -1.5, ["joy", ""]), Opinion("food", 6)],
        bin=0,
        attributes={"": "empty", "traveller": "family"},
        metadata={"max": 2**63 - 1, "min": -(2**63), "unsigned": 2**64 - 1, "deep": [{"\0": None}, 0.1, True]},
        timestamp="2024-02-29T12:00:00Z",
        excluded=True,
    )
    await store.apply("c", [Change("d", content, b"\0fingerprint", version=1)])
    stored = await store.document("c", "d")
    assert stored
    assert (stored.id, stored.version, stored.content) == ("d", 1, content)


@pytest.mark.parametrize(("name", "others"), ODD_NAMES.values(), ids=ODD_NAMES)
async def test_any_name_is_only_itself(store: Store, name: str, others: list[str]) -> None:
    await store.apply(name, [put(name, {name: 3}), *(put(other, {other: 1}) for other in others)])
    await store.apply("other", [put(other, {other: 1}) for other in others])

    assert await store.collections() == sorted(["other", name])
    assert {found: one.content.opinions for found, one in (await store.documents(name, [name])).items()} == {
        name: [Opinion(name, 3)]
    }
    assert (await store.lookup(name, name, [name])).labels == {name: Labels(3, None, False)}
    assert await counted(store, name, name) == {3: 1}
    of_others = {(collection, other): {other: 1} for collection in (name, "other") for other in others}
    assert bins_of((await walk(store)).entries) == {(name, name): {name: 3}} | of_others
    assert await store.documents("other", [name]) == {}

    assert await store.apply(name, [Change(name)]) == ["deleted"]
    assert bins_of((await walk(store)).entries) == of_others
    assert sorted(await store.documents(name, [name, *others])) == sorted(others)


async def test_drift_names_a_count_that_differs_from_a_recount(store: Store, backend: Backend) -> None:
    await store.apply("c", [put("a", {"room": 2}), put("b", {"room": 2, "food": 3})])
    await store.apply("other", [put("a", {"room": 2})])
    assert await store.drift() == []
    backend.miscount("c", "room", 2, by=1)
    assert await store.drift() == [Drift("c", "p:", "room", 2, counted=3, recounted=2)]
    backend.miscount("c", "room", 2, by=-3)
    assert await store.drift() == [Drift("c", "p:", "room", 2, counted=0, recounted=2)]


async def test_a_reopened_store_holds_what_was_answered_for(
    backend: Backend, another_store: Callable[[], Store]
) -> None:
    before = backend.open()
    await before.apply("c", [put("d", HIGH, version=7, vector=np.ones(2, np.float32)), put("gone", LOW)], SPACE)
    await before.apply("c", [Change("gone")])
    await before.close()

    after = another_store()
    stored = await after.document("c", "d")
    assert stored
    assert (stored.version, stored.content.opinions) == (7, [Opinion("room", 6)])
    assert (await counted(after, "c", "room"), await after.vector_space("c")) == ({6: 1}, SPACE)
    assert bins_of((await walk(after)).entries) == {("c", "d"): HIGH}
    assert await after.apply("c", [put("d", LOW, version=7)]) == ["conflict"]
    assert await after.drift() == []


async def test_what_cannot_be_opened_is_unavailable(backend: Backend) -> None:
    with pytest.raises(StoreUnavailableError):
        await backend.open_broken().collections()
