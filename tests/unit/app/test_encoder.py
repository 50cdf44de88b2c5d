import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.encoder import Encoder, Prompts, open_encoder, unit
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


async def test_a_query_that_many_ask_at_once_is_encoded_once(encoder: Encoder, model: Counting):
    answers = await asyncio.gather(*(encoder.encode_queries(["the same", f"q{i % 2}"]) for i in range(20)))
    assert model.texts == {"the same": 1, "q0": 1, "q1": 1}
    assert all(np.array_equal(one, unit(bag_of_words(["the same", f"q{i % 2}"]))) for i, one in enumerate(answers))


async def test_one_who_gives_up_does_not_take_the_vector_from_the_others(encoder: Encoder):
    gone, stays = (asyncio.create_task(encoder.encode_queries(["shared"])) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    assert np.array_equal(await stays, unit(bag_of_words(["shared"])))


async def test_a_query_that_failed_is_tried_again():
    broken = ["broken"]

    def model(texts: list[str]) -> Vector:
        if broken[0] in texts:
            raise RuntimeError("no")
        return bag_of_words(texts)

    encoder = Encoder("sometimes broken", model)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            await encoder.encode_queries(["broken"])
    broken[0] = ""
    assert np.array_equal(await encoder.encode_queries(["broken"]), unit(bag_of_words(["broken"])))
    encoder.close()


async def test_queries_and_documents_each_get_the_prompt_of_their_kind(model: Counting):
    encoder = Encoder("prompted", model, Prompts(query="query: ", document="passage: "))
    model.texts.clear()
    await encoder.encode_queries(["pool"])
    await encoder.encode(["pool"])
    encoder.close()
    assert model.texts == {"query: pool": 1, "passage: pool": 1}


@pytest.mark.parametrize(
    ("named", "prompts"),
    [
        ({}, Prompts("", "")),
        ({"query": None, "document": None}, Prompts("", "")),
        ({"query": "q: ", "document": "", "passage": "p: "}, Prompts("q: ", "p: ")),
        ({"document": "d: ", "passage": "p: "}, Prompts("", "d: ")),
        ({"corpus": "c: "}, Prompts("", "c: ")),
    ],
)
def test_prompts_are_found_under_the_names_that_models_use(named: dict, prompts: Prompts):
    assert Prompts.among(named) == prompts


async def test_a_static_vector_is_the_mean_of_the_token_vectors_however_long_the_text():
    wordllama = pytest.importorskip("wordllama")
    theirs = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    texts = ["pool", "", "The breakfast was cold.", "many words " * 5000]
    encoder = open_encoder("wordllama", 1)
    assert encoder is not None
    found = await encoder.encode(texts)
    encoder.close()
    assert np.allclose(found, unit(np.vstack([theirs.embed([text]) for text in texts])), atol=1e-5)


def test_no_name_is_no_encoder_and_an_unknown_one_is_refused():
    assert open_encoder(None, 1) is None
    assert open_encoder("", 1) is None
    with pytest.raises(InvalidInputError, match="/no/such/model"):
        open_encoder("/no/such/model", 1)
