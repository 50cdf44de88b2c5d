"""Random problems for selectors, as plain numbers and as warp_core has them."""

from hypothesis import settings
from hypothesis import strategies as st

from tests.oracles import Problem
from warp_core import CandidatePool, OpinionScale, TargetDistribution

SCALES = [(-30, -20, -10, 0, 10, 20, 30), (1, 2, 3, 4, 5), (0, 1), (-2, 0, 0.5, 7), (0, 0.1, 0.35, 1)]
RELEVANCES = st.integers(-8, 8).map(lambda eighths: eighths / 8) | st.floats(-100, 100)
WEIGHTS = st.sampled_from([0, 0.1, 0.5, 0.75, 1])
SCOPES = st.sampled_from(["pool", "entity"])

thorough = settings(deadline=None, max_examples=200)
for_each_selector = settings(deadline=None, max_examples=30)


@st.composite
def problems(draw, relevances=RELEVANCES):
    """A problem, its pool, its target (as counts, as the shares of counts, or as any weights) and k.

    The pool has every column that some selector needs.
    """
    positions = draw(st.sampled_from(SCALES))
    candidates = st.tuples(relevances, st.integers(-1, len(positions) - 1), st.booleans(), st.integers(0, 4))
    relevance, bins, matched, tokens = zip(*draw(st.lists(candidates, min_size=1, max_size=8)), strict=True)
    counts = st.lists(st.integers(0, 6), min_size=len(positions), max_size=len(positions)).filter(any)
    floats = st.lists(st.floats(0, 1), min_size=len(positions), max_size=len(positions)).filter(any)
    weights, target = draw(
        counts.map(lambda c: (c, TargetDistribution.of_counts(c)))
        | counts.map(lambda c: (c, [count / sum(c) for count in c]))
        | floats.map(lambda w: (w, w))
    )
    pool = CandidatePool(
        relevance,
        bins,
        matched,
        OpinionScale(positions),
        embeddings=[[b, cost + 1] for b, cost in zip(bins, tokens, strict=True)],
        tokens=tokens,
        texts=[f"opinion {b}" for b in bins],
    )
    problem = Problem(positions, relevance, bins, matched, weights, tokens)
    return problem, pool, target, draw(st.integers(1, len(bins) + 1))
