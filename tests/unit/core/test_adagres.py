import pytest

from warp_core import CandidatePool
from warp_core.selectors import adagres
from warp_core.selectors.adagres import redundancy_penalty

FLAT = [1] * 7
EAST, NORTH, BETWEEN = [1, 0], [0, 1], [3, 4]
"""BETWEEN has a cosine of 0.6 to EAST and of 0.8 to NORTH."""


def pool(relevance, embeddings, tokens=None) -> CandidatePool:
    return CandidatePool(relevance, [-1] * len(relevance), embeddings=embeddings, tokens=tokens)


def penalty(relevance, embeddings, k, tokens=None, token_budget=None) -> float:
    candidates = pool(relevance, embeddings, tokens)
    return redundancy_penalty(candidates, candidates.relevance, k, token_budget)


def test_the_penalty_balances_mean_relevance_and_mean_cosine():
    # Mean relevance 0.5; cosines 0, 0.6, 0.8, mean 1.4 / 3. k = 3: 0.5 / (2 / 2 * 1.4 / 3).
    assert penalty([1, 0, 0.5], [EAST, NORTH, BETWEEN], 3) == pytest.approx(0.5 * 3 / 1.4)
    # k = 2: 0.5 / (1 / 2 * 1.4 / 3); k = 1 as 2; k = 9 as 3, for there are no more.
    assert penalty([1, 0, 0.5], [EAST, NORTH, BETWEEN], 2) == pytest.approx(2 * 0.5 * 3 / 1.4)
    assert penalty([1, 0, 0.5], [EAST, NORTH, BETWEEN], 1) == pytest.approx(2 * 0.5 * 3 / 1.4)
    assert penalty([1, 0, 0.5], [EAST, NORTH, BETWEEN], 9) == pytest.approx(0.5 * 3 / 1.4)


@pytest.mark.parametrize(("tokens", "budget", "length"), [([2, 4, 6], 10, 2.5), ([2, 4, 6], 5, 2), ([0] * 3, 5, 3)])
def test_the_budget_shortens_the_list_to_expect(tokens, budget, length):
    # 10 tokens hold 2.5 candidates of mean cost 4; 5 hold 1.25, which counts as 2; costs of 0 shorten nothing.
    found = penalty([1, 0, 0.5], [EAST, NORTH, BETWEEN], 3, tokens, budget)
    assert found == pytest.approx(0.5 / ((length - 1) / 2 * 1.4 / 3))


def test_there_is_no_penalty_without_redundancy_or_without_relevance():
    assert penalty([1, 0], [EAST, NORTH], 2) == 0
    assert penalty([1, 0], [EAST, [-1, 0]], 2) == 0
    assert penalty([-1, 0], [EAST, EAST], 2) == 0
    assert penalty([1], [EAST], 2) == 0


def test_each_pick_pays_for_its_similarity_to_all_before():
    # Mean relevance 0.55; cosines: 1 between 0 and 1, 0 to 2 from both, 0.6, 0.6 and 0.8 to 3, mean 0.5. k = 4: beta is
    # 0.55 / (3 / 2 * 0.5) = 0.7333. First 0. Then 1 scores 0.8 - 0.733, 2 scores 0, 3 scores 0.4 - 0.44 = -0.04: 1, at
    # 0.067. Then 2 scores 0 and 3 scores 0.4 - 0.88.
    assert adagres(pool([1, 0.8, 0, 0.4], [EAST, EAST, NORTH, BETWEEN]), FLAT, 4).indices.tolist() == [0, 1, 2, 3]


def test_the_list_goes_on_past_the_stop_with_what_loses_least():
    # Mean relevance 0.45, mean cosine (1 + 1 + 1) / 6 = 0.5, beta 0.45 / 0.75 = 0.6. First 0. Then twins 1 and 2 score
    # 0.5 - 0.6 and 0.3 - 0.6, 3 scores 0: the paper stops; here 3, then 1 at -0.1, then 2 at 0.3 - 1.2.
    assert adagres(pool([1, 0.5, 0.3, 0], [EAST, EAST, EAST, NORTH]), FLAT, 4).indices.tolist() == [0, 3, 1, 2]


def test_the_budget_passes_over_what_it_does_not_cover():
    assert adagres(
        pool([1, 0.5, 0.3, 0], [EAST, EAST, EAST, NORTH], [1, 3, 2, 1]), FLAT, 4, token_budget=4
    ).indices.tolist() == [0, 3, 2]
