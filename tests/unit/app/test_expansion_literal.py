"""Entity-gated expansion against the paper's algorithm written out over all documents."""

import numpy as np
import pytest

from app.expansion import NO_POLES, FromIndex, entity_gated
from app.index.collection import LocalCollection
from app.store.base import Vector
from tests.indexes import entry, index_of, sealed
from warp_core import SENTIMENT_INTENSITY, OpinionScale, Policy

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
    poles, question = (queries, None) if len(queries) > 1 else (NO_POLES, queries[0])
    return FromIndex(sealed(index) if sealed_first else index, "room", scale, poles, question, without)


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
    found = await entity_gated(source_of(scale, queries, without, sealed_first), scale, K, Policy())
    exact = sorted(literal(scale, queries, without), key=lambda one: (-one[2], -one[3]))[: 5 * K]
    assert found.ids == [one[0] for one in exact]
    assert (found.bins, found.matched) == ([one[1] for one in exact], [True] * 5 * K)
    assert found.relevance == pytest.approx([one[3] for one in exact], abs=1e-6)


@pytest.mark.parametrize("k", [3, 10**4])
async def test_entity_gated_goes_on_to_milder_opinions_until_it_has_enough_or_there_are_no_more(k: int):
    found = await entity_gated(source_of(SENTIMENT_INTENSITY, POLES, set(), True), SENTIMENT_INTENSITY, k, Policy())
    assert len(found) == min(5 * k, N // 2)
    extremity = [abs(SENTIMENT_INTENSITY.positions[b]) for b in found.bins]
    assert extremity == sorted(extremity, reverse=True)
