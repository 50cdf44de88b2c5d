"""The selectors over embeddings give what their definitions give, candidate by candidate and in exact fractions."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles_embedding as oracles
from tests.oracles_embedding import DIRECTIONS, EmbeddingProblem
from warp_core import SELECTORS, CandidatePool
from warp_core.selectors.clusters import MOST_ASPECTS, MOST_CLUSTERS, spherical_kmeans
from warp_core.selectors.lexrank import centrality

FLAT = [1] * 7
WEIGHTS = st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1)])

thorough = settings(deadline=None, max_examples=100)


class Drawn(NamedTuple):
    problem: EmbeddingProblem
    pool: CandidatePool
    k: int
    token_budget: int | None

    def chosen(self, name: str, **options) -> list[int]:
        return SELECTORS[name](self.pool, FLAT, self.k, token_budget=self.token_budget, **options).indices.tolist()


@st.composite
def problems(draw, sizes=(1, 8), lengths=(1, 9)):
    """A problem with a budget or without, its pool, and k. Many candidates are alike."""
    candidates = st.tuples(
        st.integers(-4, 4), st.sampled_from(DIRECTIONS), st.sampled_from([0.5, 1, 3]), st.integers(0, 4)
    )
    drawn = draw(st.lists(candidates, min_size=sizes[0], max_size=sizes[1]))
    relevance, vectors, stretch, tokens = zip(*drawn, strict=True)
    token_budget = draw(st.none() | st.integers(0, 2 * len(tokens)))
    low, spread = min(relevance), max(relevance) - min(relevance)
    problem = EmbeddingProblem(
        [Fraction(r - low, spread or 1) for r in relevance],
        vectors,
        tokens,
        float("inf") if token_budget is None else token_budget,
    )
    embeddings = [[s * x for x in v] for s, v in zip(stretch, vectors, strict=True)]
    pool = CandidatePool(relevance, draw(bins_of(len(drawn))), embeddings=embeddings, tokens=tokens)
    return Drawn(problem, pool, draw(st.integers(*lengths)), token_budget)


def bins_of(n: int):
    return st.lists(st.integers(0, 6), min_size=n, max_size=n)


SHORT_LISTS_OF_LARGE_POOLS = problems(sizes=(24, 40), lengths=(1, 4))


@thorough
@given(problems() | SHORT_LISTS_OF_LARGE_POOLS, WEIGHTS)
def test_mmr_is_its_definition(drawn, weight):
    assert drawn.chosen("mmr", relevance_weight=float(weight)) == oracles.mmr(drawn.problem, drawn.k, weight)


@thorough
@given(problems() | problems(sizes=(24, 30), lengths=(1, 4)))
def test_kdpp_takes_what_multiplies_the_determinant_most(drawn):
    assert drawn.chosen("kdpp") == oracles.dpp(drawn.problem, drawn.k, drawn.problem.clipped)


@thorough
@given(problems())
def test_dpp_takes_what_multiplies_the_determinant_over_positions_most(drawn):
    bins = drawn.pool.bins.tolist()
    similarity = [[1 - Fraction(abs(a - b), 6) for b in bins] for a in bins]
    assert drawn.chosen("dpp") == oracles.dpp(drawn.problem, drawn.k, similarity)


@thorough
@given(problems())
def test_facility_location_takes_what_covers_most(drawn):
    assert drawn.chosen("facility_location") == oracles.facility_location(drawn.problem, drawn.k)


@thorough
@given(problems(), WEIGHTS)
def test_submix_is_its_definition(drawn, weight):
    assert drawn.chosen("submix", relevance_weight=float(weight)) == oracles.submix(drawn.problem, drawn.k, weight)


@thorough
@given(problems(sizes=(1, 20)), WEIGHTS, st.integers(0, 3))
def test_xquad_is_its_definition_over_the_clusters(drawn, weight, seed):
    aspects = clusters(drawn.pool, MOST_ASPECTS, seed)
    expected = oracles.xquad(drawn.problem, drawn.k, weight, aspects)
    assert drawn.chosen("xquad", relevance_weight=float(weight), seed=seed) == expected


@thorough
@given(problems(sizes=(1, 20)), st.integers(0, 3))
def test_cluster_goes_round_the_clusters(drawn, seed):
    expected = oracles.round_robin(drawn.problem, drawn.k, clusters(drawn.pool, MOST_CLUSTERS, seed))
    assert drawn.chosen("cluster", seed=seed) == expected


def clusters(pool: CandidatePool, most: int, seed: int) -> list[int]:
    n_clusters = min(len(pool), most, max(2, int(np.ceil(len(pool) ** 0.5))))
    return spherical_kmeans(pool.unit_embeddings, n_clusters, seed).tolist()


@thorough
@given(problems())
def test_adagres_is_its_definition(drawn):
    assert drawn.chosen("adagres") == oracles.adagres(drawn.problem, drawn.k)


@thorough
@given(problems())
def test_mmkp_reaches_the_highest_relevance_that_the_budget_and_the_groups_allow(drawn):
    problem, chosen = drawn.problem, drawn.chosen("mmkp")
    leader, best = oracles.near_duplicates(problem), oracles.highest_load(problem, drawn.k)
    loads = [chosen[:n] for n in range(len(chosen) + 1) if len({leader[d] for d in chosen[:n]}) == n]
    assert any(sum((problem.relevance[d] for d in load), Fraction(0)) == best for load in loads)
    assert len(chosen) == drawn.k or not problem.fitting(chosen)
    assert sum(problem.tokens[d] for d in chosen) <= problem.token_budget


@thorough
@given(problems(sizes=(1, 12)))
def test_centrality_is_page_rank(drawn):
    cosine = [list(map(float, row)) for row in drawn.problem.cosine]
    assert centrality(drawn.pool.unit_embeddings) == pytest.approx(oracles.page_rank(cosine), abs=1e-12)


def random_pool(seed: int, n: int = 200) -> CandidatePool:
    """No cosine is negative: pyversity clips them."""
    rng = np.random.default_rng(seed)
    return CandidatePool(rng.random(n), rng.integers(0, 7, n), embeddings=np.abs(rng.normal(size=(n, 16))))


@pytest.mark.parametrize("weight", [0, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(5))
def test_mmr_agrees_with_pyversity(seed, weight):
    pyversity = pytest.importorskip("pyversity")
    pool = random_pool(seed)
    theirs = pyversity.mmr(pool.embeddings, pool.relevance, 20, diversity=1 - weight)
    ours = SELECTORS["mmr"](pool, FLAT, 20, relevance_weight=weight, rel_norm="none")
    assert ours.indices.tolist() == theirs.indices.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_kdpp_agrees_with_pyversity(seed):
    """Its quality, exp(beta * z-score), is ours for log(1 + relevance) and beta their deviation."""
    pyversity = pytest.importorskip("pyversity")
    pool = random_pool(seed)
    scores = np.log(1 + pool.relevance - pool.relevance.min())
    theirs = pyversity.dpp(pool.embeddings, scores, 12, diversity=0.5, scale=2 * scores.std())
    assert SELECTORS["kdpp"](pool, FLAT, 12, rel_norm="none").indices.tolist() == theirs.indices.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_dpp_agrees_with_pyversity_over_vectors_that_have_its_similarity(seed):
    pyversity = pytest.importorskip("pyversity")
    pool = random_pool(seed, 60)
    steps = np.arange(7)
    vectors = np.linalg.cholesky(1 - np.abs(steps[:, None] - steps) / 6 + 1e-12 * np.eye(7))[pool.bins]
    scores = np.log(1 + pool.relevance - pool.relevance.min())
    theirs = pyversity.dpp(vectors, scores, 7, diversity=0.5, scale=2 * scores.std())
    assert SELECTORS["dpp"](pool, FLAT, 7, rel_norm="none").indices.tolist() == theirs.indices.tolist()


def test_centrality_agrees_with_networkx():
    networkx = pytest.importorskip("networkx")
    units = random_pool(0, 40).unit_embeddings
    cosines = units @ units.T
    ranks = networkx.pagerank(networkx.from_numpy_array(np.where(cosines >= 0.1, cosines, 0)), alpha=0.85, tol=1e-12)
    assert centrality(units) == pytest.approx([ranks[i] for i in range(40)], abs=1e-6)
