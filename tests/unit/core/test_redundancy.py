"""Diversity inside the opinion: of documents with one label, the novel ones; W1 is not affected."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warp_core import CandidatePool, InvalidInputError, TargetDistribution, top_k, w1_exact, w1_minimizer, w1_mmr

ONE_BIN = TargetDistribution.of_counts([0, 0, 0, 0, 0, 0, 1])
W1_SELECTORS = pytest.mark.parametrize("selector", [w1_minimizer, w1_mmr, w1_exact])


def twins() -> CandidatePool:
    """Three documents of one opinion: the second says what the first says, the third something else."""
    return CandidatePool([1.0, 0.9, 0.5], [6, 6, 6], embeddings=[[1, 0], [2, 0], [0, 1]])


@W1_SELECTORS
def test_of_two_alike_only_one_is_taken(selector):
    # Relevance stretched to 0 .. 1: 1, 0.8, 0. After the first, at r = 0.6 the twin scores 0.4 * 0.8 - 0.6 * 1 = -0.28,
    # the other 0.4 * 0 - 0.6 * 0 = 0.
    assert selector(twins(), ONE_BIN, 2).indices.tolist() == [0, 1]
    assert selector(twins(), ONE_BIN, 2, redundancy_weight=0.6).indices.tolist() == [0, 2]


@W1_SELECTORS
def test_a_small_weight_leaves_the_order_to_relevance(selector):
    # At r = 0.4: 0.6 * 0.8 - 0.4 = 0.08 against 0.
    assert selector(twins(), ONE_BIN, 2, redundancy_weight=0.4).indices.tolist() == [0, 1]


@W1_SELECTORS
def test_it_needs_embeddings(selector):
    with pytest.raises(InvalidInputError) as caught:
        selector(CandidatePool([1.0], [6]), ONE_BIN, 1, redundancy_weight=0.5)
    assert caught.value.argument == "embeddings"


@pytest.mark.parametrize("selector", [w1_minimizer, w1_exact])
@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), k=st.integers(1, 12), weight=st.floats(0.01, 1))
def test_w1_is_what_it_is_without(selector, seed, n, k, weight):
    rng = np.random.default_rng(seed)
    pool = CandidatePool(rng.random(n), rng.integers(-1, 7, n), embeddings=rng.normal(size=(n, 3)))
    target = TargetDistribution.of_counts(rng.integers(0, 9, 7).tolist() + np.eye(7, dtype=int)[3])
    plain, novel = selector(pool, target, k), selector(pool, target, k, redundancy_weight=weight)
    assert (len(novel), len(set(novel.indices.tolist()))) == (len(plain), len(plain))
    assert sorted(pool.bins[novel.indices]) == sorted(pool.bins[plain.indices])


def test_a_method_without_it_refuses_it():
    with pytest.raises(InvalidInputError) as caught:
        top_k(twins(), ONE_BIN, 2, redundancy_weight=0.5)
    assert caught.value.argument == "redundancy_weight"
