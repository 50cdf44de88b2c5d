"""Which documents expansion takes; similarities are chosen by hand as cosines with unit vectors of the plane."""

import asyncio
from collections.abc import Mapping

import numpy as np
import pytest

from app.encoder import Encoder
from app.encoder.base import QUERY_CACHE_SIZE
from app.expansion import NO_POLES, PoleVectors, Tail, adaptive, entity_gated, tail, widened
from app.index import CollectionIndex
from app.pool import Pool
from app.store.base import PoleQueries, Vector
from tests.fakes import bag_of_words
from tests.indexes import entry, index_of
from warp_core import SENTIMENT_INTENSITY, Policy, TargetDistribution

SCALE = SENTIMENT_INTENSITY


def at(cosine: float) -> Vector:
    """A unit vector of the plane with this cosine with the first axis."""
    return np.array([cosine, np.sqrt(1 - cosine**2)], np.float32)


AXES = np.array([[1, 0], [0, 1], [-1, 0]], np.float32)
"""Pole queries: negative, neutral, positive."""


def pool_of(names: list[str], question: Vector | None = None, scores: list[float] | None = None) -> Pool:
    n = len(names)
    relevance = scores or [0.5] * n
    return Pool(list(names), list(range(n)), list(relevance), list(relevance), [6] * n, [True] * n, question)


def found(bins: list[int], scores: list[float], *, compared: bool = True) -> Tail:
    similar = np.array(scores)
    return Tail(np.arange(len(bins)), np.array(bins, np.intp), similar, similar, compared)


def index(vectors: Mapping[str, tuple[int, Vector]]) -> CollectionIndex:
    return index_of(entry(name, vector, {"room": b}) for name, (b, vector) in vectors.items())


def test_the_tail_is_what_the_pool_lacks_and_each_is_scored_by_the_pole_query_of_its_sign():
    stored = index({"in": (6, at(0.1)), "bad": (0, at(0.6)), "plain": (3, at(0.6)), "good": (6, at(0.6))})
    rest = tail(stored, "room", pool_of(["in"]), SCALE, AXES, None)
    assert stored.ids(rest.rows) == ["bad", "plain", "good"]
    assert rest.by_pole == pytest.approx([0.6, 0.8, -0.6])
    assert rest.scores.tolist() == rest.by_pole.tolist()
    assert rest.compared


def test_a_question_gives_the_scores_and_the_pole_queries_the_order():
    stored = index({"bad": (0, at(0.6)), "good": (6, at(-0.8))})
    rest = tail(stored, "room", pool_of([]), SCALE, AXES, at(0.0))
    assert rest.scores == pytest.approx([0.8, 0.6])
    assert rest.by_pole == pytest.approx([0.6, 0.8])
    alone = tail(stored, "room", pool_of([]), SCALE, NO_POLES, at(0.0))
    assert alone.scores == pytest.approx([0.8, 0.6])
    assert alone.by_pole.tolist() == alone.scores.tolist()


def test_without_vectors_to_compare_the_tail_says_so():
    stored = index({"bad": (0, at(0.6))})
    rest = tail(stored, "room", pool_of([]), SCALE, NO_POLES, None)
    assert (rest.scores.tolist(), rest.compared) == ([0], False)


def test_the_most_extreme_opinions_come_first_then_the_most_similar():
    # bins 0, 6 stand at -30 and 30; 1, 5 at -20 and 20; 3 at 0
    rest = found([3, 5, 0, 6, 1], [0.9, 0.3, 0.1, 0.2, 0.4])
    assert entity_gated(rest, SCALE, 20, Policy()).tolist() == [3, 2, 4, 1, 0]


@pytest.mark.parametrize(("policy", "n"), [(Policy(), 10), (Policy(n2=3), 3), (Policy(n2=0), 0), (Policy(n2=99), 12)])
def test_entity_gated_adds_five_k_or_what_the_policy_says(policy: Policy, n: int):
    assert len(entity_gated(found([6] * 12, [0.5] * 12), SCALE, 2, policy)) == n


def test_what_is_less_similar_than_tau_is_left_out_where_similarities_are_known():
    bins, scores = [0, 6, 3], [0.29, 0.3, 0.31]
    assert entity_gated(found(bins, scores), SCALE, 5, Policy(tau=0.3)).tolist() == [1, 2]
    assert entity_gated(found(bins, scores), SCALE, 5, Policy(tau=0.0)).tolist() == [1, 0, 2]
    unknown = found(bins, [0.0] * 3, compared=False)
    assert len(entity_gated(unknown, SCALE, 5, Policy(tau=0.3))) == 3


def target(**counts: int) -> TargetDistribution:
    """Counts by bin: `b0=1, b6=3`."""
    return TargetDistribution.of_counts([counts.get(f"b{b}", 0) for b in range(7)])


def test_adaptive_adds_the_most_similar_of_each_short_bin_only():
    rest = found([0, 0, 0, 6, 3], [0.1, 0.3, 0.2, 0.9, 0.9])
    # pool: 3 at bin 6; target half 0, half 6: bin 0 is short. With 2 more there, 2/5 and 3/5: nothing is short
    assert adaptive(rest, [0, 0, 0, 0, 0, 0, 3], target(b0=1, b6=1), 2, Policy()).tolist() == [1, 2]
    assert adaptive(rest, [0, 0, 0, 0, 0, 0, 3], target(b0=1, b6=1), 2, Policy(n_exp=1)).tolist() == [1]
    assert adaptive(rest, [0, 0, 0, 0, 0, 0, 3], target(b0=1, b6=1), 2, Policy(n_exp=0)).tolist() == []


def test_adaptive_goes_by_the_pole_query_and_not_by_the_question():
    rest = Tail(np.arange(2), np.array([0, 0]), np.array([0.9, 0.1]), np.array([0.1, 0.9]), True)
    assert adaptive(rest, [0, 0, 0, 0, 0, 0, 3], target(b0=1, b6=1), 1, Policy()).tolist() == [1]


def test_a_bin_that_the_added_documents_leave_short_is_filled_too():
    """Target 1/2 at bin 0, 1/2 at bin 6; the pool's sole document is at 6.

    Bin 0 is short and gets 4: 4 of 5. Then bin 6 holds 1 of 5, under half of 1/2, and gets the two that there are.
    """
    rest = found([0] * 5 + [6, 6], [0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.2])
    chosen = adaptive(rest, [0, 0, 0, 0, 0, 0, 1], target(b0=1, b6=1), 4, Policy())
    assert chosen.tolist() == [0, 1, 2, 3, 6, 5]


def test_a_bin_with_nothing_to_add_does_not_go_on_for_ever():
    assert adaptive(found([], []), [0, 0, 0, 0, 0, 0, 1], target(b0=1, b6=1), 4, Policy()).tolist() == []


def test_without_any_match_every_bin_of_the_target_is_short():
    rest = found([0, 3, 6], [0.1, 0.2, 0.3])
    assert sorted(adaptive(rest, [0] * 7, target(b0=1, b6=1), 4, Policy()).tolist()) == [0, 2]


def test_found_documents_stand_below_a_pool_of_foreign_scores_and_among_those_that_we_made():
    stored = index({"near": (0, at(0.9)), "far": (0, at(0.1))})
    question = at(1.0)
    ours = pool_of(["a", "b"], question, [0.5, 0.3])
    rest = tail(stored, "room", ours, SCALE, NO_POLES, question)
    assert widened(ours, rest, np.array([0, 1]), stored).relevance == pytest.approx([0.5, 0.3, 0.9, 0.1])
    # 0.3 less a tenth of the span of 0.2, in two steps
    theirs = pool_of(["a", "b"], None, [0.5, 0.3])
    assert widened(theirs, rest, np.array([0, 1]), stored).relevance == pytest.approx([0.5, 0.3, 0.29, 0.28])
    uncompared = tail(stored, "room", ours, SCALE, NO_POLES, None)
    assert widened(ours, uncompared, np.array([0, 1]), stored).relevance == pytest.approx([0.5, 0.3, 0.29, 0.28])


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
