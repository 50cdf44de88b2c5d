"""Keys as the setting has them."""

from hashlib import sha256
from pathlib import Path

import pytest
from pydantic import ValidationError

from app.keys import RIGHTS, hashed_entries, keys_of
from app.settings import Settings

DIGEST = sha256(b"abc").hexdigest()


@pytest.mark.parametrize(
    ("entry", "rights"),
    [
        ("abc", set(RIGHTS)),
        (f"sha256:{DIGEST}", set(RIGHTS)),
        (f"sha256:{DIGEST.upper()}", set(RIGHTS)),
        ("read:abc", {"read"}),
        ("read+ingest:abc", {"read", "ingest"}),
        (f"admin:sha256:{DIGEST}", {"admin"}),
    ],
)
def test_an_entry_is_a_key_or_its_digest_with_or_without_rights(entry: str, rights: set[str]) -> None:
    (key,) = keys_of([entry])
    assert (key.digest.hex(), key.rights) == (DIGEST, rights)
    assert keys_of(hashed_entries([entry])) == [key]


@pytest.mark.parametrize(
    "entry",
    ["", " ", "a b", "é", "read:", ":abc", "raed:abc", "read+:abc", "read+raed:abc", "sha256:12", "sha512:abc", "a\n"],
)
def test_what_is_no_key_is_refused_by_its_place_and_never_shown(entry: str) -> None:
    with pytest.raises(ValueError, match="entry 1 is not") as caught:
        hashed_entries(["good", entry])
    assert not entry.strip() or entry not in str(caught.value).partition(";")[0]


def test_settings_hold_digests_alone() -> None:
    settings = Settings(api_keys=("read:hidden-key",))
    assert "hidden-key" not in repr(settings)
    assert keys_of(settings.api_keys) == keys_of(["read:hidden-key"])


def test_a_mistyped_key_is_not_told_by_the_error() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings(api_keys=("hidden key",), data_dir=Path("x"))
    assert "hidden" not in str(caught.value)
