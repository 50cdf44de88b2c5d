import numpy as np
import pytest

from warp_core import CandidatePool
from warp_core.selectors import lexrank
from warp_core.selectors.lexrank import centrality

FLAT = [1] * 7


def order(relevance, embeddings, tokens=None, **options) -> list[int]:
    pool = CandidatePool(relevance, [-1] * len(relevance), embeddings=embeddings, tokens=tokens)
    return lexrank(pool, FLAT, 9, **options).indices.tolist()


def test_centrality_solves_the_equation_of_its_walk():
    # Cosines 0.6 and 0.8 from the last to the others, 0 between these. Rows, with 1 for oneself, sum to 1.6, 1.8, 2.4.
    # p0 = 0.05 + 0.85 * (p0 / 1.6 + 0.6 * p2 / 2.4), p1 = 0.05 + 0.85 * (p1 / 1.8 + 0.8 * p2 / 2.4), and their sum 1.
    p = centrality(np.array([[1, 0], [0, 1], [0.6, 0.8]]))
    assert p[0] == pytest.approx(0.05 + 0.85 * (p[0] / 1.6 + 0.6 * p[2] / 2.4), abs=1e-4)
    assert p[1] == pytest.approx(0.05 + 0.85 * (p[1] / 1.8 + 0.8 * p[2] / 2.4), abs=1e-4)
    assert p.sum() == pytest.approx(1)


def test_the_most_central_comes_first_whatever_its_relevance():
    # The last is near both others, and 1 is nearer to it than 0.
    assert order([1, 0.5, 0], [[1, 0], [0, 1], [3, 4]]) == [2, 1, 0]


def test_a_cosine_below_the_threshold_is_no_edge():
    # The last has a cosine of 0.099 to each of the others, which would make it the most central.
    hub = [0.099, 0.099, 0.099, np.sqrt(1 - 3 * 0.099**2)]
    assert centrality(np.array([*np.eye(4)[:3], hub])) == pytest.approx([0.25] * 4)


def test_equals_come_by_relevance_then_in_input_order():
    assert order([0.5, 1, 0.5], [[1, 0], [1, 0], [1, 0]]) == [1, 0, 2]


def test_a_zero_embedding_has_itself_for_a_neighbour():
    assert centrality(np.array([[1.0, 0], [0, 0]])) == pytest.approx([0.5, 0.5])


def test_the_budget_passes_over_what_it_does_not_cover_and_the_ranks_stay():
    assert order([1, 0.5, 0], [[1, 0], [0, 1], [3, 4]], [1, 1, 5], token_budget=2) == [1, 0]
