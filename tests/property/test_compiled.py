"""The compiled form of a selector chooses what the pure one does, to the last position."""

import sysconfig
from shutil import which

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warp_core import SELECTORS, CandidatePool, OpinionScale, TargetDistribution, native
from warp_core.candidates import Options
from warp_core.transport import _prefixes, w1_of_counts, w1_of_prefixes
from warp_core.transport import prefixes as native_prefixes

SCALES = (
    OpinionScale((-30, -20, -10, 0, 10, 20, 30)),
    OpinionScale((1, 2, 3.5, 7)),
    OpinionScale((0, 1)),
    OpinionScale(tuple(range(11))),
)
COMPILED = [selector for selector in SELECTORS.values() if hasattr(selector.pick, "__wrapped__")]
EVERY_ONE = pytest.mark.parametrize("selector", COMPILED)

needs_compiled = pytest.mark.skipif(not native.IS_COMPILED, reason="warp_core was built without a compiler")


@st.composite
def problems(draw):
    scale = draw(st.sampled_from(SCALES))
    n = draw(st.integers(1, 60))
    relevance = draw(st.lists(st.sampled_from((0, 0.25, 0.5, 1)) | st.floats(-9, 9), min_size=n, max_size=n))
    bins = draw(st.lists(st.integers(-1, scale.n_bins - 1), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(0, 40), min_size=scale.n_bins, max_size=scale.n_bins).filter(any))
    target = draw(
        st.sampled_from((TargetDistribution.of_counts(weights), TargetDistribution.of_weights(np.sqrt(weights))))
    )
    weight = draw(st.sampled_from((0, 0.2, 0.5, 1)))
    return CandidatePool(relevance, bins, scale=scale), target, draw(st.integers(1, n)), weight


@needs_compiled
@EVERY_ONE
@settings(deadline=None, max_examples=300)
@given(problem=problems())
def test_the_compiled_form_chooses_what_the_pure_one_does(selector, problem):
    pool, target, k, weight = problem
    options = Options(0 if selector.relevance_weight is None else weight, pool.relevance)
    assert selector.pick(pool, target, k, options) == selector.pick.__wrapped__(pool, target, k, options)


@needs_compiled
@EVERY_ONE
def test_they_agree_on_a_large_pool_where_only_the_most_relevant_are_looked_at(selector):
    rng = np.random.default_rng(3)
    pool = CandidatePool(rng.random(20_000).round(2), rng.integers(-1, 7, 20_000))
    target, options = TargetDistribution.of_counts(rng.integers(1, 9, 7).tolist()), Options(0.0, pool.relevance)
    assert selector.pick(pool, target, 50, options) == selector.pick.__wrapped__(pool, target, 50, options)


@EVERY_ONE
def test_numbers_too_large_for_the_compiled_form_are_left_to_the_pure_one(selector):
    """Weights of 2^60: whole numbers that a double would round."""
    pool = CandidatePool([0.5, 0.4, 0.3], [0, 0, 6])
    target = TargetDistribution.of_counts([2**60 + 1, 0, 0, 0, 0, 0, 2**60 - 1])
    options = Options(0.0, pool.relevance)
    assert selector.pick(pool, target, 2, options) == selector.pick.__wrapped__(pool, target, 2, options) == [0, 2]


def test_it_is_built_where_there_is_a_compiler():
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    assert native.IS_COMPILED


@needs_compiled
@settings(deadline=None, max_examples=100)
@given(problem=problems(), factor=st.sampled_from((1, 7, 2**46, 2**60)))
def test_the_w1_of_prefixes_is_that_of_the_pure_form_and_of_each_prefix(problem, factor):
    pool, target, *_ = problem
    scaled = TargetDistribution(tuple(weight * factor for weight in target.cumulative))
    bins = pool.bins.tolist()
    path = w1_of_prefixes(bins, scaled, pool.scale)
    assert path == pytest.approx(_prefixes(bins, scaled, pool.scale), abs=0, rel=0, nan_ok=True)
    each = [w1_of_counts(pool.counts(range(i + 1)), scaled, pool.scale) for i in range(len(bins))]
    assert path == pytest.approx(each, abs=0, rel=0, nan_ok=True)


@needs_compiled
@pytest.mark.parametrize(
    "arguments", [([7], (1,) * 7, (1,) * 6, 1.0), ([0], (1,) * 7, (1,) * 7, 1.0), ([None], (1, 2), (1,), 1.0)]
)
def test_the_compiled_prefixes_refuse_what_does_not_fit(arguments):
    with pytest.raises((IndexError, ValueError, TypeError)):
        native_prefixes(*arguments)
