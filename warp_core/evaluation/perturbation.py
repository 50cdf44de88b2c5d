"""What is disturbed to see how much a method bears: targets, labels, scores, and how much of the population is seen.

The papers name the disturbances without their formulas; each function says which one is used here.
"""

from collections.abc import Sequence

import numpy as np

from warp_core import arguments
from warp_core.distributions import FloatArray, IntArray, bin_counts
from warp_core.target import TargetDistribution

EPSILONS = (0.0, 0.1, 0.2, 0.5)
ERROR_RATES = (0.0, 0.05, 0.10, 0.20, 0.30, 0.50)
SAMPLE_SIZES = (10, 25, 50, 100, 250, 500)
COLD_STARTS = (10, 25, 50, 100)
NOISE = 0.05


def dirichlet_target(target: TargetDistribution, epsilon: float, rng: np.random.Generator) -> TargetDistribution:
    """(1 - epsilon) * P + epsilon * D, D drawn evenly from all distributions over the bins (WARP, F.1.1).

    The target itself when epsilon is 0, however many draws were made before.

    Raises
    ------
    InvalidInputError : epsilon lies outside 0 .. 1.
    """
    epsilon = arguments.share("epsilon", epsilon)
    if not epsilon:
        return target
    drawn = rng.dirichlet(np.ones(target.n_bins))
    return TargetDistribution.of_weights((1 - epsilon) * target.shares + epsilon * drawn)


def mislabelled(bins: IntArray, rate: float, n_bins: int, rng: np.random.Generator) -> IntArray:
    """Bins, shape (n,), of which each is with probability `rate` another one, all others alike (WARP, F.1.2).

    An unknown bin (-1) stays unknown. A higher rate with the same generator changes a superset of the documents.

    Raises
    ------
    InvalidInputError : rate lies outside 0 .. 1.
    """
    rate = arguments.share("rate", rate)
    chance = rng.random(len(bins))
    shift = rng.integers(1, n_bins, size=len(bins)) if n_bins > 1 else np.zeros(len(bins), np.intp)
    wrong = (chance < rate) & (bins >= 0)
    disturbed: IntArray = np.where(wrong, (bins + shift) % n_bins, bins)
    return disturbed


def noisy_scores(relevance: FloatArray, noise: float, rng: np.random.Generator) -> FloatArray:
    """Scores, shape (n,), each with Gaussian noise of `noise` times its own size (WARP, F.2: "5% Gaussian noise").

    Raises
    ------
    InvalidInputError : noise lies outside 0 .. 1.
    """
    noise = arguments.share("noise", noise)
    disturbed: FloatArray = relevance * (1 + noise * rng.standard_normal(len(relevance)))
    return disturbed


def seen_counts(bins: IntArray, n: int, n_bins: int, rng: np.random.Generator) -> list[int]:
    """Counts over bins of n documents drawn without replacement from an entity's, bins of shape (N,) (WARP, F.4).

    All of them when there are no more than n.
    """
    n = arguments.whole_number("n", n, 0)
    seen = bins if n >= len(bins) else bins[rng.choice(len(bins), n, replace=False)]
    counts: list[int] = bin_counts(seen, n_bins).tolist()
    return counts


def own_target(counts: Sequence[int]) -> TargetDistribution:
    """The distribution of what was seen alone; uniform when nothing was (an estimator of WARP, F.4)."""
    return TargetDistribution.of_counts(counts if sum(counts) else [1] * len(counts), "entity", sum(counts))
