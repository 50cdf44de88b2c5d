"""The embeddings of a pool: checked on construction, compared by direction only."""

from math import inf, nan

import numpy as np
import pytest

from warp_core import CandidatePool, InvalidInputError


def units(embeddings) -> np.ndarray:
    return CandidatePool([0.5] * len(embeddings), [0] * len(embeddings), embeddings=embeddings).unit_embeddings


@pytest.mark.parametrize("length", [1, 5, 1e-160, 1e160, 1e-300, 1e300, 5e-324])
def test_a_vector_of_any_length_comes_to_length_1(length):
    assert units([[length, 0], [3, 4]]) == pytest.approx(np.array([[1, 0], [0.6, 0.8]]))


@pytest.mark.parametrize("length", [1e-300, 1, 1e300])
def test_directions_keep_their_precision(length):
    assert units([[3 * length, 4 * length]]) == pytest.approx(np.array([[0.6, 0.8]]), rel=1e-15)


def test_zero_stays_zero():
    assert units([[0, 0], [0, 2]]).tolist() == [[0, 0], [0, 1]]


def test_single_precision_is_taken_as_it_is():
    assert units(np.array([[3, 4]], np.float32)).dtype == np.float64


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_empty_embeddings_are_allowed(shape):
    assert units(np.ones(shape)).shape == shape


def test_the_embeddings_of_a_part_are_those_of_its_candidates():
    pool = CandidatePool([1, 2, 3], [0, 0, 0], embeddings=[[2, 0], [0, 3], [3, 4]])
    assert pool.unit_embeddings.shape == (3, 2)
    assert pool.take(np.array([2, 1])).unit_embeddings == pytest.approx(np.array([[0.6, 0.8], [0, 1]]))


@pytest.mark.parametrize(
    "bad",
    [
        [[nan, 0], [1, 0]],
        [[inf, 0], [1, 0]],
        [[1, 0], [-inf, nan]],
        [[1, 0], [1]],
        [["a", "b"], ["c", "d"]],
        [[None, 1], [1, 0]],
        [1, 2],
        [[[1]], [[1]]],
        [[1, 0]],
        [[1, 0]] * 3,
    ],
    ids=repr,
)
def test_what_is_no_finite_vector_a_candidate_is_refused_by_name(bad):
    with pytest.raises(InvalidInputError) as caught:
        CandidatePool([1, 2], [0, 1], embeddings=bad)
    assert caught.value.argument == "embeddings"


def test_asking_for_embeddings_that_are_not_there_names_them():
    with pytest.raises(InvalidInputError, match=r"^embeddings: "):
        _ = CandidatePool([1], [0]).unit_embeddings
