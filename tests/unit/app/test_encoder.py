import asyncio
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.encoder import Encoder, open_encoder, unit
from app.encoder.base import QUERY_CACHE_SIZE
from app.store.base import Vector
from tests.fakes import bag_of_words
from warp_core import InvalidInputError


class Counting:
    """A model that counts how often it was given each text."""

    def __init__(self) -> None:
        self.texts: Counter[str] = Counter()

    def __call__(self, texts: list[str]) -> Vector:
        self.texts.update(texts)
        return bag_of_words(texts)


@pytest.fixture
def model() -> Counting:
    return Counting()


@pytest.fixture
def encoder(model: Counting) -> Iterator[Encoder]:
    encoder = Encoder("counting", model)
    model.texts.clear()
    yield encoder
    encoder.close()


@pytest.mark.parametrize(
    ("vector", "expected"),
    [
        ([3, 4], [0.6, 0.8]),
        ([[0, -2], [5, 0]], [[0, -1], [1, 0]]),
        ([0, 0, 0], [0, 0, 0]),
        ([[0, 0], [0, 1e-300]], [[0, 0], [0, 1]]),
        ([1e300, -1e300], [0.5**0.5, -(0.5**0.5)]),
        ([1e308, 1e308, 1e308, 1e308], [0.5, 0.5, 0.5, 0.5]),
        ([5e-324, 0], [1, 0]),
        ([7], [1]),
    ],
)
def test_vectors_get_length_one_and_zero_stays_zero(vector: list, expected: list):
    found = unit(vector)
    assert found.dtype == np.float32
    assert np.allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_nothing_has_no_length(shape: tuple[int, ...]):
    assert unit(np.zeros(shape)).shape == shape


@given(st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=8))
def test_any_finite_vector_has_length_one_or_zero(vector: list[float]):
    length = float(np.linalg.norm(unit(vector).astype(float)))
    assert length == pytest.approx(1 if any(vector) else 0, abs=1e-6)


async def test_texts_become_unit_vectors_in_their_order(encoder: Encoder):
    texts = ["warm pool", "", "cold cold cold", "warm pool"]
    vectors = await encoder.encode(texts)
    assert (vectors.shape, encoder.dimension) == ((4, 16), 16)
    assert np.allclose(vectors, unit(bag_of_words(texts)))
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 1])


async def test_no_texts_make_no_vectors_and_do_not_run_the_model(encoder: Encoder, model: Counting):
    assert (await encoder.encode([])).shape == (0, 16)
    assert not model.texts


async def test_a_query_is_encoded_once(encoder: Encoder, model: Counting):
    first = await encoder.encode_queries(["b", "a", "b"])
    second = await encoder.encode_queries(["c", "a", "b"])
    assert model.texts == {"a": 1, "b": 1, "c": 1}
    assert np.array_equal(first, unit(bag_of_words(["b", "a", "b"])))
    assert np.array_equal(second, unit(bag_of_words(["c", "a", "b"])))


async def test_documents_do_not_fill_the_cache_of_queries(encoder: Encoder, model: Counting):
    await encoder.encode(["a"])
    await encoder.encode_queries(["a"])
    await encoder.encode(["a"])
    assert model.texts == {"a": 3}


async def test_the_query_asked_longest_ago_is_forgotten(encoder: Encoder, model: Counting):
    await encoder.encode_queries([f"q{i}" for i in range(QUERY_CACHE_SIZE)])
    await encoder.encode_queries(["q0"])
    await encoder.encode_queries(["new"])
    model.texts.clear()
    await encoder.encode_queries(["q0", "q2", f"q{QUERY_CACHE_SIZE - 1}", "new"])
    assert not model.texts
    await encoder.encode_queries(["q1"])
    assert model.texts == {"q1": 1}


async def test_more_queries_than_the_cache_holds_are_all_answered(encoder: Encoder):
    queries = [f"q {i % 999} {i}" for i in range(QUERY_CACHE_SIZE + 500)]
    assert np.array_equal(await encoder.encode_queries(queries), unit(bag_of_words(queries)))


async def test_queries_at_the_same_time_each_get_their_own_vectors(encoder: Encoder):
    asked = [[f"q{i % 7}", f"q{i}", "all"] for i in range(40)]
    answers = await asyncio.gather(*map(encoder.encode_queries, asked))
    for queries, vectors in zip(asked, answers, strict=True):
        assert np.array_equal(vectors, unit(bag_of_words(queries)))


async def test_a_query_that_is_forgotten_while_another_is_encoded_is_still_answered(encoder: Encoder):
    await encoder.encode_queries([f"q{i}" for i in range(QUERY_CACHE_SIZE)])
    _, vectors = await asyncio.gather(
        encoder.encode_queries(["new"]),  # ends first, and pushes the oldest, q0, out of the cache
        encoder.encode_queries(["q0", "newer"]),
    )
    assert np.array_equal(vectors, unit(bag_of_words(["q0", "newer"])))


def test_no_name_is_no_encoder_and_an_unknown_one_is_refused():
    assert open_encoder(None, 1) is None
    assert open_encoder("", 1) is None
    with pytest.raises(InvalidInputError, match="/no/such/model"):
        open_encoder("/no/such/model", 1)
