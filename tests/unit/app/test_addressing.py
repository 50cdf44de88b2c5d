"""What a request of another dialect is about."""

import pytest

from app.drop_in.addressing import Address, Addressed, address_of
from app.errors import InvalidRequestError


async def is_hotels(name: str) -> bool:
    return name == "hotels"


@pytest.mark.parametrize(
    ("model", "address"),
    [
        ("hotels", Address("hotels", None, "auto")),
        ("hotels:sea view", Address("hotels", "sea view", "auto")),
        ("hotels:a:b@top_k", Address("hotels", "a:b", "top_k")),
        ("hotels:me@home@w1_mmr", Address("hotels", "me@home", "w1_mmr")),
        ("hotels@auto", Address("hotels", None, "auto")),
        ("hotels:", Address("hotels", None, "auto")),
        ("rerank-v3.5", Address("default", None, "auto")),
        ("rerank@top_k", Address("default", None, "auto")),
        (":breakfast", Address("default", None, "auto")),
        ("@top_k", Address("default", None, "auto")),
        ("h" * 600, Address("default", None, "auto")),
    ],
)
async def test_a_model_name_is_an_address_when_there_is_such_a_collection(model: str, address: Address) -> None:
    assert await address_of(Addressed(model=model), {}, is_hotels) == address


@pytest.mark.parametrize("model", ["hotels@", "hotels:me@home", "hotels@w1"])
async def test_it_may_end_in_a_known_variant_only(model: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"^/model: ends in an unknown variant"):
        await address_of(Addressed(model=model), {}, is_hotels)


async def test_a_header_is_read_as_utf_8() -> None:
    headers = {"x-warp-entity": "Frühstück".encode().decode("latin-1"), "x-warp-collection": ""}
    assert await address_of(Addressed(), headers, is_hotels) == Address("default", "Frühstück", "auto")
    with pytest.raises(InvalidRequestError, match="x-warp-entity must be UTF-8"):
        await address_of(Addressed(), {"x-warp-entity": "\xff"}, is_hotels)
