import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import problems
from warp_core import CandidatePool, TargetDistribution, select, top_k
from warp_core.evaluation.experiment import (
    Case,
    Setting,
    choose,
    converged_at,
    measures_of,
    settings_of,
    w1_curve,
)

POOL = CandidatePool(np.linspace(1, 0, 6), [6, 6, 6, 0, 0, 3], [True, True, True, True, False, True])
CASE = Case(POOL, TargetDistribution.of_counts([1, 0, 0, 0, 0, 0, 1]))


def test_settings_vary_one_thing_at_a_time_and_come_once():
    found = settings_of(["top_k", "w1_mmr"], [5, 2], [10, 20], weights=[0.1, 0.9])
    assert len(found) == len(set(found))
    assert set(found) == {
        *(Setting(method, k, 20) for method in ("top_k", "w1_mmr") for k in (2, 5)),
        *(Setting(method, 5, 10) for method in ("top_k", "w1_mmr")),
        *(Setting("w1_mmr", 5, 20, weight) for weight in (0.1, 0.9)),  # top_k blends nothing
        *(Setting("w1_mmr", 5, 20, norm=norm) for norm in ("none", "minmax", "rank")),
    }


def test_a_smaller_pool_holds_the_best():
    # the 3 best are all at +30, so nothing else can be chosen of them; 4 have one at -30
    assert choose(CASE, Setting("w1_minimizer", 2, 3)).w1 == 30
    assert choose(CASE, Setting("w1_minimizer", 2, 4)).w1 == 0
    assert len(CASE.cut_to(99)) == 6


def test_a_setting_passes_on_its_weight():
    assert choose(CASE, Setting("w1_mmr", 3, 6, 1.0)).indices.tolist() == [0, 1, 2]
    assert 3 in choose(CASE, Setting("w1_mmr", 3, 6, 0.0)).indices


def test_a_setting_passes_on_its_scale_of_relevance():
    # as given, 0.01 of difference is nothing; stretched it is everything
    pool = CandidatePool([0.51, 0.5, 0.5], [6, 6, 0])
    case = Case(pool, TargetDistribution.of_counts([1, 0, 0, 0, 0, 0, 1]))
    assert choose(case, Setting("w1_mmr", 1, 3, 0.9, "minmax")).indices.tolist() == [0]
    assert choose(case, Setting("w1_mmr", 2, 3, 0.5, "none")).indices.tolist() == [0, 2]
    tight = Case(CandidatePool([0.51, 0.5], [6, 0]), TargetDistribution.of_counts([1, 0, 0, 0, 0, 0, 0]))
    assert choose(tight, Setting("w1_mmr", 1, 2, 0.6, "none")).indices.tolist() == [1]
    assert choose(tight, Setting("w1_mmr", 1, 2, 0.6, "minmax")).indices.tolist() == [0]


def test_a_case_passes_on_its_query_and_its_seed():
    texts = ["a b", "c d", "e f"]
    pool = CandidatePool([3, 2, 1], [0, 0, 0], texts=texts)
    case = Case(pool, TargetDistribution.of_counts([1] * 7), "f")
    assert choose(case, Setting("bm25", 1, 3)).indices.tolist() == [2]
    drawn = {tuple(choose(Case(POOL, CASE.target, "", seed), Setting("random", 2, 6)).indices) for seed in range(20)}
    assert len(drawn) > 1


def test_what_was_worked_out_for_one_method_is_not_there_for_the_next():
    assert "by_relevance" not in CASE.cut_to(6).__dict__
    assert CASE.cut_to(6) is not CASE.cut_to(6)


@settings(deadline=None)
@given(problems())
def test_measures_are_those_of_the_selection(problem):
    _, pool, target, k = problem
    chosen = top_k(pool, target, k)
    found = measures_of(chosen)
    np.testing.assert_equal([found.w1, found.w1_matched, found.em], [chosen.w1, chosen.w1_matched, chosen.em])


def test_a_curve_has_a_list_of_its_own_for_every_length():
    # best of 1: 30 away; of 2: one at each end, 0; of 3: two to one, (2/3 - 1/2) * 60
    assert w1_curve(CASE, "w1_exact", 3, 6) == pytest.approx([30, 0, 10])
    assert w1_curve(CASE, "wassrank_ot", 2, 6)[1] == 0


@settings(deadline=None)
@given(problems())
def test_the_curve_of_a_greedy_method_is_its_path(problem):
    _, pool, target, k = problem
    curve = w1_curve(Case(pool, target), "w1_minimizer", k, len(pool))
    path = select("w1_minimizer", pool, target, k).w1_after
    np.testing.assert_allclose(curve[: len(path)], path)


@pytest.mark.parametrize(
    ("curve", "length"),
    [([30, 10, 9.6, 0], 2), ([30, 10, 9.5], 3), ([5], 1), ([5, 5], 1), ([3, 4, 0], 1), ([9, 8, 7.4, 7], 3)],
)
def test_a_curve_has_converged_where_the_next_document_gains_less_than_half_a_point(curve: list[float], length: int):
    assert converged_at(np.array(curve), 0.5) == length


@settings(deadline=None)
@given(problems(), st.floats(0, 5))
def test_convergence_is_where_adaptive_k_stops(problem, min_gain: float):
    _, pool, target, k = problem
    whole = select("w1_minimizer", pool, target, k)
    if len(whole):
        stopped = select("w1_minimizer", pool, target, k, min_gain=min(min_gain, pool.scale.range))
        assert converged_at(np.array(whole.w1_after), min(min_gain, pool.scale.range)) == len(stopped)
