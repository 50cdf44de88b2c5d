"""`verify`, `export` and `import` on the command line."""

import asyncio
import gzip
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from app.store import open_store
from app.store.base import Change, CollectionSettings, ExternalTarget, Store, VectorSpace
from tests.conftest import put
from tests.integration.command_line import CommandLine
from tests.redis_server import NoServerError, running_redis

SI = CollectionSettings().positions
SETTINGS = CollectionSettings(registry={"breakfast": ("brekkie",)})


def stored(url: str, changes: Sequence[Change], settings: CollectionSettings = SETTINGS) -> None:
    """Put changes into the collection `hotels`."""

    async def store() -> None:
        opened: Store = open_store(url)
        await opened.put_settings("hotels", settings)
        await opened.apply("hotels", changes, VectorSpace(3, "model"))
        await opened.put_target("hotels", "breakfast", ExternalTarget(SI, (0.1, 0.2, 0.3, 1e-9, 1e9, 0.0, 1.0)))
        await opened.close()

    asyncio.run(store())


def changes(n: int = 600) -> list[Change]:
    rng = np.random.default_rng(5)
    made = [
        put(
            f"d\u00e9:{i}",
            {("brekkie", "breakfast", "pool {x}")[i % 3]: i % 7},
            version=i,
            vector=rng.random(3, np.float32),
            text="line\n\0 \U0001f600",
            attributes={"traveller": "family"},
            metadata={"n": 2**63 - 1, "f": 0.1},
            timestamp="2024-01-01T23:30:00-02:00",
            excluded=i % 5 == 0,
        )
        for i in range(n)
    ]
    return [*made, put("bare", version=1), Change(f"d\u00e9:{n - 1}", version=10**15), Change("never", version=3)]


@pytest.fixture
def hotels(warp_rerank: CommandLine) -> CommandLine:
    stored(warp_rerank.store, changes())
    return warp_rerank


def miscount(url: str, by: int) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as db, db:
        db.execute("update population set n = n + ? where entity = 'breakfast' and facet = 'p:'", (by,))


# verify


def test_verify_tells_that_all_is_well(hotels: CommandLine) -> None:
    for arguments in (["verify"], ["verify", "--repair"]):
        ran = hotels(*arguments)
        assert (ran.status, ran.out) == (0, "all counts equal a recount\n")


def test_verify_names_each_count_that_differs_and_repair_sets_them_right(hotels: CommandLine) -> None:
    miscount(hotels.store, 2)
    ran = hotels("verify")
    assert ran.status == 1
    *lines, last = ran.out.splitlines()
    assert last == "7 counts differ from a recount"
    assert [line.split(", ")[:1] for line in lines] == [["hotels: breakfast"]] * 7
    for line in lines:
        counted, recounted = (int(part.split()[0]) for part in line.partition(": breakfast, bin ")[2][3:].split(", "))
        assert counted == recounted + 2
    repaired = hotels("verify", "--repair")
    assert (repaired.status, repaired.out.splitlines()) == (0, [*lines, "7 counts were repaired"])
    assert hotels("verify").status == 0


def test_verify_prints_the_first_of_many(warp_rerank: CommandLine) -> None:
    stored(warp_rerank.store, [put("d", {f"e{i}": 0 for i in range(50)})])
    with closing(sqlite3.connect(warp_rerank.store.removeprefix("sqlite:///"))) as db, db:
        db.execute("update population set n = 9 where entity != ''")
    lines = warp_rerank("verify").out.splitlines()
    assert (len(lines), lines[-1]) == (21, "50 counts differ from a recount")


def test_verify_names_what_cannot_be_read_and_a_repair_says_what_is_left(hotels: CommandLine) -> None:
    with closing(sqlite3.connect(hotels.store.removeprefix("sqlite:///"))) as db, db:
        db.execute("update document set content = '{' where id = 'bare'")
    line = "hotels: the content of document bare cannot be read: ingest it again, or delete it"
    ran = hotels("verify")
    assert (ran.status, ran.out.splitlines()) == (1, [line, "1 values cannot be read"])
    miscount(hotels.store, 2)
    last = "7 counts were repaired; 1 values cannot be read; 0 of them were repaired"
    ran = hotels("verify", "--repair")
    assert (ran.status, ran.out.splitlines()[-2:]) == (1, [line, last])
    stored(hotels.store, [put("bare", version=1)])
    assert hotels("verify").status == 0


# export and import


def test_a_collection_goes_from_store_to_store_and_back_byte_for_byte(hotels: CommandLine, tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.jsonl.gz" for name in ("first", "redis", "back")]
    try:
        with running_redis(tmp_path / "redis") as server:
            urls = [hotels.store, server.url, f"sqlite:///{tmp_path / 'back.db'}"]
            for before, file, url in zip([None, *files], files, urls, strict=False):
                if before:
                    ran = hotels("import", str(before), "--collection", "copy", "--store", url)
                    assert (ran.status, ran.out) == (0, "")
                    assert "602 documents read" in ran.err
                name = "copy" if before else "hotels"
                ran = hotels("export", str(file), "--collection", name, "--store", url)
                assert (ran.status, ran.out) == (0, "")
                assert "602 documents written" in ran.err
                assert hotels("verify", "--store", url).status == 0
    except NoServerError as error:
        pytest.skip(str(error))
    assert files[0].read_bytes() == files[1].read_bytes() == files[2].read_bytes()
    assert not list(tmp_path.glob("*.part"))


def test_an_import_that_was_broken_off_is_finished_by_another(hotels: CommandLine, tmp_path: Path) -> None:
    whole, half, again = (tmp_path / f"{name}.jsonl.gz" for name in ("whole", "half", "again"))
    hotels("export", str(whole), "--collection", "hotels")
    lines = gzip.decompress(whole.read_bytes()).splitlines(keepends=True)
    half.write_bytes(gzip.compress(b"".join(lines[:400])))
    assert hotels("import", str(half), "--collection", "copy").status == 0
    for _ in range(2):
        assert hotels("import", str(whole), "--collection", "copy").status == 0
        hotels("export", str(again), "--collection", "copy")
        assert again.read_bytes() == whole.read_bytes()


def damaged(kind: str, whole: bytes) -> bytes:
    middle = len(whole) // 2
    return {
        "empty": b"",
        "cut": whole[:middle],
        "cut in its head": whole[:5],
        "of another kind": b"id,text\n1,nice\n",
        "changed in the middle": whole[:middle] + bytes(64) + whole[middle + 64 :],
        "no deflate": whole[:20] + b"\xff" * 64 + whole[84:],
        "changed at the end": whole[:-4] + b"\1\1\1\1",
        "gzipped nonsense": gzip.compress(b"nonsense\n"),
        "gzipped binary": gzip.compress(b"\xff\xfe\0" * 100),
        "a line too few": gzip.compress(b"".join(gzip.decompress(whole).splitlines(keepends=True)[1:])),
        "a line cut": gzip.compress(gzip.decompress(whole)[:-10]),
    }[kind]


KINDS = [
    *("empty", "cut", "cut in its head", "of another kind", "changed in the middle", "no deflate"),
    "changed at the end",
    *("gzipped nonsense", "gzipped binary", "a line too few", "a line cut"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_told_in_one_line_and_what_is_stored_of_it_is_right(
    hotels: CommandLine, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "backup.jsonl.gz"
    hotels("export", str(file), "--collection", "hotels")
    whole = file.read_bytes()
    file.write_bytes(damaged(kind, whole))
    ran = hotels("import", str(file), "--collection", "copy")
    assert (ran.status, ran.out) == (2, "")
    assert len([line for line in ran.err.splitlines() if line.startswith("warp-rerank: ")]) == 1
    assert "Traceback" not in ran.err
    assert hotels("verify").status == 0
    file.write_bytes(whole)
    assert hotels("import", str(file), "--collection", "copy").status == 0


@pytest.mark.parametrize(
    ("there", "settings"),
    [
        ([put("d\u00e9:0", {"pool": 3}, version=0)], SETTINGS),
        ([put("another", {"pool": 3})], SETTINGS),
        ([put("another", {"pool": 3})], CollectionSettings()),
        ([put("another", {"pool": 1})], CollectionSettings((0.0, 1.0), None)),
    ],
)
def test_a_collection_that_is_another_one_is_not_imported_into(
    hotels: CommandLine, tmp_path: Path, there: list[Change], settings: CollectionSettings
) -> None:
    file, other, after = tmp_path / "a.jsonl.gz", f"sqlite:///{tmp_path / 'other.db'}", tmp_path / "b.jsonl.gz"
    hotels("export", str(file), "--collection", "hotels")
    stored(other, there, settings)
    before = hotels("export", str(after), "--collection", "hotels", store=other), after.read_bytes()
    ran = hotels("import", str(file), "--collection", "hotels", store=other)
    assert ran.status == 2
    assert ran.err.splitlines()[-1].startswith("warp-rerank: /collection: ")
    assert (hotels("export", str(after), "--collection", "hotels", store=other), after.read_bytes()) == before


def test_what_cannot_be_exported_leaves_no_file_and_an_earlier_one_as_it_was(
    hotels: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "a.jsonl.gz"
    ran = hotels("export", str(file), "--collection", "nothing")
    assert (ran.status, ran.err.splitlines()[-1]) == (2, "warp-rerank: /collection: there is no collection 'nothing'")
    assert not list(tmp_path.glob("*.jsonl*"))
    file.write_bytes(b"earlier")
    assert hotels("export", str(file), "--collection", "nothing").status == 2
    assert (file.read_bytes(), list(tmp_path.glob("*.part"))) == (b"earlier", [])


def test_a_place_that_cannot_be_written_is_told(hotels: CommandLine, tmp_path: Path) -> None:
    ran = hotels("export", str(tmp_path / "no such folder" / "a.gz"), "--collection", "hotels")
    assert (ran.status, "Traceback" in ran.err) == (2, False)
    assert "no such folder" in ran.err
    assert hotels("import", str(tmp_path / "no such file")).status == 2


def test_a_store_that_cannot_be_reached_is_told(hotels: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl.gz"
    hotels("export", str(file), "--collection", "hotels")
    away = "redis://127.0.0.1:1/0"
    for command in (["verify"], ["export", str(tmp_path / "b.gz")], ["import", str(file)], ["registry", "show"]):
        ran = hotels(*command, store=away)
        assert (ran.status, ran.out) == (1, "")
        assert "warp-rerank: the store cannot be reached" in ran.err
    assert not (tmp_path / "b.gz").exists()


def test_the_file_is_json_lines_that_others_can_read(hotels: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl.gz"
    hotels("export", str(file), "--collection", "hotels")
    with gzip.open(file) as lines:
        header, *documents = map(json.loads, lines)
    assert header["format"] == 1
    assert [one["id"] for one in documents] == sorted(one["id"] for one in documents)
    assert sum("content" not in one for one in documents) == 2
