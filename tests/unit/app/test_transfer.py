"""A collection as a file: what is written, and what of a file is refused."""

import asyncio
import gzip
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from app import transfer
from app.errors import InvalidRequestError
from app.store.base import Change, CollectionSettings, ExternalTarget, Store, VectorSpace
from app.store.sqlite import SqliteStore
from tests.conftest import counted, put

MERGED = CollectionSettings(registry={"breakfast": ("brekkie",)})
TARGET = ExternalTarget(MERGED.positions, (1.0, 0, 0, 0, 0, 0, 2.0))
HEADER = {
    "format": 1,
    "settings": {"positions": [0.0, 1.0], "stars": None},
    "space": {"dimension": 2, "encoder": "m"},
    "targets": {},
}


@pytest.fixture
def embedded(tmp_path: Path, runner: asyncio.Runner) -> Iterator[Store]:
    """One store is enough for what is refused before it is asked."""
    opened = SqliteStore(tmp_path / "warp.db")
    yield opened
    runner.run(opened.close())


async def filled(store: Store) -> list[bytes]:
    """The lines of a collection with all that there is."""
    await store.put_settings("c", MERGED)
    changes = [put("b", {"brekkie": 6}, version=3, vector=np.array([0.6, 0.8], np.float32), timestamp="2024-01-01")]
    changes += [put("a", {"brekkie": 0, "breakfast": 1}, version=1), put("gone", version=1), Change("gone", version=2)]
    await store.apply("c", changes, VectorSpace(2, "m"))
    await store.put_target("c", "breakfast", TARGET)
    return [line async for line in transfer.exported(store, "c")]


async def read(store: Store, lines: list[bytes], collection: str = "copy") -> list[int]:
    return [n async for n in transfer.imported(store, collection, iter(lines))]


def line(**record: Any) -> bytes:
    return msgspec.json.encode({"id": "a", "version": 1, **record})


def document(**content: Any) -> dict[str, Any]:
    return {"content": content, "fingerprint": "eA=="}


async def test_the_lines_are_the_header_and_the_documents_in_the_order_of_their_ids(store: Store) -> None:
    header, *documents = map(msgspec.json.decode, await filled(store))
    assert (header["format"], header["space"]) == (1, {"dimension": 2, "encoder": "m"})
    assert header["settings"]["registry"] == {"breakfast": ["brekkie"]}
    assert header["targets"] == {"breakfast": {"positions": list(MERGED.positions), "weights": [1, 0, 0, 0, 0, 0, 2]}}
    assert [(one["id"], one["version"], "content" in one) for one in documents] == [
        ("a", 1, True),
        ("b", 3, True),
        ("gone", 2, False),
    ]
    assert documents[1]["vector"] == "mpkZP83MTD8="  # 0.6 and 0.8 as float32, little-endian
    assert documents[0]["content"]["opinions"] == [{"entity": "brekkie", "bin": 0}, {"entity": "breakfast", "bin": 1}]


async def test_what_was_read_counts_as_it_did(store: Store) -> None:
    lines = await filled(store)
    assert await read(store, lines) == [0, 3]
    assert [one async for one in transfer.exported(store, "copy")] == lines
    assert await counted(store, "copy", "breakfast") == await counted(store, "c", "breakfast") == {0: 1, 6: 1}
    assert (await store.settings("copy"), await store.targets("copy")) == (MERGED, {"breakfast": TARGET})
    assert await store.apply("copy", [put("gone", version=2)]) == ["stale"]
    assert await store.drift() == []


async def test_reading_a_file_again_changes_nothing_and_after_an_interruption_reads_the_rest(store: Store) -> None:
    lines = await filled(store)
    await read(store, lines[:2])
    for _ in range(2):
        await read(store, lines)
        assert [one async for one in transfer.exported(store, "copy")] == lines


async def test_more_documents_than_a_batch_come_over_and_are_told_as_they_come(store: Store) -> None:
    await store.apply("c", [put(f"d{i}", {"room": i % 7}) for i in range(transfer.BATCH * 2 + 1)])
    lines = [one async for one in transfer.exported(store, "c")]
    assert await read(store, lines) == [0, transfer.BATCH, transfer.BATCH, 1]
    assert [one async for one in transfer.exported(store, "copy")] == lines


async def test_an_empty_collection_is_a_header_alone(store: Store) -> None:
    await store.put_settings("c", CollectionSettings((0.0, 1.0), None))
    lines = [one async for one in transfer.exported(store, "c")]
    assert len(lines) == 1
    await read(store, lines)
    assert (await store.settings("copy")).positions == (0.0, 1.0)


async def test_the_vector_space_comes_over_even_when_no_vector_is_left(store: Store) -> None:
    await filled(store)
    await store.apply("c", [Change("b")])
    lines = [one async for one in transfer.exported(store, "c")]
    await read(store, lines)
    assert await store.vector_space("copy") == VectorSpace(2, "m")
    assert [one async for one in transfer.exported(store, "copy")] == lines


async def test_what_is_not_there_cannot_be_exported(store: Store) -> None:
    with pytest.raises(InvalidRequestError, match="there is no collection 'c'"):
        await anext(transfer.exported(store, "c"))


@pytest.mark.parametrize(
    ("first", "detail"),
    [
        (None, "does not begin as an export does"),
        (b"", "does not begin as an export does"),
        (b"\xff\xfe", "does not begin as an export does"),
        (b'{"id": "a", "text": "a document"}', "does not begin as an export does"),
        (msgspec.json.encode({**HEADER, "format": 2}), "is of format 2, this version reads 1"),
        (msgspec.json.encode({**HEADER, "more": 1}), "does not begin as an export does"),
        (msgspec.json.encode({**HEADER, "settings": {"positions": []}}), "does not begin as an export does"),
        (msgspec.json.encode({**HEADER, "settings": {"positions": [1.0, 1.0]}}), "does not begin as an export does"),
    ],
)
async def test_what_does_not_begin_as_an_export_is_refused_before_anything_is_stored(
    embedded: Store, first: bytes | None, detail: str
) -> None:
    with pytest.raises(InvalidRequestError, match=detail):
        await read(embedded, [] if first is None else [first, line()])
    assert await embedded.collections() == []


@pytest.mark.parametrize(
    "bad",
    {
        "no JSON": b'{"id": "b", "vers',
        "no object": b"[]",
        "no version": b'{"id": "b"}',
        "no id": line(id=""),
        "an id of no Unicode": b'{"id": "\\ud800", "version": 1}',
        "a long id": line(id="x" * 513),
        "a version too high": line(version=2**63),
        "a version below zero": line(version=-1),
        "a bin off the scale": line(**document(opinions=[{"entity": "x", "bin": 2}])),
        "a bin below the scale": line(**document(opinions=[{"entity": "x", "bin": -1}])),
        "a document's bin off the scale": line(**document(bin=2)),
        "no entity": line(**document(opinions=[{"entity": "", "bin": 0}])),
        "an entity that is no key": line(**document(opinions=[{"entity": "Room", "bin": 0}])),
        "two opinions on one": line(**document(opinions=[{"entity": "x", "bin": 0}, {"entity": "x", "bin": 1}])),
        "no time": line(**document(timestamp="soon")),
        "a vector that is no base64": line(vector="!", **document()),
        "a vector of half a number": line(vector="AAA=", **document()),
        "a vector of another length": line(vector="AAAAAA==", **document()),
        "a vector that is not finite": line(vector="AACAfwAAgD8=", **document()),
    }.items(),
    ids=lambda item: item[0],
)
async def test_a_line_that_is_no_document_of_the_collection_is_named_and_what_is_stored_is_right(
    embedded: Store, bad: tuple[str, bytes]
) -> None:
    good = [line(id="good 1", **document(opinions=[{"entity": "x", "bin": 1}])), line(id="good 2", version=5)]
    with pytest.raises(InvalidRequestError, match="line 4"):
        await read(embedded, [msgspec.json.encode(HEADER), *good, bad[1]])
    assert await embedded.drift() == []
    assert await counted(embedded, "copy") in ({}, {1: 1})


async def test_vectors_in_a_file_without_a_vector_space_are_refused(embedded: Store) -> None:
    header = msgspec.json.encode({**HEADER, "space": None})
    with pytest.raises(InvalidRequestError, match="line 2"):
        await read(embedded, [header, line(vector="AAAAAAAAAAA=", **document())])


@pytest.mark.parametrize(
    "targets",
    [
        {"Room": {"positions": [0.0, 1.0], "weights": [1.0, 1.0]}},
        {"": {"positions": [0.0, 1.0], "weights": [1.0, 1.0]}},
        {"room": {"positions": [0.0, 1.0], "weights": [1.0]}},
        {"room": {"positions": [0.0, 1.0], "weights": [0.0, 0.0]}},
        {"room": {"positions": [0.0, 1.0], "weights": [-1.0, 2.0]}},
    ],
)
async def test_a_header_with_a_target_that_is_none_is_refused(embedded: Store, targets: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        await read(embedded, [msgspec.json.encode({**HEADER, "targets": targets})])
    assert await embedded.collections() == []


async def test_a_header_with_a_registry_that_is_none_is_refused(embedded: Store) -> None:
    settings = {**HEADER["settings"], "registry": {"a": ["b"], "b": ["c"]}}
    with pytest.raises(InvalidRequestError):
        await read(embedded, [msgspec.json.encode({**HEADER, "settings": settings})])
    assert await embedded.collections() == []


@pytest.mark.parametrize(
    "there",
    [
        [put("a", {"brekkie": 3}, version=1)],
        [put("a", {"brekkie": 3}, version=9)],
        [put("gone", version=2)],
        [put("another", version=1)],
        [put("a", {"brekkie": 3}, version=0)],
    ],
    ids=["of one version", "newer", "deleted in the file", "of another name", "older"],
)
async def test_a_collection_that_holds_something_else_is_not_read_into(store: Store, there: list[Change]) -> None:
    lines = await filled(store)
    await store.put_settings("copy", MERGED)
    await store.apply("copy", there)
    before = [record async for record in store.records("copy")]
    with pytest.raises(InvalidRequestError) as refused:
        await read(store, lines)
    assert refused.value.errors[0].pointer == "/collection"
    assert [record async for record in store.records("copy")] == before


async def test_a_collection_with_other_settings_is_not_read_into(store: Store) -> None:
    lines = await filled(store)
    await store.put_settings("copy", CollectionSettings())
    with pytest.raises(InvalidRequestError, match="is there already, with other settings"):
        await read(store, lines)
    assert (await store.settings("copy"), [one async for one in store.records("copy")]) == (CollectionSettings(), [])


def test_the_same_lines_are_the_same_bytes_whatever_the_name_of_the_file_and_the_time() -> None:
    written = []
    for _ in range(2):
        raw = io.BytesIO()
        with transfer.compressed(raw) as out:
            out.write(b"a line\n")
        written.append(raw.getvalue())
    assert written[0] == written[1]
    assert gzip.decompress(written[0]) == b"a line\n"
    assert written[0][3:8] == b"\0\0\0\0\0"  # no name, and no time
