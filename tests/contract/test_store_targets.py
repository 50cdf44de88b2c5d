"""What every store promises about targets that were given for entities."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from app.store.base import CollectionSettings, Document, ExternalTarget, Store
from tests.conftest import put
from tests.contract.test_stores import ODD_NAMES

SI = CollectionSettings().positions
LOW = ExternalTarget(SI, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
MERGED = CollectionSettings(registry={"breakfast": ("brekkie", "morning meal")})
HIGH = ExternalTarget(SI, (0.0, 0.1, 0.2, 1e-300, 1e300, 0.30000000000000004, 5.0))


async def external(store: Store, entity: str | None, collection: str = "c") -> ExternalTarget | None:
    return (await store.lookup(collection, entity, [])).external


async def test_a_target_is_kept_replaced_and_forgotten_and_each_tells_whether_there_was_one(store: Store) -> None:
    assert (await store.targets("c"), await external(store, "room")) == ({}, None)
    assert await store.put_target("c", "room", None) is False
    for target, was_there in ((LOW, False), (HIGH, True), (HIGH, True), (LOW, True)):
        assert await store.put_target("c", "room", target) is was_there
        assert await external(store, "room") == target
        assert await store.targets("c") == {"room": target}
    assert [await store.put_target("c", "room", None) for _ in range(2)] == [True, False]
    assert (await store.targets("c"), await external(store, "room")) == ({}, None)


async def test_all_targets_come_in_the_order_of_their_entities(store: Store) -> None:
    names = ["z", "a", "Z", "é", "\U0001f600", "\uffff", "10", "9", "a b", "a", "m" * 512]
    for i, name in enumerate(names):
        await store.put_target("c", name, ExternalTarget((0.0, 1.0), (float(i), 1.0)))
    assert list((await store.targets("c")).items()) == [
        (name, ExternalTarget((0.0, 1.0), (float(len(names) - 1 - names[::-1].index(name)), 1.0)))
        for name in sorted(set(names))
    ]


async def test_many_targets_all_come(store: Store) -> None:
    for i in range(520):
        await store.put_target("c", f"e{i}", LOW)
    assert list(await store.targets("c")) == sorted(f"e{i}" for i in range(520))


async def test_targets_of_two_collections_and_of_two_entities_never_touch(store: Store) -> None:
    await store.put_target("one", "room", LOW)
    await store.put_target("two", "room", HIGH)
    await store.put_target("two", "food", LOW)
    assert (await external(store, "room", "one"), await external(store, "room", "two")) == (LOW, HIGH)
    assert (await external(store, "food", "one"), await external(store, None, "two")) == (None, None)
    assert await store.put_target("two", "room", None) is True
    assert (await store.targets("one"), await store.targets("two")) == ({"room": LOW}, {"food": LOW})


@pytest.mark.parametrize(("name", "others"), ODD_NAMES.values(), ids=ODD_NAMES)
async def test_a_target_is_that_of_its_entity_alone_whatever_its_name(
    store: Store, name: str, others: list[str]
) -> None:
    for other in others:
        await store.put_target(name, other, LOW)
    await store.put_target(name, name, HIGH)
    assert await external(store, name, name) == HIGH
    assert await store.targets(name) == dict(sorted([(name, HIGH), *((other, LOW) for other in others)]))
    await store.put_target(name, name, None)
    assert await store.targets(name) == dict(sorted((other, LOW) for other in others))


async def test_a_target_makes_its_collection_and_changes_no_document_and_no_count(store: Store) -> None:
    await store.put_target("c", "room", LOW)
    assert (await store.collections(), await store.settings("c")) == (["c"], CollectionSettings())
    lookup = await store.lookup("c", "room", [])
    assert (lookup.known, lookup.external) == (True, LOW)
    assert [*lookup.entity_counts[0], *lookup.domain_counts[0]] == [0] * 14
    assert [record async for record in store.records("c")] == []
    assert await store.put_settings("c", CollectionSettings((0.0, 1.0), None))  # it holds no document
    assert await external(store, "room") == LOW
    assert await store.drift() == []


async def test_forgetting_a_target_makes_no_collection(store: Store) -> None:
    await store.put_target("c", "room", None)
    assert await store.collections() == []


async def test_documents_and_targets_of_one_name_are_two_things(store: Store) -> None:
    await store.apply("c", [put("room", {"room": 3})])
    await store.put_target("c", "room", LOW)
    await store.put_target("c", "room", None)
    stored = await store.document("c", "room")
    assert stored
    assert stored.content == Document(opinions=put("room", {"room": 3}).content.opinions)
    assert (await store.lookup("c", "room", [])).entity_counts[0][3] == 1


async def test_the_target_of_a_name_that_becomes_one_of_another_entity_is_given_to_that_one(
    store: Store, caplog: Any
) -> None:
    await store.put_target("c", "brekkie", LOW)
    await store.put_target("c", "room", HIGH)
    await store.put_target("other", "brekkie", HIGH)
    assert await store.put_settings("c", MERGED)
    assert await store.targets("c") == {"breakfast": LOW, "room": HIGH}
    assert [await external(store, name) for name in ("breakfast", "brekkie")] == [LOW, None]
    assert await store.put_settings("c", CollectionSettings())  # nothing tells whence it came
    assert await store.targets("c") == {"breakfast": LOW, "room": HIGH}
    assert await store.targets("other") == {"brekkie": HIGH}
    assert await store.put_settings("c", CollectionSettings(registry={"meals": ("breakfast", "room")}))
    assert await store.targets("c") == {"meals": LOW}  # of the first in order
    assert "the target given for 'room' is forgotten: that is 'meals' by now, which has another" in caplog.text
    assert "'brekkie'" not in caplog.text


async def test_an_entity_that_has_a_target_keeps_it_and_those_of_its_new_names_are_forgotten_with_a_word(
    store: Store, caplog: Any
) -> None:
    for name, target in (("breakfast", HIGH), ("brekkie", LOW), ("morning meal", HIGH)):
        await store.put_target("c", name, target)
    for _ in range(2):
        assert await store.put_settings("c", MERGED)
        assert await store.targets("c") == {"breakfast": HIGH}
        assert caplog.text.count("'brekkie'") == 1
        assert "'morning meal'" not in caplog.text  # nothing is lost of it


async def test_a_target_under_another_name_of_an_entity_is_that_entitys(
    store: Store, another_store: Callable[[], Store]
) -> None:
    await another_store().settings("c")
    await store.put_settings("c", MERGED)
    assert await store.put_target("c", "brekkie", LOW) is False
    assert await store.targets("c") == {"breakfast": LOW}
    assert await another_store().put_target("c", "morning meal", HIGH) is True
    assert await store.targets("c") == {"breakfast": HIGH}
    assert await store.put_target("c", "brekkie", None) is True
    assert await store.targets("c") == {}


async def test_targets_of_many_names_all_follow(store: Store) -> None:
    names = tuple(f"e{i}" for i in range(1100))
    for name in names[::10]:
        await store.put_target("c", name, LOW)
    await store.put_settings("c", CollectionSettings(registry={f"of {name}": (name,) for name in names}))
    assert await store.targets("c") == {f"of {name}": LOW for name in sorted(names[::10])}


async def test_targets_given_while_the_registry_changes_end_under_the_name_that_stands(
    store: Store, another_store: Callable[[], Store]
) -> None:
    other, names = another_store(), [f"e{i}" for i in range(30)]
    registry = CollectionSettings(registry={f"of {name}": (name,) for name in names})
    await store.put_settings("c", CollectionSettings())
    for settings in (registry, CollectionSettings()):
        await asyncio.gather(store.put_settings("c", settings), *(other.put_target("c", name, LOW) for name in names))
    await store.put_settings("c", registry)
    assert await store.targets("c") == {f"of {name}": LOW for name in sorted(names)}
