"""What every entry of SELECTORS promises. A new selector is picked up by itself."""

import json
import os
import subprocess
import sys
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

from warp_core import SELECTORS, CandidatePool, InvalidInputError, Selection, select

ROOT = Path(__file__).parents[2]
TARGET = [1, 2, 4, 6, 4, 2, 3]
N, K = 60, 10
PROMISE_A_SET = {"w1_exact"}
"""These choose the best set and then order it by another rule, so a relevance weight of 1 gives top-k's set only."""
BAD_ARGUMENTS = {
    "k": [0, -1, 2.5, nan, inf, True, np.True_, "2", None],
    "relevance_weight": [-0.01, 1.01, nan, inf, True, "0.5"],
    "scope": ["", "all", 0],
    "rel_norm": ["", "max", 0],
    "target": [
        TARGET[:6],
        [*TARGET, 1],
        [],
        [0] * 7,
        [-1, *TARGET[1:]],
        [nan, *TARGET[1:]],
        [inf, *TARGET[1:]],
        "1234567",
    ],
}


def pool_of(relevance, bins, matched=None) -> CandidatePool:
    """A pool with every column that some selector needs; candidates of one relevance and bin are alike in all."""
    angles = [b + 3 * r for b, r in zip(bins, relevance, strict=True)]
    return CandidatePool(
        relevance,
        bins,
        matched,
        embeddings=np.array([[np.cos(a), np.sin(a), 1] for a in angles]).reshape(-1, 3),
        tokens=[b + 2 for b in bins],
        texts=[f"opinion {b}" for b in bins],
    )


def mixed_pool() -> CandidatePool:
    """Partly matched, partly of unknown bin, with equal relevances."""
    rng = np.random.default_rng(7)
    return pool_of(rng.random(N).round(1), rng.integers(-1, 7, N), rng.random(N) < 0.7)


def eligible_pool() -> CandidatePool:
    """All matched, all of known bin, no two relevances equal."""
    rng = np.random.default_rng(11)
    return pool_of(rng.permutation(N) / N, rng.integers(0, 7, N))


def eligible(name: str, pool: CandidatePool) -> set[int]:
    matched = pool.matched if SELECTORS[name].scope == "entity" else np.ones(len(pool), bool)
    known = pool.bins >= 0 if SELECTORS[name].needs_bins else np.ones(len(pool), bool)
    return set(np.flatnonzero(matched & known).tolist())


def chosen(name: str, pool: CandidatePool, k: int = K, **options) -> list[int]:
    return select(name, pool, TARGET, k, **options).indices.tolist()


def answers() -> dict[str, list[int]]:
    return {name: chosen(name, mixed_pool()) for name in SELECTORS}


@pytest.fixture(scope="module")
def answers_by_hash_seed() -> list[dict[str, list[int]]]:
    code = f"import json; from {__name__} import answers; print(json.dumps(answers()))"
    command = [sys.executable, "-c", code]
    runs = [
        subprocess.run(
            command, cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True
        )
        for seed in "012"
    ]
    return [json.loads(run.stdout) for run in runs]


@pytest.mark.parametrize("name", SELECTORS)
class TestEverySelector:
    def test_chooses_k_distinct_eligible_positions(self, name):
        pool = mixed_pool()
        selection = select(name, pool, TARGET, K)
        assert isinstance(selection, Selection)
        assert len(set(selection.indices.tolist())) == len(selection) == K
        assert set(selection.indices.tolist()) <= eligible(name, pool)

    def test_leaves_the_pool_untouched(self, name):
        pool, twin = mixed_pool(), mixed_pool()
        select(name, pool, TARGET, K, fill=True)
        for array in ("relevance", "bins", "matched", "embeddings", "tokens", "texts"):
            np.testing.assert_array_equal(getattr(pool, array), getattr(twin, array))

    def test_answers_the_same_twice(self, name):
        pool = mixed_pool()
        assert chosen(name, pool) == chosen(name, pool) == chosen(name, mixed_pool())

    def test_answers_the_same_under_every_hash_seed(self, name, answers_by_hash_seed):
        assert [run[name] for run in answers_by_hash_seed] == [chosen(name, mixed_pool())] * 3

    def test_a_relevance_weight_of_1_is_top_k_and_is_ignored_where_there_is_none(self, name):
        as_promised = sorted if name in PROMISE_A_SET else list
        same_as = name if SELECTORS[name].relevance_weight is None else "top_k"
        assert as_promised(chosen(name, eligible_pool(), relevance_weight=1)) == as_promised(
            chosen(same_as, eligible_pool())
        )

    def test_k_of_the_whole_pool_is_a_permutation(self, name):
        assert sorted(chosen(name, eligible_pool(), N)) == list(range(N))

    @pytest.mark.parametrize("k", [N, 10**30])
    def test_k_above_what_is_eligible_returns_what_is_eligible(self, name, k):
        assert sorted(chosen(name, mixed_pool(), k)) == sorted(eligible(name, mixed_pool()))

    def test_filling_reaches_k_and_appends_the_rest_by_relevance(self, name):
        pool = mixed_pool()
        unfilled, filled = chosen(name, pool, N), chosen(name, pool, N, fill=True)
        rest = [d for d in pool.by_relevance.tolist() if d not in unfilled]
        assert filled == unfilled + rest

    def test_equal_candidates_come_in_input_order(self, name):
        pool = pool_of([0.5] * 12, [2, 5, -1] * 4)
        picked = chosen(name, pool, 12)
        for b in (2, 5):
            of_bin = [d for d in picked if pool.bins[d] == b]
            assert of_bin == sorted(of_bin)

    def test_unknown_bins_are_never_chosen_where_bins_are_needed(self, name):
        unknown = pool_of([0.5, 0.9], [-1, -1])
        assert chosen(name, unknown, 2) == ([] if SELECTORS[name].needs_bins else [1, 0])
        assert chosen(name, unknown, 2, fill=True) == [1, 0]

    def test_an_empty_pool_gives_an_empty_selection(self, name):
        assert chosen(name, pool_of([], []), 3, fill=True) == []

    @pytest.mark.parametrize(
        ("argument", "bad"), [(argument, bad) for argument, values in BAD_ARGUMENTS.items() for bad in values], ids=repr
    )
    def test_a_bad_argument_is_refused_by_name(self, name, argument, bad):
        arguments = {"pool": mixed_pool(), "target": TARGET, "k": K, argument: bad}
        with pytest.raises(InvalidInputError, match=f"^{argument}: ") as caught:
            select(name, **arguments)
        assert caught.value.argument == argument

    def test_plain_and_numpy_numbers_are_accepted_alike(self, name):
        pool = mixed_pool()
        plain = pool_of(pool.relevance.tolist(), pool.bins.tolist(), pool.matched.tolist())
        from_plain = select(name, plain, TARGET, 10, relevance_weight=0.25)
        from_numpy = select(name, pool, np.array(TARGET), np.int64(10), relevance_weight=np.float64(0.25))
        assert from_plain.indices.tolist() == from_numpy.indices.tolist()


def test_a_name_that_is_no_selector_is_refused():
    with pytest.raises(InvalidInputError, match="w1_minimizer"):
        select("w2", eligible_pool(), TARGET, K)
