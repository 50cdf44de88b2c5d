"""Which documents expansion takes; similarities are chosen by hand as cosines with unit vectors of the plane."""

import asyncio
from collections.abc import Collection, Mapping

import numpy as np
import pytest

from app.encoder import Encoder
from app.encoder.base import QUERY_CACHE_SIZE
from app.expansion import NO_POLES, FromIndex, FromTail, PoleVectors, adaptive, entity_gated, widened
from app.index.collection import LocalCollection
from app.pool import Pool
from app.store.base import PoleQueries, Vector
from tests.fakes import bag_of_words
from tests.indexes import entry, index_of
from warp_core import SENTIMENT_INTENSITY, Policy, TargetDistribution

SCALE = SENTIMENT_INTENSITY
EVERYTHING = 100


def at(cosine: float) -> Vector:
    """A unit vector of the plane with this cosine with the first axis."""
    return np.array([cosine, np.sqrt(1 - cosine**2)], np.float32)


AXES = np.array([[1, 0], [0, 1], [-1, 0]], np.float32)
"""Pole queries: negative, neutral, positive."""


def pool_of(names: list[str], question: Vector | None = None, scores: list[float] | None = None) -> Pool:
    n = len(names)
    relevance = scores or [0.5] * n
    return Pool(
        list(names), list(range(n)), list(relevance), list(relevance), [6] * n, [True] * n, [None] * n, question
    )


def ranked(bins: list[int], scores: list[float], matched: list[bool] | None = None) -> FromTail:
    """The tail of a ranking: documents "0", "1", ... of these bins and scores."""
    n = len(bins)
    names: list[str | None] = [str(i) for i in range(n)]
    return FromTail(Pool(names, [None] * n, [*scores], scores, bins, matched or [True] * n, [None] * n))


def index(vectors: Mapping[str, tuple[int, Vector]]) -> LocalCollection:
    return index_of(entry(name, vector, {"room": b}) for name, (b, vector) in vectors.items())


def in_index(
    stored: LocalCollection, poles: Vector, question: Vector | None = None, without: Collection[str] = ()
) -> FromIndex:
    return FromIndex(stored, "room", SCALE, poles, question, without)


async def test_what_the_index_holds_beside_the_pool_is_scored_by_the_pole_query_of_its_sign():
    stored = index({"in": (6, at(0.1)), "bad": (0, at(0.6)), "plain": (3, at(0.6)), "good": (6, at(0.6))})
    source = in_index(stored, AXES, without={"in"})
    found = await source.held(range(7), EVERYTHING)
    assert found.ids == ["bad", "plain", "good"]
    assert found.relevance == pytest.approx([0.6, 0.8, -0.6])
    assert (found.scores, found.bins, found.matched) == (found.relevance, [0, 3, 6], [True] * 3)
    assert source.compares


async def test_a_question_gives_the_scores_and_the_pole_queries_the_order():
    stored = index({"bad": (0, at(0.6)), "worse": (0, at(0.8)), "good": (6, at(-0.8))})
    found = await in_index(stored, AXES, at(0.0)).held([0, 6], EVERYTHING)
    assert found.ids == ["worse", "bad", "good"]
    assert found.relevance == pytest.approx([0.6, 0.8, 0.6])
    alone = await in_index(stored, NO_POLES, at(0.0)).held([0, 6], EVERYTHING)
    assert alone.ids == ["bad", "worse", "good"]
    assert alone.relevance == pytest.approx([0.8, 0.6, 0.6])


async def test_the_best_of_several_bins_together_are_found_by_the_question():
    stored = index({"bad": (0, at(0.6)), "worse": (0, at(0.8)), "good": (6, at(-0.9))})
    found = await in_index(stored, AXES, at(0.0)).held([0, 6], 2, together=True)
    assert found.ids == ["bad", "worse"]
    assert found.relevance == pytest.approx([0.8, 0.6])


async def test_documents_that_nothing_tells_apart_are_not_taken_from_one_end_of_the_scale():
    stored = index_of(entry(f"d{i}", None, {"room": 0 if i < 50 else 6}) for i in range(100))
    found = await entity_gated(in_index(stored, NO_POLES), SCALE, 4, Policy())
    assert len(found) == 20
    assert 5 <= found.bins.count(0) <= 15


async def test_without_vectors_to_compare_the_source_says_so():
    source = in_index(index({"bad": (0, at(0.6))}), NO_POLES)
    assert ((await source.held([0], EVERYTHING)).relevance, source.compares) == ([0], False)


async def test_of_a_tail_only_what_matches_is_held_by_bin_the_most_relevant_first():
    source = ranked([0, 6, 0, 3, 0], [0.1, 0.9, 0.3, 0.5, 0.2], [True, True, True, True, False])
    assert (await source.held([6, 0], 1)).ids == ["1", "2"]
    assert (await source.held([0, 5], EVERYTHING)).ids == ["2", "0"]
    assert (await source.held([0, 6, 5], 2, together=True)).ids == ["1", "2"]


async def test_the_most_extreme_opinions_come_first_then_the_most_similar():
    # bins 0, 6 stand at -30 and 30; 1, 5 at -20 and 20; 3 at 0
    source = ranked([3, 5, 0, 6, 1], [0.9, 0.3, 0.1, 0.2, 0.4])
    assert (await entity_gated(source, SCALE, 20, Policy())).ids == ["3", "2", "4", "1", "0"]


@pytest.mark.parametrize(("policy", "n"), [(Policy(), 10), (Policy(n2=3), 3), (Policy(n2=0), 0), (Policy(n2=99), 12)])
async def test_entity_gated_adds_five_k_or_what_the_policy_says(policy: Policy, n: int):
    assert len(await entity_gated(ranked([6] * 12, [0.5] * 12), SCALE, 2, policy)) == n


async def test_what_is_less_similar_than_tau_is_left_out_where_similarities_are_known():
    source = ranked([0, 6, 3], [0.29, 0.3, 0.31])
    assert (await entity_gated(source, SCALE, 5, Policy(tau=0.3))).ids == ["1", "2"]
    assert (await entity_gated(source, SCALE, 5, Policy(tau=0.0))).ids == ["1", "0", "2"]
    stored = index({"a": (0, at(0.1)), "b": (6, at(0.1)), "c": (3, at(0.1))})
    assert len(await entity_gated(in_index(stored, NO_POLES), SCALE, 5, Policy(tau=0.3))) == 3


async def test_a_document_below_tau_takes_no_place_from_one_above():
    source = ranked([6, 6, 5], [0.1, 0.2, 0.9])
    assert (await entity_gated(source, SCALE, 5, Policy(tau=0.5, n2=1))).ids == ["2"]


def target(**counts: int) -> TargetDistribution:
    """Counts by bin: `b0=1, b6=3`."""
    return TargetDistribution.of_counts([counts.get(f"b{b}", 0) for b in range(7)])


async def added(source: FromTail, matched: list[int], wanted: TargetDistribution, k: int, policy: Policy) -> list[str]:
    return [name or "" for name in (await adaptive(source, matched, wanted, k, policy)).ids]


async def test_adaptive_adds_the_most_similar_of_each_short_bin_only():
    source = ranked([0, 0, 0, 6, 3], [0.1, 0.3, 0.2, 0.9, 0.9])
    # pool: 3 at bin 6; target half 0, half 6: bin 0 is short. With 2 more there, 2/5 and 3/5: nothing is short
    pool, wanted = [0, 0, 0, 0, 0, 0, 3], target(b0=1, b6=1)
    assert await added(source, pool, wanted, 2, Policy()) == ["1", "2"]
    assert await added(source, pool, wanted, 2, Policy(n_exp=1)) == ["1"]
    assert await added(source, pool, wanted, 2, Policy(n_exp=0)) == []


async def test_a_bin_that_the_added_documents_leave_short_is_filled_too():
    """Target 1/2 at bin 0, 1/2 at bin 6; the pool's sole document is at 6.

    Bin 0 is short and gets 4: 4 of 5. Then bin 6 holds 1 of 5, under half of 1/2, and gets the two that there are.
    """
    source = ranked([0] * 5 + [6, 6], [0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.2])
    pool = [0, 0, 0, 0, 0, 0, 1]
    assert await added(source, pool, target(b0=1, b6=1), 4, Policy()) == ["0", "1", "2", "3", "6", "5"]


async def test_a_bin_with_nothing_to_add_does_not_go_on_for_ever():
    assert await added(ranked([], []), [0, 0, 0, 0, 0, 0, 1], target(b0=1, b6=1), 4, Policy()) == []


async def test_without_any_match_every_bin_of_the_target_is_short():
    source = ranked([0, 3, 6], [0.1, 0.2, 0.3])
    assert sorted(await added(source, [0] * 7, target(b0=1, b6=1), 4, Policy())) == ["0", "2"]


def test_found_documents_stand_below_a_pool_of_foreign_scores_and_among_those_that_we_made():
    pool = pool_of(["a", "b"], at(1.0), [0.5, 0.3])
    found = pool_of(["near", "far"], None, [0.9, 0.1])
    both = widened(pool, found, comparable=True)
    assert (both.ids, both.relevance) == (["a", "b", "near", "far"], pytest.approx([0.5, 0.3, 0.9, 0.1]))
    assert both.indices == [0, 1, None, None]
    # 0.3 less a tenth of the span of 0.2, in two steps
    assert widened(pool, found, comparable=False).relevance == pytest.approx([0.5, 0.3, 0.29, 0.28])


class Counted:
    """A model that notes what it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: list[str]) -> Vector:
        self.texts += texts
        return bag_of_words(texts)


async def test_the_pole_queries_of_an_entity_are_encoded_once_however_many_ask_at_once():
    model = Counted()
    encoder = Encoder("counted", model)
    poles, wording = PoleVectors(encoder), PoleQueries("good {entity}", "plain {entity}", "bad {entity}")
    model.texts.clear()
    first, *others = await asyncio.gather(*(poles.of(wording, "pool") for _ in range(5)))
    assert sorted(model.texts) == ["bad pool", "good pool", "plain pool"]
    assert first == pytest.approx(await encoder.encode(["bad pool", "plain pool", "good pool"]))
    assert all(np.array_equal(first, other) for other in others)
    model.texts.clear()
    assert await poles.of(wording, "pool") is not None
    assert model.texts == []
    await poles.of(PoleQueries("fine {entity}", "plain {entity}", "bad {entity}"), "pool")
    assert model.texts == ["fine pool"]  # the other two are known as queries
    encoder.close()


async def test_no_number_of_other_questions_pushes_the_pole_queries_out():
    model = Counted()
    encoder = Encoder("counted", model)
    poles = PoleVectors(encoder)
    await poles.of(PoleQueries(), "pool")
    await encoder.encode_queries([f"q{i}" for i in range(QUERY_CACHE_SIZE)])
    model.texts.clear()
    await poles.of(PoleQueries(), "pool")
    assert model.texts == []
    encoder.close()


async def test_without_an_encoder_there_are_no_pole_vectors():
    assert (await PoleVectors(None).of(PoleQueries(), "pool")).shape == (3, 0)
