"""`registry` and `target` on the command line."""

import asyncio

import pytest

from app.store import open_store
from tests.conftest import counted, put
from tests.integration.command_line import CommandLine


@pytest.fixture
def hotels(warp_rerank: CommandLine) -> CommandLine:
    async def fill() -> None:
        store = open_store(warp_rerank.store)
        documents = [put(name, {name: b}) for b, name in enumerate(("breakfast", "brekkie", "morning meal", "pool"))]
        await store.apply("hotels", documents)
        await store.close()

    asyncio.run(fill())
    return warp_rerank


def told(hotels: CommandLine) -> dict[str, list[int]]:
    """Bins of the opinions that count under each name."""

    async def count() -> dict[str, list[int]]:
        store = open_store(hotels.store)
        names = ("breakfast", "brekkie", "morning meal", "pool")
        found = {name: sorted(await counted(store, "hotels", name)) for name in names}
        assert await store.drift() == []
        await store.close()
        return {name: bins for name, bins in found.items() if bins}

    return asyncio.run(count())


def test_names_are_merged_shown_and_split_and_opinions_follow(hotels: CommandLine) -> None:
    apart = {"breakfast": [0], "brekkie": [1], "morning meal": [2], "pool": [3]}
    assert (hotels("registry", "show", "--collection", "hotels").json, told(hotels)) == ({}, apart)

    ran = hotels("registry", "merge", "Breakfast", "BREKKIE", "morning  meal", "--collection", "hotels")
    assert (ran.status, ran.json) == (0, {"breakfast": ["brekkie", "morning meal"]})
    assert told(hotels) == {"breakfast": [0, 1, 2], "pool": [3]}
    assert hotels("registry", "show", "--collection", "hotels").json == ran.json

    ran = hotels("registry", "split", "Brekkie", "--collection", "hotels")
    assert (ran.status, ran.json) == (0, {"breakfast": ["morning meal"]})
    assert told(hotels) == {"breakfast": [0, 2], "brekkie": [1], "pool": [3]}

    ran = hotels("registry", "merge", "pool", "morning meal", "--collection", "hotels")
    assert ran.json == {"pool": ["breakfast", "morning meal"]}
    assert told(hotels) == {"brekkie": [1], "pool": [0, 2, 3]}

    ran = hotels("registry", "split", "pool", "--collection", "hotels")
    assert (ran.json, told(hotels)) == ({}, apart)
    assert hotels("registry", "split", "never", "--collection", "hotels").json == {}


def test_a_target_is_set_shown_and_cleared_under_any_name(hotels: CommandLine) -> None:
    hotels("registry", "merge", "breakfast", "brekkie", "--collection", "hotels")
    assert hotels("target", "show", "breakfast", "--collection", "hotels").out == "null\n"
    ran = hotels("target", "set", "Brekkie", "--collection", "hotels", "--", "-30=12", "20=40.0", "30=48")
    assert (ran.status, ran.out) == (0, "")
    for name in ("breakfast", "BREKKIE"):
        shown = hotels("target", "show", name, "--collection", "hotels").json
        assert shown == {"-30": 0.12, "20": 0.4, "30": 0.48}
    assert hotels("target", "show", "pool", "--collection", "hotels").out == "null\n"
    hotels("target", "set", "breakfast", "0=1", "--collection", "hotels")
    assert hotels("target", "show", "breakfast", "--collection", "hotels").json == {"0": 1}
    cleared = [hotels("target", "clear", "brekkie", "--collection", "hotels") for _ in range(2)]
    assert [(ran.status, ran.out) for ran in cleared] == [(0, ""), (1, "")]
    assert hotels("target", "show", "breakfast", "--collection", "hotels").out == "null\n"


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["registry", "show", "--collection", "nothing"], "/collection: there is no collection 'nothing'"),
        (["registry", "merge", "a", "b", "--collection", "nothing"], "/collection: there is no collection 'nothing'"),
        (["registry", "split", "a", "--collection", "nothing"], "/collection: there is no collection 'nothing'"),
        (["target", "show", "a", "--collection", "nothing"], "/collection: there is no collection 'nothing'"),
        (["target", "set", "a", "0=1", "--collection", "nothing"], "/collection: there is no collection 'nothing'"),
        (["target", "clear", "a", "--collection", "nothing"], "/collection: there is no collection 'nothing'"),
        (["registry", "merge", " ", "b", "--collection", "hotels"], "/entity: must not be empty"),
        (["registry", "split", "", "--collection", "hotels"], "/names: must not be empty"),
        (["target", "set", "", "0=1", "--collection", "hotels"], "/entity: must not be empty"),
        (["target", "set", "pool", "0", "--collection", "hotels"], "/weights: must be POSITION=WEIGHT, got '0'"),
        (["target", "set", "pool", "0=x", "--collection", "hotels"], "/weights: must be POSITION=WEIGHT, got '0=x'"),
        (["target", "set", "pool", "5=1", "--collection", "hotels"], "/weights/5: must be one of"),
        (["target", "set", "pool", "0=-1", "--collection", "hotels"], "/weights/0: must not be negative, got -1"),
        (["target", "set", "pool", "0=0", "--collection", "hotels"], "/weights: at least one weight"),
        (["target", "set", "pool", "0=nan", "--collection", "hotels"], "/weights: "),
        (["target", "set", "pool", "0=inf", "--collection", "hotels"], "/weights: "),
    ],
)
def test_what_is_wrongly_asked_for_is_told_in_one_line_and_changes_nothing(
    hotels: CommandLine, command: list[str], error: str
) -> None:
    before = told(hotels)
    ran = hotels(*command)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].startswith(f"warp-rerank: {error}")
    assert "Traceback" not in ran.err
    assert told(hotels) == before
    assert hotels("target", "show", "pool", "--collection", "hotels").out == "null\n"


@pytest.mark.parametrize(
    "command", [["registry", "merge", "a"], ["registry", "split"], ["target", "set", "a"], ["target"]]
)
def test_what_is_missing_is_told(warp_rerank: CommandLine, command: list[str]) -> None:
    assert warp_rerank(*command).status == 2
