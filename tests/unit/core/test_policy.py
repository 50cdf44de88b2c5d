import pytest

from warp_core import CandidatePool, Policy, attainable_em


@pytest.mark.parametrize(
    ("n_matched", "k", "em"),
    [(0, 20, 0), (5, 20, 0.25), (17, 20, 0.85), (20, 20, 1), (30, 20, 1), (1, 1, 1)],
)
def test_attainable_em_is_matched_over_k_at_most_one(n_matched, k, em):
    pool = CandidatePool([1] * 40, [0] * 40, [d < n_matched for d in range(40)])
    assert attainable_em(pool.matched, k) == em


def test_an_empty_pool_attains_nothing():
    assert attainable_em([], 5) == 0


@pytest.mark.parametrize(
    ("em", "deficit", "expansion"),
    [
        (1, False, "none"),
        (17 / 20, False, "none"),
        (16 / 20, False, "entity_gated"),
        (1, True, "entity_gated"),
        (0, True, "entity_gated"),
    ],
)
def test_only_a_dense_pool_without_deficit_is_not_expanded(em, deficit, expansion):
    assert Policy().expansion(em, deficit)[0] == expansion


@pytest.mark.parametrize(("em", "variant"), [(17 / 20, "w1_minimizer"), (16 / 20, "w1_mmr")])
def test_the_variant_follows_the_attainable_em(em, variant):
    assert Policy().variant(em)[0] == variant


def test_a_reason_names_the_number_that_decided():
    policy = Policy()
    decisions = [policy.expansion(0.844, False), policy.expansion(0.844, True), policy.variant(0.844)]
    assert all("0.84" in reason for _, reason in decisions)
    assert "0.85" in decisions[0][1]
    assert "population" in policy.expansion(1, deficit=True)[1]


def test_every_cell_of_the_matrix_is_a_setting():
    policy = Policy(dense_em=0.5, dense_variant="w1_exact", sparse_variant="top_k", short_pool_expansion="adaptive")
    assert policy.expansion(0.49, deficit=False)[0] == "adaptive"
    assert policy.expansion(0.5, deficit=False)[0] == "none"
    assert [policy.variant(em)[0] for em in (0.49, 0.5)] == ["top_k", "w1_exact"]
