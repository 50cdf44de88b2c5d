import pytest

from warp_core import CandidatePool, top_k

UNIFORM = [1] * 7
POOL = CandidatePool([0.2, 0.9, 0.9, 0.5], [0, -1, 3, 6], [True, True, False, True])


@pytest.mark.parametrize(("k", "expected"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (9, [1, 2, 3, 0])])
def test_the_most_relevant_come_first_equals_in_input_order_unknown_bins_too(k, expected):
    assert top_k(POOL, UNIFORM, k).indices.tolist() == expected


def test_entity_scope_leaves_the_matched_candidates():
    assert top_k(POOL, UNIFORM, 9, scope="entity").indices.tolist() == [1, 3, 0]


def test_fill_adds_the_unmatched_after_the_matched():
    assert top_k(POOL, UNIFORM, 9, scope="entity", fill=True).indices.tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize("rel_norm", ["none", "minmax", "rank"])
def test_no_normalisation_changes_the_order(rel_norm):
    assert top_k(POOL, UNIFORM, 9, rel_norm=rel_norm).indices.tolist() == [1, 2, 3, 0]


def test_negative_and_huge_relevances_are_ordered():
    assert top_k(CandidatePool([-1e308, 1e308, 0], [0, 0, 0]), UNIFORM, 3).indices.tolist() == [1, 2, 0]


def test_an_empty_pool_gives_an_empty_selection():
    assert top_k(CandidatePool([], []), UNIFORM, 3).indices.tolist() == []
