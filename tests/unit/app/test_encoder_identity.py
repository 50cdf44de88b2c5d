import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.encoder import Encoder, unit
from app.encoder.identity import PROBES, is_same, pin, pinned_name, sketch_of
from app.store.base import Vector, VectorSpace
from tests.fakes import DIMENSION, bag_of_words, other_words


def probes(seed: int, dimension: int = 384) -> Vector:
    return unit(np.random.default_rng(seed).standard_normal((len(PROBES), dimension)))


def at_cosine(vectors: Vector, cosine: float, seed: int = 0) -> Vector:
    """Vectors, each of which has this cosine with the one given."""
    noise = np.random.default_rng(seed + 1000).standard_normal(vectors.shape)
    noise -= (noise * vectors).sum(axis=1, keepdims=True) * vectors
    return unit(cosine * vectors + np.sqrt(1 - cosine**2) * unit(noise))


def same(one: Vector, other: Vector) -> bool:
    return is_same(pin("a", sketch_of(one)), "b", sketch_of(other))


@given(st.integers(0, 10**6), st.sampled_from([2, 3, 8, 384, 1024]))
def test_rounding_of_another_backend_is_no_other_model(seed: int, dimension: int):
    vectors = probes(seed, dimension)
    assert same(vectors, at_cosine(vectors, 0.99999, seed))
    assert same(vectors, vectors.astype(np.float16).astype(np.float32))


@given(st.integers(0, 10**6), st.sampled_from([32, 384, 1024]))
def test_weights_that_turn_the_vectors_are_another_model(seed: int, dimension: int):
    """An 8-bit export of MiniLM is at 0.964; a tuned model is farther."""
    vectors = probes(seed, dimension)
    assert not same(vectors, at_cosine(vectors, 0.96, seed))
    assert not same(vectors, probes(seed + 1, dimension))


def test_another_dimension_is_another_model():
    assert not same(probes(0, 2), probes(0, 3))


@pytest.mark.parametrize("name", ["model", "/path/with#sign", "a#b#c", "two\nlines", "models/x#AAAAAAAAAAA"])
def test_the_name_in_a_pin_is_the_name_that_was_pinned(name: str):
    pinned = pin(name, sketch_of(probes(0)))
    assert pinned_name(pinned) == name
    assert is_same(pinned, "other", sketch_of(probes(0)))


@pytest.mark.parametrize("name", ["wordllama", "a/b#c", ""])
def test_a_pin_without_a_sketch_is_compared_by_its_name(name: str):
    assert pinned_name(name) == name
    assert is_same(name, name, sketch_of(probes(0)))
    assert not is_same(name, "other", sketch_of(probes(0)))


@pytest.fixture
def encoder():
    opened = Encoder("mine", bag_of_words)
    yield opened
    opened.close()


def test_an_encoder_compares_with_what_it_made_and_what_callers_brought_in_its_dimension(encoder: Encoder):
    renamed, other = Encoder("theirs", bag_of_words), Encoder("mine", other_words)
    spaces = {
        "its own": encoder.space,
        "renamed": renamed.space,
        "other weights": other.space,
        "callers'": VectorSpace(DIMENSION, None),
        "callers', other dimension": VectorSpace(DIMENSION + 1, None),
    }
    renamed.close()
    other.close()
    assert [name for name, space in spaces.items() if encoder.made(space)] == ["its own", "renamed"]
    assert [name for name, space in spaces.items() if encoder.compares_with(space)] == [
        "its own",
        "renamed",
        "callers'",
    ]
    assert encoder.compares_with(None)
