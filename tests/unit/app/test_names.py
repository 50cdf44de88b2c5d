import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.names import MAX_NAME_BYTES, checked_name, entity_key, folded
from warp_core import InvalidInputError


@pytest.mark.parametrize(
    "name", ["a", " ", "\0", "\n", "'", "\u00e9", "e\u0301", "\U0001f600", "x" * 512, "\u20ac" * 170 + "xx"]
)
def test_any_unicode_up_to_512_bytes_is_a_name_and_stays_as_it_is(name: str):
    assert checked_name("id", name) == name


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("", "must not be empty"),
        ("x" * 513, "must be at most 512 bytes of UTF-8, got 513"),
        ("\u20ac" * 171, "must be at most 512 bytes of UTF-8, got 513"),
        ("\ud83d", "must be valid Unicode, without lone surrogates"),
        ("\ude00\ud83d", "must be valid Unicode, without lone surrogates"),
    ],
)
@pytest.mark.parametrize("check", [checked_name, entity_key])
def test_other_names_are_refused_by_argument_and_reason(check, name: str, detail: str):
    with pytest.raises(InvalidInputError) as refused:
        check("entity", name)
    assert (refused.value.argument, refused.value.detail) == ("entity", detail)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Breakfast", "breakfast"),
        ("caf\u00e9", "caf\u00e9"),
        ("CAFE\u0301", "caf\u00e9"),
        ("\uff30\uff4f\uff4f\uff4c", "pool"),
        ("\uff8c\uff9f\uff70\uff99", "\u30d7\u30fc\u30eb"),
        ("STRASSE", "strasse"),
        ("Stra\u00dfe", "strasse"),
        ("\ufb01ne", "fine"),
        ("\u03a3\u03a3\u03c2", "\u03c3\u03c3\u03c3"),
        ("  Room\t\n Service\u00a0\u3000", "room service"),
        ("C++", "c++"),
        ("\u1e9e", "ss"),
        ("5\u3392", "5mhz"),
        ("\u01f0", "\u01f0"),
        ("J\u030c\u0323", "\u01f0\u0323"),
    ],
)
def test_names_that_differ_in_form_case_width_or_space_are_one_entity(name: str, key: str):
    assert entity_key("entity", name) == key


@pytest.mark.parametrize(("one", "other"), [("cafe", "caf\u00e9"), ("room service", "roomservice"), ("I", "\u0131")])
def test_names_that_differ_in_more_are_two(one: str, other: str):
    assert entity_key("entity", one) != entity_key("entity", other)


@pytest.mark.parametrize("name", [" ", "\u3000\t\n"])
def test_an_entity_of_nothing_but_space_is_refused(name: str):
    with pytest.raises(InvalidInputError, match="must not be empty"):
        entity_key("entity", name)


def test_a_key_may_not_outgrow_the_limit_either():
    name = "\ufdfa" * 20  # a ligature of 18 letters: 60 bytes become 20 * 33 and more
    assert len(name.encode()) < MAX_NAME_BYTES < len(folded(name).encode())
    with pytest.raises(InvalidInputError, match="at most 512 bytes"):
        entity_key("entity", name)


@given(st.text())
def test_a_key_is_its_own_key(text: str):
    assert folded(folded(text)) == folded(text)


@given(st.text(st.characters(exclude_characters="\u0131")))  # the dotless i: its capital is that of the dotted one
def test_upper_and_lower_case_of_a_folded_name_are_one(text: str):
    assert folded(folded(text).upper()) == folded(folded(text).lower())
