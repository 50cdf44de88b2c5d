import numpy as np
import pytest

from warp_core import CandidatePool
from warp_core.selectors import cluster, xquad
from warp_core.selectors.clusters import spherical_kmeans

FLAT = [1] * 7
EAST, NORTH, UP = np.eye(3)


def pool(relevance, embeddings, tokens=None) -> CandidatePool:
    return CandidatePool(relevance, [-1] * len(relevance), embeddings=embeddings, tokens=tokens)


def around(*directions: np.ndarray) -> np.ndarray:
    """A vector close to each direction, of length 1."""
    noisy = np.array(directions) + np.random.default_rng(5).normal(size=(len(directions), 3)) * 0.01
    return noisy / np.linalg.norm(noisy, axis=1, keepdims=True)


def test_kmeans_tells_two_directions_apart():
    labels = spherical_kmeans(around(EAST, NORTH, EAST, NORTH, EAST), 2, 1)
    assert labels.tolist() in ([0, 1, 0, 1, 0], [1, 0, 1, 0, 1])


@pytest.mark.parametrize("seed", range(10))
def test_every_vector_is_in_the_cluster_whose_mean_is_nearest(seed):
    units = np.random.default_rng(seed).normal(size=(40, 3))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    labels = spherical_kmeans(units, 4, seed)
    means = np.array([units[labels == c].sum(axis=0) for c in range(4)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    assert (labels == (units @ means.T).argmax(axis=1)).all()


def test_the_seed_decides_and_the_same_seed_decides_alike():
    units = np.random.default_rng(0).normal(size=(60, 3))
    runs = [spherical_kmeans(units, 5, seed).tolist() for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_alike_vectors_and_zero_vectors_fill_the_first_cluster():
    assert spherical_kmeans(np.ones((4, 3)), 3, 0).tolist() == [0] * 4
    assert spherical_kmeans(np.zeros((4, 3)), 3, 0).tolist() == [0] * 4
    assert spherical_kmeans(np.zeros((0, 3)), 0, 0).tolist() == []


def test_rounds_end_also_where_clusters_have_not_settled():
    units = np.random.default_rng(0).normal(size=(3000, 8))
    assert set(spherical_kmeans(units, 12, 0).tolist()) == set(range(12))


def test_vectors_that_cancel_out_are_one_cluster_all_the_same():
    assert spherical_kmeans(np.array([EAST, -EAST]), 1, 0).tolist() == [0, 0]


TWO_GROUPS = around(EAST, EAST, NORTH, NORTH)
"""Of four candidates the baselines make two clusters."""


def test_round_robin_takes_turns_from_the_cluster_of_the_most_relevant():
    # NORTH holds the most relevant, 2; then EAST's best, 0; then the second of each.
    assert cluster(pool([0.8, 0.7, 1, 0.1], TWO_GROUPS), FLAT, 4, seed=1).indices.tolist() == [2, 0, 3, 1]


def test_the_round_passes_over_what_the_budget_does_not_cover():
    candidates = pool([0.8, 0.7, 1, 0.1], TWO_GROUPS, [3, 1, 2, 1])
    assert cluster(candidates, FLAT, 4, seed=1, token_budget=4).indices.tolist() == [2, 3, 1]


def test_xquad_gives_each_aspect_its_share_until_it_has_one():
    # Two aspects of 1/2. First 2: 0.5 * 1 + 0.5 / 2. Then 0 has 0.5 * 0.4 + 0.25 = 0.45, 3, whose aspect is covered,
    # 0.5 * 0.8 = 0.4. Then 3, and at last 1.
    candidates = pool([0.4, 0, 1, 0.8], TWO_GROUPS)
    assert xquad(candidates, FLAT, 4, seed=1).indices.tolist() == [2, 0, 3, 1]
    # At 0.6: 0.6 * 0.4 + 0.4 / 2 = 0.44 against 0.48.
    assert xquad(candidates, FLAT, 4, seed=1, relevance_weight=0.6).indices.tolist() == [2, 3, 0, 1]


def test_xquad_at_0_takes_one_of_each_aspect_then_the_most_relevant():
    candidates = pool([0.4, 0, 1, 0.8], TWO_GROUPS)
    assert xquad(candidates, FLAT, 4, seed=1, relevance_weight=0).indices.tolist() == [2, 0, 3, 1]


def test_xquad_passes_over_what_the_budget_does_not_cover():
    # After 0, 2 would score 0.5 * 0.4 + 0.25; it is too dear, and 3 scores 0.25 against 0.5 * 0.4 of 1.
    candidates = pool([1, 0.4, 0.4, 0], TWO_GROUPS, [1, 1, 9, 1])
    assert xquad(candidates, FLAT, 4, seed=1, token_budget=2).indices.tolist() == [0, 3]


@pytest.mark.parametrize("selector", [cluster, xquad])
def test_one_candidate_is_one_cluster(selector):
    assert selector(pool([1], [EAST]), FLAT, 3).indices.tolist() == [0]
