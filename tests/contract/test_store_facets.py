"""What every store promises about the counts of a day and of an author group."""

from collections.abc import Callable
from datetime import date
from zlib import crc32

import pytest

from app.store.base import Change, Drift, Store
from app.store.facets import ALL, of_day, of_group
from tests.conftest import Backend, counted, put

MONDAY, TUESDAY = of_day(date(2024, 1, 1)), of_day(date(2024, 1, 2))
FAMILY, ALONE, STAFF = of_group("traveller", "family"), of_group("traveller", "alone"), of_group("role", "staff")
FACETS = {"Mon": MONDAY, "Tue": TUESDAY, "family": FAMILY, "alone": ALONE, "staff": STAFF}


async def told(store: Store, entity: str | None = None) -> dict[str, dict[int, int]]:
    """Bin -> opinions for each facet that has any."""
    counts = {name: await counted(store, "c", entity, facet) for name, facet in FACETS.items()}
    return {name: found for name, found in counts.items() if found}


async def test_a_document_counts_on_its_day_and_in_each_of_its_groups(store: Store) -> None:
    whole = {"timestamp": "2024-01-01T12:00:00Z", "attributes": {"traveller": "family", "role": "staff"}}
    await store.apply("c", [put("a", {"room": 0, "food": 6}, **whole), put("b", {"room": 0}), put("none", **whole)])
    assert await told(store, "room") == {"Mon": {0: 1}, "family": {0: 1}, "staff": {0: 1}}
    assert await told(store, "food") == {"Mon": {6: 1}, "family": {6: 1}, "staff": {6: 1}}
    assert await told(store) == {name: {0: 1, 6: 1} for name in ("Mon", "family", "staff")}
    assert await counted(store, "c", "room") == {0: 2}


ROOM = {"room": 3}
STEPS: dict[str, tuple[Change, dict[str, dict[int, int]]]] = {
    "another bin": (
        put("d", {"room": 5}, timestamp="2024-01-01", attributes={"traveller": "family"}),
        {"Mon": {5: 1}, "family": {5: 1}},
    ),
    "another day alone": (
        put("d", ROOM, timestamp="2024-01-02", attributes={"traveller": "family"}),
        {"Tue": {3: 1}, "family": {3: 1}},
    ),
    "another value alone": (
        put("d", ROOM, timestamp="2024-01-01", attributes={"traveller": "alone"}),
        {"Mon": {3: 1}, "alone": {3: 1}},
    ),
    "another attribute besides": (
        put("d", ROOM, timestamp="2024-01-01", attributes={"traveller": "family", "role": "staff"}),
        {"Mon": {3: 1}, "family": {3: 1}, "staff": {3: 1}},
    ),
    "no day and no group": (put("d", ROOM), {}),
    "no opinion": (put("d", timestamp="2024-01-01", attributes={"traveller": "family"}), {}),
    "exclusion": (
        put("d", ROOM, timestamp="2024-01-01", attributes={"traveller": "family"}, excluded=True),
        {},
    ),
    "deletion": (Change("d"), {}),
    "another time of the same day": (
        put("d", ROOM, timestamp="2024-01-01T23:59:59Z", attributes={"traveller": "family"}),
        {"Mon": {3: 1}, "family": {3: 1}},
    ),
}


@pytest.mark.parametrize(("change", "expected"), STEPS.values(), ids=STEPS)
async def test_the_counts_of_a_facet_follow_a_change_and_its_undoing(
    store: Store, change: Change, expected: dict[str, dict[int, int]]
) -> None:
    first = put("d", ROOM, timestamp="2024-01-01", attributes={"traveller": "family"})
    await store.apply("c", [first])
    await store.apply("c", [change])
    assert (await told(store, "room"), await told(store)) == (expected, expected)
    await store.apply("c", [first])
    assert await told(store, "room") == await told(store) == {"Mon": {3: 1}, "family": {3: 1}}
    assert await store.drift() == []


async def test_several_facets_come_at_once_in_the_order_asked_for_and_unknown_ones_are_empty(store: Store) -> None:
    await store.apply("c", [put("a", {"room": 0}, timestamp="2024-01-01"), put("b", {"room": 6, "food": 1})])
    asked = [TUESDAY, MONDAY, ALL, FAMILY, MONDAY]
    lookup = await store.lookup("c", "room", ["a"], asked)
    monday, everything = [1, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 1]
    assert [list(counts) for counts in lookup.entity_counts] == [[0] * 7, monday, everything, [0] * 7, monday]
    assert list(lookup.domain_counts[2]) == [1, 1, 0, 0, 0, 0, 1]
    assert lookup.labels["a"].entity_bin == 0
    assert list((await store.lookup("unknown", "room", [], asked)).domain_counts) == [[0] * 7] * 5


HOSTILE = [
    *("p:", "t:1:", "g:2:", "t:738886:room", "d:a", "x:", "m", "s", "l:1"),
    *(":", "1", "11:", "{a}", "[]", '","', "\\", '"', "'", "\0", "\n", "\x7f", "é", "e\u0301", "\U0001f600", " "),
    "\u20ac" * 170,
]


async def test_no_name_of_a_group_or_an_entity_is_taken_for_another(store: Store) -> None:
    """Each hostile text is an entity, an attribute and a value; each document alone is in its group."""
    names = [*HOSTILE, "a", "a1", "1a"]
    changes = [
        put(f"{i}", {name: i % 7}, attributes={name: other}, timestamp="2024-01-01")
        for i, (name, other) in enumerate(zip(names, names[1:] + names[:1], strict=True))
    ]
    changes.append(put("empty", {"empty": 6}, attributes={"": ""}))
    changes += [
        put(f"swap {i}", {"swap": i}, attributes=a) for i, a in enumerate(({"x": "yz"}, {"xy": "z"}, {"": "xyz"}))
    ]
    await store.apply("c", changes)
    for i, (name, other) in enumerate(zip(names, names[1:] + names[:1], strict=True)):
        assert await counted(store, "c", name, of_group(name, other)) == {i % 7: 1}
        assert await counted(store, "c", None, of_group(name, other)) == {i % 7: 1}
        assert await counted(store, "c", name, of_group(other, name)) == {}
        assert await counted(store, "c", other, of_group(name, other)) == {}
        assert await counted(store, "c", name) == await counted(store, "c", name, MONDAY) == {i % 7: 1}
    assert await counted(store, "c", "empty", of_group("", "")) == {6: 1}
    assert [await counted(store, "c", "swap", of_group(*g)) for g in (("x", "yz"), ("xy", "z"), ("", "xyz"))] == [
        {0: 1},
        {1: 1},
        {2: 1},
    ]
    assert await store.drift() == []
    await store.apply("c", [Change(change.id) for change in changes])
    assert await counted(store, "c") == await counted(store, "c", None, MONDAY) == {}
    assert await store.drift() == []


async def test_drift_tells_the_facet_of_any_name(store: Store, backend: Backend) -> None:
    group = of_group('a:"\0é', "{1}")
    await store.apply("c", [put("0", {"t:1:room": 2}, attributes={'a:"\0é': "{1}"}, timestamp="2024-01-01")])
    wrong = [(group, ""), (group, "t:1:room"), (ALL, ""), (ALL, "t:1:room"), (MONDAY, ""), (MONDAY, "t:1:room")]
    for facet, entity in wrong:
        backend.miscount("c", entity, 2, by=1, facet=facet)
    assert await store.drift() == [Drift("c", *name, 2, counted=2, recounted=1) for name in wrong]
    assert [str(drift) for drift in await store.drift()][1:5] == [
        'c: t:1:room by a:"\0é {1}, bin 2: 2 counted, 1 stored',
        "c: all entities, bin 2: 2 counted, 1 stored",
        "c: t:1:room, bin 2: 2 counted, 1 stored",
        "c: all entities on 2024-01-01, bin 2: 2 counted, 1 stored",
    ]


async def test_the_most_opinions_in_the_most_groups_count_and_uncount(store: Store) -> None:
    """64 opinions of 16 groups and a day, twice over, are one write on every backend."""
    attributes = {f"attribute {i}": f"value {i}" for i in range(16)}
    other = {name: f"other {value}" for name, value in attributes.items()}
    one = put("d", {f"e{i}": i % 7 for i in range(64)}, attributes=attributes, timestamp="2024-01-01")
    two = put("d", {f"f{i}": i % 7 for i in range(64)}, attributes=other, timestamp="2024-01-02")
    for change, group, entity in (
        (one, ("attribute 15", "value 15"), "e63"),
        (two, ("attribute 0", "other value 0"), "f63"),
    ):
        await store.apply("c", [change])
        assert await counted(store, "c", entity, of_group(*group)) == {0: 1}
        assert sum((await counted(store, "c", None, of_group(*group))).values()) == 64
        assert await store.drift() == []
    assert await counted(store, "c", "e63", of_group("attribute 15", "value 15")) == {}


MANY = [name for i in range(50 * 16) if crc32((name := f"d{i}").encode()) % 16 == 0]
"""Documents of one partition."""
RICH = [
    put(name, {f"{name} {j}": j % 7 for j in range(64)}, timestamp=f"{1900 + i}-01-01") for i, name in enumerate(MANY)
]


@pytest.mark.parametrize("change", [put, Change], ids=["replaced", "deleted"])
async def test_many_documents_of_many_opinions_are_replaced_and_deleted_at_once(
    store: Store, change: Callable[[str], Change]
) -> None:
    """What a change takes away only the store knows; of several documents together it may be more than a call holds."""
    assert await store.apply("c", RICH) == ["created"] * len(MANY)
    assert len(set(await store.apply("c", [change(name) for name in MANY]))) == 1
    assert await counted(store, "c") == {}
    assert await store.drift() == []


async def test_of_a_call_that_is_too_large_for_the_store_each_document_has_its_last_change(store: Store) -> None:
    await store.apply("c", RICH)
    steps = [[put(name, text=text) for name in MANY] for text in ("first", "second", "last")]
    outcomes = await store.apply("c", [change for step in steps for change in step])
    assert outcomes == ["updated"] * 3 * len(MANY)
    assert {one.content.text for one in (await store.documents("c", MANY)).values()} == {"last"}
    assert await store.drift() == []
