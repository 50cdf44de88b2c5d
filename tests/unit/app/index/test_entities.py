from app.index.collection import LocalCollection
from app.store.base import IndexEntry
from tests.indexes import entry, index_of


def test_entities_follow_every_change_with_how_many_opinions_they_have():
    steps: list[tuple[IndexEntry, dict[str, int]]] = [
        (entry("a", bins={"room": 0, "food": 6}), {"room": 1, "food": 1}),
        (entry("b", bins={"room": 0}), {"room": 2, "food": 1}),
        (entry("a", bins={"room": 3}), {"room": 2}),
        (entry("c", bins={"pool": 3}, excluded=True), {"room": 2}),
        (entry("c", bins={"pool": 3}), {"room": 2, "pool": 1}),
        (entry("b", bins={"room": 0}, excluded=True), {"room": 1, "pool": 1}),
        (entry("a", present=False), {"pool": 1}),
        (entry("c", present=False), {}),
    ]
    index = LocalCollection()
    for change, expected in steps:
        index.put(change)
        assert index.entities("", 9) == sorted(expected.items())
        assert {name for name in ("room", "food", "pool", "bar", "") if index.knows(name)} == set(expected)


def test_entities_are_paged_in_the_order_of_their_code_points():
    names = ["B", "a", "a b", "ab", "b", "\u00e9", "\uffff", "\U0001f600"]
    index = index_of(entry(name, bins={name: 0}) for name in reversed(names))
    seen: list[str] = []
    while page := index.entities(seen[-1] if seen else "", 3):
        assert len(page) == min(3, len(names) - len(seen))
        seen += [name for name, _ in page]
    assert seen == names


def test_a_page_begins_past_a_name_that_need_not_be_known():
    index = index_of([entry("1", bins={"a": 0, "a b": 0, "ab": 0, "b": 0})])
    assert index.entities("aa", 1) == [("ab", 1)]
    index.put(entry("1", bins={"a": 0, "ab": 0, "b": 0}))
    assert index.entities("a b", 9) == [("ab", 1), ("b", 1)]
