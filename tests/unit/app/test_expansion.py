"""Expansion against the papers' algorithms written out over all documents."""

import numpy as np
import pytest

from app.expansion import FromIndex, FromTail, adaptive, entity_gated, widened
from app.index.collection import LocalCollection
from app.pool import Pool
from app.store.base import Vector
from tests.indexes import entry, index_of, sealed
from warp_core import SENTIMENT_INTENSITY, OpinionScale

N, DIMENSION, K = 400, 6, 7
UNEVEN = OpinionScale((0.0, 1.0, 5.0, 6.0, 10.0))


def units(n: int, seed: int) -> Vector:
    vectors = np.random.default_rng(seed).normal(size=(n, DIMENSION))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


VECTORS, POLES = units(N, 1), units(3, 2)


def bins_of(scale: OpinionScale) -> list[int]:
    return np.random.default_rng(3).integers(0, scale.n_bins, N).tolist()


def source_of(scale: OpinionScale, queries: Vector, without: set[str], sealed_first: bool) -> FromIndex:
    bins = bins_of(scale)
    entries = [entry(f"d{i}", VECTORS[i], {"room" if i % 2 else "food": bins[i]}) for i in range(N)]
    index: LocalCollection = index_of(entries)
    return FromIndex(sealed(index) if sealed_first else index, "room", scale, queries, without)


def literal(scale: OpinionScale, queries: Vector, without: set[str]) -> list[tuple[str, int, float, float]]:
    """Every document on the entity beside the pool: id, bin, extremity, similarity to the query of its own sign."""
    middle = (scale.positions[0] + scale.positions[-1]) / 2
    found = []
    for i, b in enumerate(bins_of(scale)):
        if i % 2 and f"d{i}" not in without:
            away = scale.positions[b] - middle
            query = queries[int(np.sign(away)) + 1] if len(queries) > 1 else queries[0]
            found.append((f"d{i}", b, abs(away), float(VECTORS[i] @ query)))
    return found


@pytest.mark.parametrize("sealed_first", [False, True])
@pytest.mark.parametrize("queries", [POLES, POLES[:1]], ids=["poles", "one"])
@pytest.mark.parametrize("scale", [SENTIMENT_INTENSITY, UNEVEN], ids=["si", "uneven"])
async def test_entity_gated_takes_the_most_extreme_then_the_most_similar(
    scale: OpinionScale, queries: Vector, sealed_first: bool
):
    without = {f"d{i}" for i in range(0, N, 5)}
    found = await entity_gated(source_of(scale, queries, without, sealed_first), scale, K)
    exact = sorted(literal(scale, queries, without), key=lambda one: (-one[2], -one[3]))[: 5 * K]
    assert found.ids == [one[0] for one in exact]
    assert (found.bins, found.matched) == ([one[1] for one in exact], [True] * 5 * K)
    assert found.relevance == pytest.approx([one[3] for one in exact], abs=1e-6)


@pytest.mark.parametrize("k", [3, 10**4])
async def test_entity_gated_goes_on_to_milder_opinions_until_it_has_enough_or_there_are_no_more(k: int):
    found = await entity_gated(source_of(SENTIMENT_INTENSITY, POLES, set(), True), SENTIMENT_INTENSITY, k)
    assert len(found) == min(5 * k, N // 2)
    extremity = [abs(SENTIMENT_INTENSITY.positions[b]) for b in found.bins]
    assert extremity == sorted(extremity, reverse=True)


async def test_adaptive_takes_the_most_similar_of_each_deficit_bin():
    without = {f"d{i}" for i in range(0, N, 3)}
    found = await adaptive(source_of(SENTIMENT_INTENSITY, POLES, without, True), [5, 0], K)
    expected = []
    for b in (5, 0):
        own = [one for one in literal(SENTIMENT_INTENSITY, POLES, without) if one[1] == b]
        expected += sorted(own, key=lambda one: -one[3])[:K]
    assert list(zip(found.ids, found.bins, strict=True)) == [one[:2] for one in expected]


def pool(names: str, relevance: list[float], bins: list[int], matched: list[bool]) -> Pool:
    n = len(names)
    return Pool(list(names), list(range(n)), list(relevance), relevance, bins, matched, [None] * n)


async def test_of_a_tail_only_what_matches_counts_best_first():
    """c and e are at +30 and -30, b is milder; a is about something else, d has no known bin."""
    tail = pool("abcde", [9.0, 8.0, 1.0, 7.0, 2.0], [6, 4, 6, -1, 0], [False, True, True, True, True])
    found = await entity_gated(FromTail(tail), SENTIMENT_INTENSITY, 1)
    assert (found.ids, found.relevance, found.indices) == (["e", "c", "b"], [2.0, 1.0, 8.0], [None] * 3)
    assert (await adaptive(FromTail(tail), [6, 3], 5)).ids == ["c"]


def test_found_documents_stand_below_a_pool_of_other_scores_in_their_own_order():
    given = pool("ab", [30.0, 10.0], [6, 6], [True, True])
    found = pool("xyz", [0.1, 0.9, 0.5], [0, 0, 0], [True] * 3)
    wide = widened(given, found, comparable=False)
    assert wide.ids == ["a", "b", "x", "y", "z"]
    assert (wide.scores, wide.indices) == ([30, 10, 0.1, 0.9, 0.5], [0, 1, None, None, None])
    x, y, z = wide.relevance[2:]
    assert 10 > y > z > x > 10 - 0.1 * 20 - 1e-9
    assert widened(given, found, comparable=True).relevance == [30, 10, 0.1, 0.9, 0.5]
