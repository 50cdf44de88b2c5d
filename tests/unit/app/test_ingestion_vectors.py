from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import pytest

from app.encoder import Encoder, Model, unit
from app.ingestion import BATCH, Ingestion
from app.schemas import IngestResponse
from app.store.base import Store, Vector, VectorSpace
from tests.conftest import Unreliable, walk
from tests.fakes import DIMENSION, bag_of_words, other_words

AXIS = np.eye(DIMENSION, dtype=np.float32)


class Recording(Encoder):
    """The fake encoder, with a list of the batches that it encoded."""

    def __init__(self, name: str = "bag-of-words", model: Model = bag_of_words) -> None:
        super().__init__(name, model)
        self.batches: list[list[str]] = []

    async def encode(self, texts: Sequence[str]) -> Vector:
        if texts:
            self.batches.append(list(texts))
        return await super().encode(texts)


@pytest.fixture
def encoder() -> Iterator[Recording]:
    encoder = Recording()
    yield encoder
    encoder.close()


@pytest.fixture
def other_encoder() -> Iterator[Recording]:
    encoder = Recording("another", other_words)
    yield encoder
    encoder.close()


async def ingest(store: Store, encoder: Encoder | None, *documents: dict[str, object]) -> IngestResponse:
    ingestion = Ingestion(store, encoder, "c")
    for one in documents:
        await ingestion.add(msgspec.json.encode(one))
    return await ingestion.finish()


async def vectors(store: Store) -> dict[str, Vector | None]:
    return {entry.id: entry.vector for entry in (await walk(store)).entries}


def words(text: str) -> list[float]:
    return unit(bag_of_words([text]))[0].tolist()


async def test_texts_are_encoded_and_what_needs_no_vector_is_not(store: Store, encoder: Recording):
    report = await ingest(
        store,
        encoder,
        {"id": "text", "text": "warm pool"},
        {"id": "brought", "text": "cold pool", "embedding": (2 * AXIS[3]).tolist()},
        {"id": "excluded", "text": "hidden", "excluded": True},
        {"id": "bad", "text": "never", "si": 1},
        {"id": "empty"},
        {"id": "last", "text": "stale bread"},
    )
    assert (report.created, len(report.failed)) == (5, 1)
    assert encoder.batches == [["warm pool", "stale bread"]]
    found = {name: None if vector is None else vector.tolist() for name, vector in (await vectors(store)).items()}
    assert found == {
        "text": words("warm pool"),
        "brought": AXIS[3].tolist(),
        "excluded": None,
        "empty": None,
        "last": words("stale bread"),
    }
    assert await store.vector_space("c") == encoder.space


@pytest.mark.parametrize("n", [0, 1, DIMENSION - 1, DIMENSION + 1])
async def test_an_embedding_of_another_dimension_is_refused_beside_good_ones(store: Store, encoder: Recording, n: int):
    report = await ingest(
        store,
        encoder,
        {"id": "good", "embedding": AXIS[0].tolist()},
        {"id": "bad", "text": "pool", "embedding": [1.0] * n},
        {"id": "text", "text": "pool"},
    )
    assert [(one.index, one.id, one.pointer, one.detail) for one in report.failed] == [
        (1, "bad", "/embedding", f"holds {n} numbers, this collection's vectors hold 16")
    ]
    assert {name: vector is not None for name, vector in (await vectors(store)).items()} == {"good": True, "text": True}
    assert (await vectors(store))["text"].tolist() == words("pool")


async def test_without_an_encoder_the_first_embedding_fixes_the_dimension(store: Store):
    report = await ingest(
        store, None, {"id": "none"}, {"id": "two", "embedding": [3, 4]}, {"id": "1", "embedding": [1]}
    )
    assert [(one.id, one.pointer) for one in report.failed] == [("1", "/embedding")]
    report = await ingest(store, None, {"id": "3", "embedding": [1, 2, 3]}, {"id": "two again", "embedding": [0, 1]})
    assert [(one.id, one.pointer) for one in report.failed] == [("3", "/embedding")]
    assert await store.vector_space("c") == VectorSpace(2, None)
    assert (await vectors(store))["two"].tolist() == pytest.approx([0.6, 0.8])


async def test_vectors_that_another_fixed_meanwhile_fail_only_the_documents_that_differ(store: Store):
    class Overtaken(Unreliable):
        """Another ingest fixes the vectors between the reading of their space and the storing of the documents."""

        async def vector_space(self, collection: str) -> VectorSpace | None:
            before = await store.vector_space(collection)
            await ingest(store, None, {"id": "other", "embedding": [1, 0, 0]})
            return before

    mine = ({"id": "plain"}, {"id": "two", "embedding": [1, 0]}, {"id": "three", "embedding": [0, 1, 0]})
    report = await ingest(Overtaken(store), None, *mine)
    assert [(one.id, one.pointer) for one in report.failed] == [("two", "/embedding")]
    assert sorted(await store.documents("c", ["plain", "two", "three"])) == ["plain", "three"]


async def test_an_empty_embedding_is_refused_and_fixes_nothing(store: Store):
    report = await ingest(store, None, {"id": "bad", "embedding": []}, {"id": "text", "text": "stored all the same"})
    assert [(one.id, one.pointer) for one in report.failed] == [("bad", "/embedding")]
    assert (report.created, await store.vector_space("c")) == (1, None)


@pytest.mark.parametrize(
    ("embedding", "stored"),
    [
        ([0, 0], [0, 0]),
        ([1e300, -1e300], [0.70710678, -0.70710678]),
        ([1e-300, 0], [1, 0]),
        ([-0.0, -5], [0, -1]),
    ],
)
async def test_embeddings_are_kept_at_length_one_and_zero_stays_zero(store: Store, embedding: list, stored: list):
    assert (await ingest(store, None, {"id": "a", "embedding": embedding})).created == 1
    assert (await vectors(store))["a"].tolist() == pytest.approx(stored)


async def test_a_text_is_refused_when_another_encoder_made_the_vectors(
    store: Store, encoder: Recording, other_encoder: Recording
):
    await ingest(store, encoder, {"id": "first", "text": "warm pool"})
    report = await ingest(
        store,
        other_encoder,
        {"id": "text", "text": "cold pool"},
        {"id": "excluded", "text": "hidden", "excluded": True},
        {"id": "empty"},
        {"id": "brought", "text": "cold pool", "embedding": AXIS[1].tolist()},
    )
    assert [(one.index, one.id, one.pointer) for one in report.failed] == [(0, "text", "/embedding")]
    detail = report.failed[0].detail
    assert "come from bag-of-words and hold 16 numbers; this service's encoder is another with 16" in detail
    assert "run the service with WARP_ENCODER=bag-of-words, or ingest the documents into a new collection" in detail
    assert (report.created, other_encoder.batches) == (3, [])
    assert await store.vector_space("c") == encoder.space


async def test_the_same_model_under_another_name_goes_on_in_the_collection(store: Store, encoder: Recording):
    await ingest(store, encoder, {"id": "first", "text": "warm pool"})
    renamed = Recording("/another/path/to/bag-of-words")
    report = await ingest(store, renamed, {"id": "text", "text": "cold pool"})
    renamed.close()
    assert (report.created, report.failed) == (1, [])
    assert (await vectors(store))["text"].tolist() == words("cold pool")
    assert await store.vector_space("c") == encoder.space  # the pin stays


async def test_other_weights_under_the_same_name_are_refused(store: Store, encoder: Recording):
    await ingest(store, encoder, {"id": "first", "text": "warm pool"})
    upgraded = Recording("bag-of-words", other_words)
    report = await ingest(store, upgraded, {"id": "text", "text": "cold pool"})
    upgraded.close()
    assert [(one.id, one.pointer) for one in report.failed] == [("text", "/embedding")]
    assert "bag-of-words of another version" in report.failed[0].detail


async def test_a_text_is_refused_when_the_callers_made_the_vectors(store: Store, encoder: Recording):
    await ingest(store, None, {"id": "first", "embedding": [1, 0]})
    report = await ingest(store, encoder, {"id": "text", "text": "pool"}, {"id": "brought", "embedding": [0, 1]})
    assert [(one.id, one.pointer) for one in report.failed] == [("text", "/embedding")]
    assert "come from its callers" in report.failed[0].detail
    assert "bring embeddings" in report.failed[0].detail
    assert (report.created, encoder.batches) == (1, [])


async def test_the_same_documents_again_change_nothing_in_whatever_batches_they_come(store: Store):
    """A real model's vectors differ in the last bits with the batch that a text is encoded in; this one's more."""

    def model(texts: list[str]) -> Vector:
        return bag_of_words(texts) + len(texts) / 100

    encoder = Encoder("batch-dependent", model)
    documents = [{"id": f"d{i}", "text": f"word{i}"} for i in range(20)]
    await ingest(store, encoder, *documents)
    before = await vectors(store)
    assert (await ingest(store, encoder, documents[7])).unchanged == 1
    again = await ingest(store, encoder, *reversed(documents), {"id": "new", "text": "x"})
    encoder.close()
    assert (again.created, again.updated, again.unchanged) == (1, 0, 20)
    after = await vectors(store)
    assert all(np.array_equal(after[name], vector) for name, vector in before.items())


async def test_every_text_of_many_batches_gets_its_own_vector(store: Store, encoder: Recording):
    n = 2 * BATCH + 1
    await ingest(store, encoder, *({"id": f"d{i}", "text": f"word{i} pool"} for i in range(n)))
    assert [len(batch) for batch in encoder.batches] == [BATCH, BATCH, 1]
    found = await vectors(store)
    assert all(np.allclose(found[f"d{i}"], words(f"word{i} pool")) for i in range(n))


async def test_a_replacement_without_a_vector_leaves_none(store: Store, encoder: Recording):
    await ingest(store, encoder, {"id": "a", "text": "pool"})
    assert (await ingest(store, encoder, {"id": "a"})).updated == 1
    assert await vectors(store) == {"a": None}


async def test_a_text_that_came_before_the_encoder_gets_its_vector_when_it_comes_again(
    store: Store, encoder: Recording
):
    text = {"id": "a", "text": "warm pool"}
    await ingest(store, None, text)
    again = [await ingest(store, encoder, text) for _ in range(2)]
    assert [(report.updated, report.unchanged) for report in again] == [(1, 0), (0, 1)]
    assert (await vectors(store))["a"].tolist() == words("warm pool")


async def test_the_same_version_of_a_text_is_no_conflict_when_it_comes_again_with_an_encoder(
    store: Store, encoder: Recording
):
    text = {"id": "a", "text": "warm pool", "version": 5}
    await ingest(store, None, text)
    assert (await ingest(store, encoder, text)).failed == []


async def test_a_text_that_comes_again_without_an_encoder_keeps_its_vector(store: Store, encoder: Recording):
    text = {"id": "a", "text": "warm pool"}
    await ingest(store, encoder, text)
    assert (await ingest(store, None, text)).unchanged == 1
    assert (await vectors(store))["a"] is not None
