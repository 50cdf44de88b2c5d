import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from app.errors import CollectionChangedError, InvalidRequestError, StoreUnavailableError
from app.ingestion import BATCH, Ingestion
from app.schemas import IngestResponse
from app.store.base import CollectionSettings, Outcome, Store
from tests.conftest import Unreliable, counted


async def ingest(store: Store, documents: Sequence[object]) -> IngestResponse:
    """Documents are given as JSON, or as what becomes JSON."""
    ingestion = Ingestion(store, None, "c")
    for one in documents:
        await ingestion.add(one if isinstance(one, bytes) else msgspec.json.encode(one))
    return await ingestion.finish()


def summary(report: IngestResponse) -> tuple[int, int, int, int, int]:
    return report.created, report.updated, report.unchanged, report.stale, len(report.failed)


def room(name: str, si: float = 20, **fields: object) -> dict[str, object]:
    return {"id": name, "opinions": [{"entity": "Room", "si": si}], **fields}


@pytest.mark.parametrize(
    ("bad", "name", "pointer", "detail"),
    [
        ({"text": "x"}, None, "/id", "required"),
        ({"id": ""}, "", "/id", "must not be empty"),
        ({"id": "x" * 513}, "x" * 512, "/id", "at most 512 bytes"),
        ({"id": 5}, None, "/id", "expected `str`, got `int`"),
        ({"id": "a", "txet": "x"}, "a", "/txet", "unknown field; did you mean 'text'?"),
        ({"id": "a", "x/~": 1}, "a", "/x~1~0", "unknown field"),
        ({"id": "a", "text": None}, "a", "/text", "expected `str`, got `null`"),
        (room("a", 15), "a", "/opinions/0/si", "must be one of -30, -20, -10, 0, 10, 20, 30, got 15"),
        ({"id": "a", "opinions": [{"si": 0}]}, "a", "/opinions/0/entity", "required"),
        ({"id": "a", "opinions": [{"entity": "\t", "si": 0}]}, "a", "/opinions/0/entity", "must not be empty"),
        ({"id": "a", "opinions": [{"entity": "x"}]}, "a", "/opinions/0", "exactly one of si, sentiment and stars"),
        ({"id": "a", "opinions": [{"entity": "x", "si": 0, "confidence": 2}]}, "a", "/opinions/0/confidence", "<= 1"),
        ({"id": "a", "opinions": [{"entity": "x", "stars": 6}]}, "a", "/opinions/0/stars", "got 6"),
        ({"id": "a", "si": 1}, "a", "/si", "must be one of"),
        ({"id": "a", "attributes": {"n": 1}}, "a", "/attributes", "expected `str`, got `int`"),
        ({"id": "a", "timestamp": "soon"}, "a", "/timestamp", "ISO 8601"),
        ({"id": "a", "version": -1}, "a", "/version", "must lie in 0 .. 9223372036854775807, got -1"),
        ({"id": "a", "embedding": [1, None]}, "a", "/embedding/1", "expected `float`, got `null`"),
        (b'{"id": "a", "metadata": {"x": NaN}}', None, "/metadata/x", "must be a finite number"),
        (b'{"id": "a", "text": "\\udead"}', None, "/text", "without lone surrogates"),
        (b'{"id": "\\udead"}', None, "/id", "without lone surrogates"),
        (b'{"id": "\xff"}', None, "", "no valid JSON"),
        (b'{"id": "a"', None, "", "no valid JSON"),
        (b'{"id": "a", "metadata": {"x": ' + b"[" * 100_000, None, "", "nested too deeply"),
        (b'["a"]', None, "", "expected `object`, got `array`"),
        (b"null", None, "", "expected `object`, got `null`"),
    ],
)
async def test_a_bad_document_is_named_and_the_good_ones_beside_it_are_stored(
    store: Store, bad: object, name: str | None, pointer: str, detail: str
):
    report = await ingest(store, [room("good 1"), bad, room("good 2")])
    (failed,) = report.failed
    assert (failed.index, failed.id, failed.pointer) == (1, name, pointer)
    assert detail in failed.detail
    assert (report.created, report.entities) == (2, 1)
    assert await counted(store, "c", "room") == {5: 2}
    assert sorted(await store.documents("c", ["good 1", "good 2", "a", "", "x" * 513])) == ["good 1", "good 2"]


async def test_each_outcome_is_counted(store: Store):
    await ingest(store, [room("same"), room("old", version=5), room("other", version=5), room("new")])
    report = await ingest(
        store,
        [room("same"), room("old", 0, version=4), room("other", 0, version=5), room("new", 0), room("newer"), {}],
    )
    assert summary(report) == (1, 1, 1, 1, 2)
    conflict = report.failed[0]
    assert (conflict.index, conflict.id, conflict.pointer) == (2, "other", "/version")
    assert conflict.detail == "conflict: version 5 is stored with other content"
    assert await counted(store, "c", "room") == {5: 4, 3: 1}


async def test_entities_are_counted_once_and_only_where_something_changed(store: Store):
    two = {"id": "a", "opinions": [{"entity": "Room", "si": 0}, {"entity": "Pool", "si": 0}]}
    assert (await ingest(store, [two, room("b"), room("c")])).entities == 2
    assert (await ingest(store, [two, room("b")])).entities == 0
    assert (await ingest(store, [two, room("b", 30)])).entities == 1


async def test_the_later_of_two_documents_of_one_id_wins(store: Store):
    report = await ingest(store, [room("a", 20), room("b"), room("a", -30), room("b")])
    assert summary(report) == (2, 1, 1, 0, 0)
    assert await counted(store, "c", "room") == {0: 1, 5: 1}


async def test_more_documents_than_a_batch_are_numbered_from_the_first(store: Store):
    bad = (0, BATCH - 1, BATCH, 2 * BATCH)
    report = await ingest(store, [{} if i in bad else room(f"d{i}") for i in range(2 * BATCH + 2)])
    assert summary(report) == (2 * BATCH - 2, 0, 0, 0, 4)
    assert [failed.index for failed in report.failed] == list(bad)
    assert await counted(store, "c", "room") == {5: 2 * BATCH - 2}


async def test_batches_before_the_store_went_down_stay_and_nothing_after_is_answered_for(store: Store):
    unreliable = Unreliable(store)
    ingestion = Ingestion(unreliable, None, "c")
    for i in range(BATCH):
        await ingestion.add(msgspec.json.encode(room(f"d{i}")))
    unreliable.down = True
    await ingestion.add(msgspec.json.encode(room("late")))
    with pytest.raises(StoreUnavailableError):
        await ingestion.finish()
    assert await counted(store, "c", "room") == {5: BATCH}


@pytest.mark.parametrize("name", ["", "x" * 513, "\ud800"])
def test_a_collection_without_an_allowed_name_is_refused(store: Store, name: str):
    with pytest.raises(InvalidRequestError) as refused:
        Ingestion(store, None, name)
    assert refused.value.errors[0].pointer == "/collection"


async def test_opinions_are_read_on_the_scale_of_the_collection(store: Store):
    await store.put_settings("c", CollectionSettings((1.0, 2.0, 3.0), None))
    report = await ingest(store, [room("a", 3), room("b", 20), {"id": "c", "opinions": [{"entity": "x", "stars": 5}]}])
    assert [(failed.id, failed.pointer) for failed in report.failed] == [
        ("b", "/opinions/0/si"),
        ("c", "/opinions/0/stars"),
    ]
    assert await counted(store, "c", "room") == {2: 1}


async def test_a_collection_that_changes_every_time_is_given_up_and_nothing_is_stored(store: Store):
    class Restless(Unreliable):
        """As a store whose change of scale was broken off half way."""

        async def apply(self, *_: object) -> list[Outcome]:
            raise CollectionChangedError("again")

    with pytest.raises(CollectionChangedError):
        await asyncio.wait_for(ingest(Restless(store), [room("a", 30)]), 10)
    assert await counted(store, "c", "room") == {}


async def test_a_scale_that_changes_meanwhile_is_the_one_that_documents_are_read_on(store: Store):
    class Changing(Unreliable):
        """The scale changes between the reading of the settings and the storing of the documents."""

        async def settings(self, collection: str) -> CollectionSettings | None:
            before = await store.settings(collection)
            await store.put_settings(collection, CollectionSettings((1.0, 2.0), None))
            return before

    report = await ingest(Changing(store), [room("on the old scale", 30), room("on the new", 2), room("on none", 7)])
    assert [(failed.index, failed.id) for failed in report.failed] == [(0, "on the old scale"), (2, "on none")]
    assert (report.created, await counted(store, "c", "room")) == (1, {1: 1})
