import pytest

from app import registry as registries
from app.errors import InvalidRequestError
from app.registry import checked_registry, merged


@pytest.mark.parametrize(
    ("given", "registry"),
    [
        ({}, {}),
        ({"Breakfast": ["BREKKIE ", "brekkie", "Morning  Meal"]}, {"breakfast": ("brekkie", "morning meal")}),
        ({"breakfast": ["Breakfast", "ＢＲＥＡＫＦＡＳＴ"]}, {}),
        ({"alone": []}, {}),
        ({"z": ["b"], "a": ["y", "x"]}, {"a": ("x", "y"), "z": ("b",)}),
        ({"a": ["Straße"]}, {"a": ("strasse",)}),
    ],
)
def test_names_become_keys_in_order_and_those_that_change_nothing_are_left_out(given: dict, registry: dict):
    checked = checked_registry(given)
    assert (checked, list(checked)) == (registry, sorted(registry))
    assert checked_registry(checked) == checked


@pytest.mark.parametrize(
    ("given", "pointer", "detail"),
    [
        ({"a": ["x"], "b": ["X"]}, "/registry/b", "'x' is a name of 'a' too"),
        ({"a": ["b"], "b": ["c"]}, "/registry/b", "'b' is a name of 'a' too"),
        ({"b": ["c"], "a": ["b"]}, "/registry/a", "'b' is a name of 'b' too"),
        ({"a": ["b"], "b": []}, "/registry/b", "'b' is a name of 'a' too"),
        ({"A": ["x"], "a": ["y"]}, "/registry/a", "'a' is a name of 'A' too"),
        ({"": ["x"]}, "/registry/", "must not be empty"),
        ({"a": ["x", " "]}, "/registry/a/1", "must not be empty"),
        ({"a/b~": ["\ud800"]}, "/registry/a~1b~0/0", "without lone surrogates"),
        ({"a": ["x" * 513]}, "/registry/a/0", "at most 512 bytes"),
        ({"ﷺ" * 40: ["x"]}, f"/registry/{'ﷺ' * 40}", "at most 512 bytes"),  # 18 letters each, once they are folded
    ],
)
def test_a_name_that_is_not_allowed_or_has_two_entities_is_refused_where_it_stands(
    given: dict, pointer: str, detail: str
):
    with pytest.raises(InvalidRequestError) as refused:
        checked_registry(given)
    (error,) = refused.value.errors
    assert error.pointer == pointer
    assert detail in error.detail


def test_the_number_of_names_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registries, "MAX_NAMES", 4)
    assert len(checked_registry({"a": ["b"], "c": ["d"]})) == 2
    with pytest.raises(InvalidRequestError, match="at most 4 names are allowed, got 5") as refused:
        checked_registry({"a": ["b", "e"], "c": ["d"]})
    assert refused.value.errors[0].pointer == "/registry"


@pytest.mark.parametrize(
    ("before", "entity", "others", "after"),
    [
        ({}, "A", ["B", "c"], {"a": ("b", "c")}),
        ({"a": ("b",)}, "a", ["c"], {"a": ("b", "c")}),
        ({"a": ("b",)}, "a", ["b", "a"], {"a": ("b",)}),
        ({"a": ("b",)}, "c", ["a"], {"c": ("a", "b")}),  # with all its other names
        ({"a": ("b",)}, "c", ["b"], {"c": ("a", "b")}),  # under whichever of its names it is named
        ({"a": ("b", "d")}, "b", ["e"], {"b": ("a", "d", "e")}),  # the name given first becomes the entity's
        ({"a": ("b",), "c": ("d",), "e": ("f",)}, "b", ["D"], {"b": ("a", "c", "d"), "e": ("f",)}),
        ({"a": ("b",)}, "x", ["x", " X"], {"a": ("b",)}),
        ({"z": ("y",)}, "a", ["b"], {"a": ("b",), "z": ("y",)}),
    ],
)
def test_merging_joins_entities_with_all_their_names(before: dict, entity: str, others: list[str], after: dict):
    joined = merged(before, entity, others)
    assert (joined, list(joined)) == (after, sorted(after))


@pytest.mark.parametrize(("entity", "others"), [("", ["a"]), ("a", [" "]), ("a", ["b", "x" * 513])])
def test_merging_names_that_are_not_allowed_is_refused(entity: str, others: list[str]):
    with pytest.raises(InvalidRequestError) as refused:
        merged({}, entity, others)
    assert refused.value.errors[0].pointer == "/entity"
