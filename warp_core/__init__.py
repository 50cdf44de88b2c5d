"""WARP's algorithms: arrays in, arrays out. No clock, no network, no file, no environment; NumPy and SciPy only."""

from warp_core.candidates import CandidatePool, Selection
from warp_core.deficit import deficit_bins
from warp_core.errors import InvalidInputError, WarpError
from warp_core.policy import Policy, attainable_em
from warp_core.scale import SENTIMENT_INTENSITY, OpinionScale
from warp_core.selectors import SELECTORS, reachable_w1, select, top_k, w1_exact, w1_minimizer, w1_mmr
from warp_core.target import TargetDistribution, target_distribution
from warp_core.transport import wasserstein1, wasserstein2

__all__ = [
    "SELECTORS",
    "SENTIMENT_INTENSITY",
    "CandidatePool",
    "InvalidInputError",
    "OpinionScale",
    "Policy",
    "Selection",
    "TargetDistribution",
    "WarpError",
    "attainable_em",
    "deficit_bins",
    "reachable_w1",
    "select",
    "target_distribution",
    "top_k",
    "w1_exact",
    "w1_minimizer",
    "w1_mmr",
    "wasserstein1",
    "wasserstein2",
]
