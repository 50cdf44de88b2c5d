from warp_core import CandidatePool
from warp_core.selectors import facility_location, submix

FLAT = [1] * 7
EAST, NORTH, BETWEEN = [1, 0], [0, 1], [3, 4]
"""BETWEEN has a cosine of 0.6 to EAST and of 0.8 to NORTH."""


def pool(relevance, embeddings, tokens=None) -> CandidatePool:
    return CandidatePool(relevance, [-1] * len(relevance), embeddings=embeddings, tokens=tokens)


def covering(relevance, embeddings, k=9, **options) -> list[int]:
    return facility_location(pool(relevance, embeddings), FLAT, k, **options).indices.tolist()


def test_what_lies_near_the_most_comes_first_whatever_its_relevance():
    # Sums of cosines: EAST 1 + 0 + 0.6, NORTH 0 + 1 + 0.8, BETWEEN 0.6 + 0.8 + 1 = 2.4. Then EAST adds 1 - 0.6 = 0.4,
    # NORTH 1 - 0.8 = 0.2.
    assert covering([1, 0.9, 0], [EAST, NORTH, BETWEEN]) == [2, 0, 1]


def test_a_negative_cosine_covers_nothing():
    # The first adds 1 + 1 with its twin; clipped, the opposite one adds 1, and not 1 - 2.
    assert covering([0, 0, 1], [EAST, EAST, [-1, 0]], 2) == [0, 2]


def test_once_all_is_covered_the_rest_follows_by_relevance():
    assert covering([0.1, 0.2, 0.3], [EAST, EAST, EAST]) == [2, 1, 0]


def test_a_small_gain_still_counts():
    # 1 is a twin of 0; 2 has a cosine of 0.99995 to both, so it still adds 5e-5.
    assert covering([1, 0.9, 0], [EAST, EAST, [1, 0.01]]) == [0, 2, 1]


def test_coverage_counts_over_the_whole_pool_also_where_the_budget_is_small():
    # 0 covers three candidates, which the budget does not cover itself; 3 is more relevant and covers one.
    few = pool([0.5, 0.1, 0.1, 1], [EAST, EAST, EAST, NORTH], [1, 9, 9, 1])
    assert facility_location(few, FLAT, 1, token_budget=1).indices.tolist() == [0]


def test_submix_adds_the_gain_as_a_share_of_the_pool():
    # alpha 0.5: 0 scores 0.5 * 1 + 0.5 * 1.6 / 3 = 0.767, 2 scores 0.5 * 0.8 + 0.5 * 2.4 / 3 = 0.8. Then 0 adds 0.4 and
    # scores 0.5 + 0.067, 1 scores 0 + 0.033.
    candidates = pool([1, 0, 0.8], [EAST, NORTH, BETWEEN])
    assert submix(candidates, FLAT, 3).indices.tolist() == [2, 0, 1]
    assert submix(candidates, FLAT, 3, relevance_weight=1).indices.tolist() == [0, 2, 1]
    # alpha 0: 2 first, then 0.4 against 0.2.
    assert submix(candidates, FLAT, 3, relevance_weight=0).indices.tolist() == [2, 0, 1]
